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
