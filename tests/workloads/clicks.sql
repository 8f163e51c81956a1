-- all hits
SELECT count(*) FROM hits;
-- hits of adverts
SELECT count(*) FROM hits WHERE advert <> 0;
-- a sum, a count, a mean
SELECT sum(advert), count(*), avg(width) FROM hits;
-- how many users
SELECT count(DISTINCT user_id) FROM hits;
-- how many phrases
SELECT count(DISTINCT phrase) FROM hits;
-- the first and the last day
SELECT min(day), max(day) FROM hits;
-- adverts by how often they are shown
SELECT advert, count(*) FROM hits WHERE advert <> 0 GROUP BY advert ORDER BY count(*) DESC, advert;
-- regions of most users
SELECT region, count(DISTINCT user_id) AS u FROM hits GROUP BY region ORDER BY u DESC, region LIMIT 10;
-- figures of regions
SELECT region, sum(advert), count(*) AS c, avg(width), count(DISTINCT user_id) FROM hits GROUP BY region ORDER BY c DESC, region LIMIT 10;
-- models of phones
SELECT model, count(DISTINCT user_id) AS u FROM hits WHERE model <> '' GROUP BY model ORDER BY u DESC, model LIMIT 10;
-- phones and their models
SELECT phone, model, count(DISTINCT user_id) AS u FROM hits WHERE model <> '' GROUP BY phone, model ORDER BY u DESC, phone, model LIMIT 10;
-- phrases that are looked for
SELECT phrase, count(*) AS c FROM hits WHERE phrase <> '' GROUP BY phrase ORDER BY c DESC, phrase LIMIT 10;
-- phrases of most users
SELECT phrase, count(DISTINCT user_id) AS u FROM hits WHERE phrase <> '' GROUP BY phrase ORDER BY u DESC, phrase LIMIT 10;
-- engines and phrases
SELECT engine, phrase, count(*) AS c FROM hits WHERE phrase <> '' GROUP BY engine, phrase ORDER BY c DESC, engine, phrase LIMIT 10;
-- users with most hits
SELECT user_id, count(*) FROM hits GROUP BY user_id ORDER BY count(*) DESC LIMIT 10;
-- rows of one user
SELECT user_id FROM hits WHERE user_id = 7;
-- addresses with a word in them
SELECT count(*) FROM hits WHERE url LIKE '%shop%';
-- phrases of such addresses
SELECT phrase, count(*) AS c FROM hits WHERE url LIKE '%shop%' AND phrase <> '' GROUP BY phrase ORDER BY c DESC, phrase LIMIT 10;
-- phrases where the title has a word and the address has not
SELECT phrase, count(*) AS c, count(DISTINCT user_id) FROM hits WHERE title LIKE '%page%' AND url NOT LIKE '%.shop.%' AND phrase <> '' GROUP BY phrase ORDER BY c DESC, phrase LIMIT 10;
-- phrases in the order they were looked for
SELECT phrase FROM hits WHERE phrase <> '' ORDER BY moment LIMIT 10;
-- the length of addresses by counter
SELECT counter, avg(length(url)) AS l, count(*) AS c FROM hits WHERE url <> '' GROUP BY counter HAVING count(*) > 50 ORDER BY l DESC LIMIT 25;
-- sites that hits come from
SELECT regexp_replace(referer, '^https?://(www\.)?([^/]+)/.*$', '\2') AS k, count(*) AS c FROM hits WHERE referer <> '' GROUP BY k HAVING count(*) > 20 ORDER BY c DESC, k LIMIT 25;
-- many sums
SELECT sum(width), sum(width + 1), sum(width + 2), sum(width + 3), sum(width + 4), sum(width + 5), sum(width + 6), sum(width + 7), sum(width + 8), sum(width + 9), sum(width + 10), sum(width + 11), sum(width + 12), sum(width + 13), sum(width + 14), sum(width + 15), sum(width + 16), sum(width + 17), sum(width + 18), sum(width + 19), sum(width + 20), sum(width + 21), sum(width + 22), sum(width + 23), sum(width + 24), sum(width + 25), sum(width + 26), sum(width + 27), sum(width + 28), sum(width + 29), sum(width + 30), sum(width + 31), sum(width + 32), sum(width + 33), sum(width + 34), sum(width + 35) FROM hits;
-- engines and regions with reloads
SELECT engine, region, count(*) AS c, sum(CASE WHEN refresh THEN 1 ELSE 0 END), avg(width) FROM hits WHERE phrase <> '' GROUP BY engine, region ORDER BY c DESC, engine, region LIMIT 10;
-- addresses with most hits
SELECT url, count(*) AS c FROM hits GROUP BY url ORDER BY c DESC, url LIMIT 10;
-- the same with a constant as a key
SELECT 1, url, count(*) AS c FROM hits GROUP BY 1, url ORDER BY c DESC, url LIMIT 10;
-- regions, and numbers that follow from them
SELECT region, region - 1, region - 2, region - 3, count(*) AS c FROM hits GROUP BY region, region - 1, region - 2, region - 3 ORDER BY c DESC, region LIMIT 10;
-- addresses of one counter in a month
SELECT url, count(*) AS views FROM hits WHERE counter = 62 AND day >= '2013-07-01' AND day <= '2013-07-31' AND NOT refresh AND url <> '' GROUP BY url ORDER BY views DESC, url LIMIT 10;
-- titles of one counter
SELECT title, count(*) AS views FROM hits WHERE counter = 62 AND day >= '2013-07-01' AND day <= '2013-07-31' AND NOT refresh AND title <> '' GROUP BY title ORDER BY views DESC, title LIMIT 10;
-- the second page of addresses
SELECT url, count(*) AS views FROM hits WHERE counter = 62 AND day >= '2013-07-01' GROUP BY url ORDER BY views DESC, url LIMIT 3 OFFSET 2;
-- where visits came from
SELECT source, engine, advert, CASE WHEN (engine = 0 AND advert = 0) THEN referer ELSE '' END AS src, url AS dst, count(*) AS views FROM hits WHERE counter = 62 GROUP BY source, engine, advert, src, dst ORDER BY views DESC, source, engine LIMIT 10;
-- addresses by day for some sources
SELECT url, day, count(*) AS views FROM hits WHERE counter = 62 AND source IN (-1, 6) GROUP BY url, day ORDER BY views DESC, url, day LIMIT 10;
-- sizes of windows
SELECT width / 400 AS w, height / 400 AS h, count(*) AS views FROM hits WHERE counter = 62 AND NOT refresh GROUP BY 1, 2 ORDER BY views DESC, 1, 2 LIMIT 10;
-- views by minute
SELECT date_trunc('minute', moment) AS m, count(*) AS views FROM hits WHERE counter = 62 AND day >= '2013-07-14' AND day <= '2013-07-15' AND moment >= '2013-07-14' AND moment < '2013-07-16' AND NOT refresh GROUP BY date_trunc('minute', moment) ORDER BY date_trunc('minute', moment) LIMIT 10;
-- users by day, and over seven days
SELECT day, count(DISTINCT user_id) AS u, avg(count(DISTINCT user_id)) OVER (ORDER BY day ROWS 6 PRECEDING) AS smooth FROM hits GROUP BY day ORDER BY day;
-- users by month
SELECT to_char(moment, 'YYYY-MM') AS month, count(DISTINCT user_id) FROM hits GROUP BY 1 ORDER BY 1;
-- sessions of half an hour
SELECT count(*) FROM (SELECT user_id, moment, lag(moment) OVER (PARTITION BY user_id ORDER BY moment) AS before FROM hits) t WHERE before IS NULL OR extract(epoch FROM moment) - extract(epoch FROM before) > 1800;
-- sessions, as intervals are compared
SELECT count(*) FROM (SELECT user_id, moment, lag(moment) OVER (PARTITION BY user_id ORDER BY moment) AS before FROM hits) t WHERE before IS NULL OR moment - before > INTERVAL '30 minutes';
-- a funnel in order
SELECT count(*) AS users, count(step2) AS second, count(step3) AS third FROM (SELECT user_id, min(moment) FILTER (WHERE advert = 0) AS step1, min(moment) FILTER (WHERE advert = 1) AS step2, min(moment) FILTER (WHERE advert = 2) AS step3 FROM hits GROUP BY user_id) t;
-- those who came back within a week
SELECT count(DISTINCT s.user_id) FROM signups s JOIN hits h ON h.user_id = s.user_id AND h.moment > s.moment AND h.moment < s.moment + INTERVAL '7 days';
-- cohorts by week, and the weeks they come back
WITH first AS (SELECT user_id, date_trunc('week', min(moment)) AS cohort FROM hits GROUP BY user_id)
SELECT f.cohort, count(DISTINCT h.user_id) FROM hits h JOIN first f ON f.user_id = h.user_id GROUP BY f.cohort ORDER BY f.cohort;
-- cohorts by the weeks they come back in
WITH first AS (SELECT user_id, date_trunc('week', min(moment)) AS cohort FROM hits GROUP BY user_id)
SELECT f.cohort, date_trunc('week', h.moment) AS week, count(DISTINCT h.user_id) FROM hits h JOIN first f ON f.user_id = h.user_id GROUP BY f.cohort, week ORDER BY 1, 2;
-- a share by plan
SELECT s.plan, avg(CASE WHEN h.mobile THEN 1.0 ELSE 0 END) AS share FROM hits h JOIN signups s USING (user_id) GROUP BY s.plan ORDER BY s.plan;
-- the first source of each user
SELECT source, count(*) FROM (SELECT DISTINCT ON (user_id) user_id, source FROM hits ORDER BY user_id, moment) t GROUP BY source ORDER BY source;
-- hits per user
SELECT n, count(*) FROM (SELECT user_id, count(*) AS n FROM hits GROUP BY user_id) t GROUP BY n ORDER BY n;
-- top and rest
SELECT CASE WHEN r <= 3 THEN name ELSE 'others' END AS region, sum(n) FROM (SELECT g.name, count(*) AS n, row_number() OVER (ORDER BY count(*) DESC, g.name) AS r FROM hits h JOIN regions g USING (region) GROUP BY g.name) t GROUP BY 1 ORDER BY 2 DESC, 1;
-- every day of a calendar
SELECT c.d::date AS day, count(h.user_id) FROM generate_series('2013-07-01'::date, '2013-07-31'::date, '1 day'::interval) AS c(d) LEFT JOIN hits h ON h.day = c.d::date GROUP BY 1 ORDER BY 1;
-- hours of a day
SELECT date_part('hour', moment) AS hour, count(*) FROM hits GROUP BY 1 ORDER BY 1;
-- bounce rate by source
SELECT source, round(100.0 * count(*) FILTER (WHERE duration < 10) / nullif(count(*), 0), 1) AS percent FROM hits GROUP BY source ORDER BY source;
-- medians by country
SELECT g.country, percentile_cont(0.5) WITHIN GROUP (ORDER BY h.duration) AS median FROM hits h JOIN regions g USING (region) GROUP BY g.country ORDER BY g.country;
-- several percentiles
SELECT percentile_cont(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY duration) FROM hits;
-- the most frequent region
SELECT mode() WITHIN GROUP (ORDER BY region) FROM hits;
-- the most frequent phone by plan
SELECT s.plan, mode() WITHIN GROUP (ORDER BY h.phone) FROM hits h JOIN signups s USING (user_id) GROUP BY s.plan ORDER BY s.plan;
-- the first letter of phrases
SELECT initcap(left(phrase, 1)) AS letter, count(*) FROM hits WHERE phrase <> '' GROUP BY 1 ORDER BY 1;
-- phones in capitals and backwards
SELECT initcap(reverse(phone)) AS p, count(*) FROM hits GROUP BY 1 ORDER BY 1;
-- hosts by regular expression
SELECT count(*) FROM hits WHERE url ~ '^https?://shop[0-9]*\.';
-- the path of addresses
SELECT split_part(url, '/', 4) AS path, count(*) AS n FROM hits GROUP BY 1 HAVING count(*) > 20 ORDER BY n DESC, path;
-- protocols by regexp_match
SELECT (regexp_match(url, '^(https?)'))[1] AS protocol, count(*) FROM hits GROUP BY 1 ORDER BY 1;
-- percentage of all, with ties
SELECT region, count(*) AS n FROM hits GROUP BY region ORDER BY n DESC FETCH FIRST 3 ROWS WITH TIES;
-- the growth of each day over the one before
WITH d AS (SELECT day, count(*) AS n FROM hits GROUP BY day) SELECT day, n, n - lag(n) OVER (ORDER BY day) AS change, round(100.0 * n / nullif(lag(n) OVER (ORDER BY day), 0) - 100, 1) AS percent FROM d ORDER BY day;
-- each day and the day a week before
WITH d AS (SELECT day, count(*) AS n FROM hits GROUP BY day) SELECT a.day, a.n, b.n AS before FROM d a LEFT JOIN d b ON b.day = a.day - 7 ORDER BY a.day;
-- users of both kinds of devices
SELECT count(*) FROM (SELECT user_id FROM hits WHERE mobile INTERSECT SELECT user_id FROM hits WHERE NOT mobile) t;
-- the heaviest users, by how many
SELECT CASE WHEN n >= 10 THEN 'heavy' WHEN n >= 5 THEN 'medium' ELSE 'light' END AS kind, count(*), avg(n) FROM (SELECT user_id, count(*) AS n FROM hits GROUP BY user_id) t GROUP BY 1 ORDER BY 1;
-- quartiles of users
SELECT q, count(*), min(n), max(n) FROM (SELECT user_id, count(*) AS n, ntile(4) OVER (ORDER BY count(*)) AS q FROM hits GROUP BY user_id) t GROUP BY q ORDER BY q;
-- by region and all together, by sets
SELECT coalesce(g.country, 'all') AS country, mobile, count(*) FROM hits h JOIN regions g USING (region) GROUP BY GROUPING SETS ((g.country, mobile), (g.country), ()) ORDER BY 1, 2 NULLS LAST;
-- lists of countries
SELECT string_agg(country, ', ' ORDER BY n DESC) FROM (SELECT g.country, count(*) AS n FROM hits h JOIN regions g USING (region) GROUP BY g.country) t;
-- details of the top regions
SELECT h.day, r.region, count(*) FROM hits h JOIN (SELECT region, count(*) AS n FROM hits GROUP BY region ORDER BY n DESC, region LIMIT 3) r ON r.region = h.region GROUP BY 1, 2 ORDER BY 1, 2;
-- the top phrases day by day
SELECT h.phrase, count(*) AS n FROM hits h JOIN (SELECT phrase FROM hits WHERE phrase <> '' GROUP BY phrase ORDER BY count(*) DESC, phrase LIMIT 3) p ON p.phrase = h.phrase GROUP BY 1 ORDER BY 2 DESC, 1;
-- regions above the mean of their country
SELECT a.name, a.n FROM (SELECT g.country, g.name, count(*) AS n FROM hits h JOIN regions g USING (region) GROUP BY 1, 2) a, LATERAL (SELECT g.country, avg(1) AS one FROM regions g WHERE g.country = a.country GROUP BY 1) b ORDER BY a.n DESC, a.name;
-- the largest region of each country
SELECT c.country, t.name, t.n FROM (SELECT DISTINCT country FROM regions) c CROSS JOIN LATERAL (SELECT name, n FROM (SELECT g.country, g.name, count(*) AS n FROM hits h JOIN regions g USING (region) GROUP BY 1, 2) a WHERE a.country = c.country ORDER BY n DESC, name LIMIT 1) t ORDER BY 1;
-- hits by the country of the user's region, beside how many regions it has
SELECT g.country, count(*) AS n, (SELECT count(*) FROM regions r WHERE r.country = g.country) AS regions FROM hits h JOIN regions g USING (region) GROUP BY g.country ORDER BY g.country;
-- weekly retention by cohort as weeks since
WITH f AS (SELECT user_id, date_trunc('week', min(moment)) AS cohort FROM hits GROUP BY user_id)
SELECT cohort, (h.day - f.cohort::date) / 7 AS week_no, count(DISTINCT h.user_id) AS users FROM hits h JOIN f USING (user_id) GROUP BY 1, 2 ORDER BY 1, 2;
-- day 1 and day 7 retention
WITH f AS (SELECT user_id, min(day) AS first_day FROM hits GROUP BY user_id)
SELECT count(DISTINCT f.user_id) AS users, count(DISTINCT CASE WHEN h.day = f.first_day + 1 THEN h.user_id END) AS d1, count(DISTINCT CASE WHEN h.day BETWEEN f.first_day + 1 AND f.first_day + 7 THEN h.user_id END) AS d7 FROM f JOIN hits h ON h.user_id = f.user_id;
-- funnel by EXISTS
SELECT count(*) FILTER (WHERE a) AS saw, count(*) FILTER (WHERE a AND b) AS then_b, count(*) FILTER (WHERE a AND b AND c) AS then_c FROM (SELECT user_id, bool_or(source = 1) AS a, bool_or(source = 2) AS b, bool_or(source = 3) AS c FROM hits GROUP BY user_id) t;
-- funnel with percent of previous
WITH s AS (SELECT user_id, max(CASE WHEN advert = 0 THEN 1 ELSE 0 END) AS s1, max(CASE WHEN advert = 1 THEN 1 ELSE 0 END) AS s2 FROM hits GROUP BY user_id)
SELECT sum(s1) AS one, sum(s1 * s2) AS two, round(100.0 * sum(s1 * s2) / nullif(sum(s1), 0), 1) AS percent FROM s;
-- sessions per user by gaps
WITH g AS (SELECT user_id, moment, CASE WHEN moment - lag(moment) OVER (PARTITION BY user_id ORDER BY moment) > INTERVAL '30 minutes' OR lag(moment) OVER (PARTITION BY user_id ORDER BY moment) IS NULL THEN 1 ELSE 0 END AS new FROM hits),
p AS (SELECT user_id, sum(new) AS sessions FROM g GROUP BY user_id) SELECT sessions, count(*) FROM p GROUP BY sessions ORDER BY sessions;
-- session ids and lengths
WITH g AS (SELECT user_id, moment, CASE WHEN moment - lag(moment) OVER (PARTITION BY user_id ORDER BY moment) <= INTERVAL '30 minutes' THEN 0 ELSE 1 END AS new FROM hits),
s AS (SELECT user_id, moment, sum(new) OVER (PARTITION BY user_id ORDER BY moment ROWS UNBOUNDED PRECEDING) AS session FROM g),
l AS (SELECT user_id, session, count(*) AS hits FROM s GROUP BY user_id, session) SELECT count(*), avg(hits) FROM l;
-- first touch
WITH r AS (SELECT user_id, source, row_number() OVER (PARTITION BY user_id ORDER BY moment) AS rn FROM hits) SELECT source, count(*) FROM r WHERE rn = 1 GROUP BY source ORDER BY 2 DESC, 1;
-- last touch
WITH r AS (SELECT user_id, source, row_number() OVER (PARTITION BY user_id ORDER BY moment DESC) AS rn FROM hits) SELECT source, count(*) FROM r WHERE rn = 1 GROUP BY source ORDER BY 1;
-- first and last touch
WITH t AS (SELECT DISTINCT user_id, first_value(source) OVER w AS first_source, last_value(source) OVER w AS last_source FROM hits WINDOW w AS (PARTITION BY user_id ORDER BY moment ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))
SELECT first_source, last_source, count(*) FROM t GROUP BY 1, 2 ORDER BY 1, 2;
-- dedup by row_number
SELECT count(*) FROM (SELECT user_id, day, row_number() OVER (PARTITION BY user_id, day ORDER BY moment) AS rn FROM hits) t WHERE rn = 1;
-- daily active users, stickiness
WITH d AS (SELECT day, count(DISTINCT user_id) AS dau FROM hits GROUP BY day), m AS (SELECT count(DISTINCT user_id) AS mau FROM hits)
SELECT d.day, d.dau, round(d.dau * 1.0 / m.mau, 3) AS stickiness FROM d CROSS JOIN m ORDER BY d.day;
-- weekly active users
SELECT date_trunc('week', day)::date AS week, count(DISTINCT user_id) AS wau FROM hits GROUP BY 1 ORDER BY 1;
-- new and returning
WITH f AS (SELECT user_id, min(day) AS first_day FROM hits GROUP BY user_id) SELECT h.day, count(DISTINCT CASE WHEN h.day = f.first_day THEN h.user_id END) AS new, count(DISTINCT CASE WHEN h.day > f.first_day THEN h.user_id END) AS returning FROM hits h JOIN f ON f.user_id = h.user_id GROUP BY h.day ORDER BY h.day;
-- churned users
SELECT count(*) FROM (SELECT user_id, max(day) AS last_day FROM hits GROUP BY user_id) t WHERE last_day < DATE '2013-07-20';
-- time to first action
SELECT avg(extract(epoch FROM f.first) - extract(epoch FROM s.moment)) / 3600 AS hours FROM signups s JOIN (SELECT user_id, min(moment) AS first FROM hits GROUP BY user_id) f ON f.user_id = s.user_id;
-- conversion by plan
SELECT s.plan, count(*) AS users, count(h.user_id) AS active, round(100.0 * count(h.user_id) / nullif(count(*), 0), 1) AS percent FROM signups s LEFT JOIN (SELECT DISTINCT user_id FROM hits) h ON h.user_id = s.user_id GROUP BY s.plan ORDER BY s.plan;
-- signups without hits
SELECT s.plan, count(*) FROM signups s LEFT JOIN hits h ON h.user_id = s.user_id WHERE h.user_id IS NULL GROUP BY s.plan ORDER BY s.plan;
-- heatmap of weekday and hour
SELECT extract(isodow FROM moment) AS d, extract(hour FROM moment) AS h, count(*) FROM hits GROUP BY 1, 2 ORDER BY 1, 2;
-- weekday names
SELECT to_char(day, 'Day') AS name, count(*) FROM hits GROUP BY 1 ORDER BY 1;
-- weekend against weekdays
SELECT CASE WHEN extract(isodow FROM day) IN (6, 7) THEN 'weekend' ELSE 'week' END AS kind, count(*), count(DISTINCT user_id) FROM hits GROUP BY 1 ORDER BY 1;
-- histogram by width_bucket
SELECT width_bucket(duration, 0, 600, 12) AS bucket, count(*) FROM hits GROUP BY 1 ORDER BY 1;
-- histogram with edges
SELECT floor(duration / 60.0) * 60 AS low, floor(duration / 60.0) * 60 + 60 AS high, count(*) AS n FROM hits GROUP BY 1, 2 ORDER BY 1;
-- buckets by CASE
SELECT CASE WHEN duration < 30 THEN '0-30' WHEN duration < 120 THEN '30-120' ELSE '120+' END AS bucket, count(*) AS n, round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS percent FROM hits GROUP BY 1 ORDER BY 1;
-- top 2 pages per country by windows
SELECT country, title, n FROM (SELECT g.country, h.title, count(*) AS n, row_number() OVER (PARTITION BY g.country ORDER BY count(*) DESC, h.title) AS r FROM hits h JOIN regions g USING (region) GROUP BY 1, 2) t WHERE r <= 2 ORDER BY 1, 3 DESC, 2;
-- pareto of regions
SELECT name, n, sum(n) OVER (ORDER BY n DESC, name ROWS UNBOUNDED PRECEDING) * 1.0 / sum(n) OVER () AS share FROM (SELECT g.name, count(*) AS n FROM hits h JOIN regions g USING (region) GROUP BY g.name) t ORDER BY n DESC, name;
-- running total of signups by day
SELECT moment::date AS day, count(*) AS n, sum(count(*)) OVER (ORDER BY moment::date) AS total FROM signups GROUP BY 1 ORDER BY 1;
-- date spine with zeros
SELECT d::date AS day, coalesce(n, 0) AS n FROM generate_series(DATE '2013-06-20', DATE '2013-07-20', INTERVAL '1 day') AS d LEFT JOIN (SELECT moment::date AS day, count(*) AS n FROM signups GROUP BY 1) s ON s.day = d::date ORDER BY 1;
-- date spine by a recursive list of weeks
SELECT w.week::date, count(h.user_id) FROM generate_series(TIMESTAMP '2013-07-01', TIMESTAMP '2013-07-29', INTERVAL '7 days') AS w(week) LEFT JOIN hits h ON h.moment >= w.week AND h.moment < w.week + INTERVAL '7 days' GROUP BY 1 ORDER BY 1;
-- gaps and islands over days above the mean
WITH d AS (SELECT day, count(*) AS n FROM hits GROUP BY day), m AS (SELECT day, n, day - (row_number() OVER (ORDER BY day))::int AS island FROM d WHERE n > 40)
SELECT min(day) AS first, max(day) AS last, count(*) AS days FROM m GROUP BY island ORDER BY 1;
-- moving average of seven days
SELECT day, n, avg(n) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS a7, avg(n) OVER (ORDER BY day ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING) AS centered FROM (SELECT day, count(*) AS n FROM hits GROUP BY day) t ORDER BY day;
-- z-scores of days
WITH d AS (SELECT day, count(*) AS n FROM hits GROUP BY day) SELECT day, n, (n - avg(n) OVER ()) / nullif(stddev(n) OVER (), 0) AS z FROM d ORDER BY day;
-- best and worst day
WITH d AS (SELECT day, count(*) AS n FROM hits GROUP BY day) SELECT (SELECT day FROM d ORDER BY n DESC, day LIMIT 1) AS best, (SELECT day FROM d ORDER BY n, day LIMIT 1) AS worst;
-- pivot by FILTER
SELECT g.country, count(*) FILTER (WHERE h.phone = 'Apple') AS apple, count(*) FILTER (WHERE h.phone = 'Nokia') AS nokia, count(*) FILTER (WHERE h.phone = '') AS none FROM hits h JOIN regions g USING (region) GROUP BY g.country ORDER BY g.country;
-- hits per user, statistics
SELECT min(n), max(n), avg(n), percentile_cont(0.5) WITHIN GROUP (ORDER BY n) FROM (SELECT user_id, count(*) AS n FROM hits GROUP BY user_id) t;
-- power users, share of hits
WITH u AS (SELECT user_id, count(*) AS n FROM hits GROUP BY user_id) SELECT sum(CASE WHEN n >= 10 THEN n ELSE 0 END) * 1.0 / sum(n) AS share FROM u;
-- users seen on at least three days
SELECT count(*) FROM (SELECT user_id FROM hits GROUP BY user_id HAVING count(DISTINCT day) >= 3) t;
-- users of two sources
SELECT count(*) FROM signups s WHERE EXISTS (SELECT 1 FROM hits h WHERE h.user_id = s.user_id AND h.source = 1) AND NOT EXISTS (SELECT 1 FROM hits h WHERE h.user_id = s.user_id AND h.source = 2);
-- average gap between visits
SELECT avg(gap) FROM (SELECT user_id, day - lag(day) OVER (PARTITION BY user_id ORDER BY moment) AS gap FROM hits) t WHERE gap IS NOT NULL;
-- next page after home
SELECT next, count(*) FROM (SELECT user_id, title, lead(title) OVER (PARTITION BY user_id ORDER BY moment) AS next FROM hits) t WHERE title = 'home page' AND next IS NOT NULL GROUP BY next ORDER BY 2 DESC, 1;
-- transitions between sources
SELECT before, source, count(*) AS n FROM (SELECT user_id, source, lag(source) OVER (PARTITION BY user_id ORDER BY moment) AS before FROM hits) t WHERE before IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2;
-- share by url host
SELECT split_part(split_part(url, '://', 2), '/', 1) AS host, count(*) AS n, round(100.0 * count(*) / sum(count(*)) OVER (), 2) AS percent FROM hits GROUP BY 1 ORDER BY n DESC, 1;
-- CTE with UNION ALL of kinds of events
WITH e AS (SELECT user_id, 'signup' AS kind, moment FROM signups UNION ALL SELECT user_id, 'hit', moment FROM hits) SELECT kind, count(*), count(DISTINCT user_id) FROM e GROUP BY kind ORDER BY kind;
-- quarter, month and week together
SELECT extract(year FROM moment) AS y, extract(month FROM moment) AS m, extract(week FROM moment) AS w, count(*) FROM hits GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- rolling seven-day distinct users
SELECT d.day, (SELECT count(DISTINCT h.user_id) FROM hits h WHERE h.day BETWEEN d.day - 6 AND d.day) AS users FROM (SELECT generate_series(DATE '2013-07-07', DATE '2013-07-10', INTERVAL '1 day')::date AS day) d ORDER BY 1;
-- rolling users by a join
SELECT d.day::date, count(DISTINCT h.user_id) AS users FROM generate_series(DATE '2013-07-07', DATE '2013-07-12', INTERVAL '1 day') AS d(day) JOIN hits h ON h.day BETWEEN d.day::date - 6 AND d.day::date GROUP BY 1 ORDER BY 1;
-- correlation of two measures by group
SELECT mobile, corr(duration, width) FROM hits GROUP BY mobile ORDER BY mobile;
-- quartiles by ntile over released groups
SELECT q, count(*), min(n), max(n) FROM (SELECT region, count(*) AS n, ntile(4) OVER (ORDER BY count(*), region) AS q FROM hits GROUP BY region HAVING count(*) > 0) t GROUP BY q ORDER BY q;
-- difference to the previous and to the first
SELECT day, n - lag(n, 1, 0) OVER w AS diff, n - first_value(n) OVER w AS since FROM (SELECT day, count(*)::int AS n FROM hits GROUP BY day) t WINDOW w AS (ORDER BY day) ORDER BY day;
-- user counts by signup month and country with totals
SELECT coalesce(to_char(moment, 'YYYY-MM'), 'all') AS month, coalesce(country, 'all') AS country, count(*) FROM signups GROUP BY CUBE (to_char(moment, 'YYYY-MM'), country) ORDER BY 1, 2;
-- every day of a calendar in a list
WITH c AS (SELECT generate_series('2013-07-01'::date, '2013-07-31'::date, '1 day')::date AS day) SELECT c.day, count(h.user_id) FROM c LEFT JOIN hits h USING (day) GROUP BY c.day ORDER BY c.day;
