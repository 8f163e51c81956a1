-- brands of a maker by year
SELECT d.year, i.brand, sum(s.price * s.quantity) AS revenue FROM days d, store_sales s, items i
WHERE d.day_no = s.day_no AND s.item_no = i.item_no AND i.maker = 3 AND d.month = 11
GROUP BY d.year, i.brand ORDER BY d.year, revenue DESC, i.brand LIMIT 100;
-- customers who return more than is usual in their state
WITH total AS (SELECT customer_no, sum(amount) AS returned FROM store_returns GROUP BY customer_no)
SELECT c.state, count(*) FROM total t JOIN customers c ON c.customer_no = t.customer_no
WHERE t.returned > 1.2 * (SELECT avg(amount) FROM store_returns) GROUP BY c.state ORDER BY c.state;
-- weeks of two channels beside those of the year after
WITH both_channels AS (SELECT day_no, customer_no, price FROM web_sales UNION ALL SELECT day_no, customer_no, price FROM catalog_sales),
weeks AS (SELECT d.week_no, sum(CASE WHEN d.weekday = 'Sunday' THEN b.price ELSE 0 END) AS sunday, sum(CASE WHEN d.weekday = 'Monday' THEN b.price ELSE 0 END) AS monday
  FROM both_channels b JOIN days d ON d.day_no = b.day_no GROUP BY d.week_no)
SELECT a.week_no, round(a.sunday / nullif(b.sunday, 0), 2) AS sunday, round(a.monday / nullif(b.monday, 0), 2) AS monday
FROM weeks a JOIN weeks b ON a.week_no = b.week_no - 52 ORDER BY a.week_no;
-- customers whose purchases on the web grew more than those in stores
WITH s AS (SELECT s.customer_no, sum(CASE WHEN d.year = 2020 THEN s.price ELSE 0 END) AS one, sum(CASE WHEN d.year = 2021 THEN s.price ELSE 0 END) AS two
  FROM store_sales s JOIN days d USING (day_no) GROUP BY s.customer_no),
w AS (SELECT w.customer_no, sum(CASE WHEN d.year = 2020 THEN w.price ELSE 0 END) AS one, sum(CASE WHEN d.year = 2021 THEN w.price ELSE 0 END) AS two
  FROM web_sales w JOIN days d USING (day_no) GROUP BY w.customer_no)
SELECT count(*) FROM s JOIN w USING (customer_no) WHERE s.one > 0 AND w.one > 0 AND w.two / w.one > s.two / s.one;
-- states of customers who buy what costs more than is usual
SELECT c.state, count(*) AS n FROM customers c, store_sales s, days d, items i
WHERE c.customer_no = s.customer_no AND s.day_no = d.day_no AND s.item_no = i.item_no AND d.year = 2020 AND d.month = 1
AND i.price > 1.2 * (SELECT avg(j.price) FROM items j WHERE j.category = i.category) GROUP BY c.state HAVING count(*) >= 1 ORDER BY n, c.state;
-- averages of an item for one kind of customers
SELECT i.item_no, avg(s.quantity) AS a, avg(s.list_price) AS b, avg(s.price) AS c FROM store_sales s, customers c, items i, promotions p
WHERE s.customer_no = c.customer_no AND s.item_no = i.item_no AND s.promotion_no = p.promotion_no AND c.gender = 'F' AND c.education = 'College'
AND (p.by_mail = 'N' OR p.on_tv = 'N') GROUP BY i.item_no ORDER BY i.item_no LIMIT 100;
-- one of two averages, by how many there are
SELECT CASE WHEN (SELECT count(*) FROM store_sales WHERE quantity BETWEEN 1 AND 20) > 500 THEN (SELECT avg(list_price) FROM store_sales WHERE quantity BETWEEN 1 AND 20)
  ELSE (SELECT avg(profit) FROM store_sales WHERE quantity BETWEEN 1 AND 20) END AS low,
CASE WHEN (SELECT count(*) FROM store_sales WHERE quantity BETWEEN 21 AND 40) > 500 THEN (SELECT avg(list_price) FROM store_sales WHERE quantity BETWEEN 21 AND 40)
  ELSE (SELECT avg(profit) FROM store_sales WHERE quantity BETWEEN 21 AND 40) END AS high;
-- customers of stores and of one of the other channels
SELECT c.gender, c.education, count(*) AS n FROM customers c WHERE c.state IN ('TN', 'GA')
AND EXISTS (SELECT * FROM store_sales s, days d WHERE c.customer_no = s.customer_no AND s.day_no = d.day_no AND d.year = 2020 AND d.month BETWEEN 1 AND 4)
AND (EXISTS (SELECT * FROM web_sales w, days d WHERE c.customer_no = w.customer_no AND w.day_no = d.day_no AND d.year = 2020)
  OR EXISTS (SELECT * FROM catalog_sales k, days d WHERE c.customer_no = k.customer_no AND k.day_no = d.day_no AND d.year = 2020))
GROUP BY c.gender, c.education ORDER BY c.gender, c.education;
-- customers of stores and of no other channel
SELECT c.state, count(*) AS n FROM customers c WHERE EXISTS (SELECT 1 FROM store_sales s WHERE s.customer_no = c.customer_no)
AND NOT EXISTS (SELECT 1 FROM web_sales w WHERE w.customer_no = c.customer_no AND w.quantity > 5)
AND NOT EXISTS (SELECT 1 FROM catalog_sales k WHERE k.customer_no = c.customer_no AND k.quantity > 5) GROUP BY c.state ORDER BY c.state;
-- share of an item in its class
SELECT i.item_no, i.category, i.class, sum(w.price) AS revenue, sum(w.price) * 100 / sum(sum(w.price)) OVER (PARTITION BY i.class) AS share
FROM web_sales w, items i, days d WHERE w.item_no = i.item_no AND i.category IN ('Books', 'Music') AND w.day_no = d.day_no
AND d.day BETWEEN CAST('2020-02-01' AS date) AND (CAST('2020-02-01' AS date) + INTERVAL '90 days')
GROUP BY i.item_no, i.category, i.class ORDER BY i.category, i.class, i.item_no, revenue;
-- averages under conditions of which one holds
SELECT avg(s.quantity), avg(s.price), sum(s.profit) FROM store_sales s, customers c, stores t, days d
WHERE t.store_no = s.store_no AND s.day_no = d.day_no AND d.year = 2021 AND s.customer_no = c.customer_no
AND ((c.gender = 'M' AND c.education = 'College' AND s.price BETWEEN 50 AND 150) OR (c.gender = 'F' AND c.education = 'Primary' AND s.price BETWEEN 10 AND 100))
AND ((c.state IN ('TX', 'TN') AND s.profit BETWEEN 0 AND 2000) OR (c.state IN ('AL', 'GA') AND s.profit BETWEEN 150 AND 3000));
-- brands that are sold in all channels
SELECT i.brand FROM store_sales s JOIN items i ON i.item_no = s.item_no GROUP BY i.brand HAVING count(*) > 100
INTERSECT SELECT i.brand FROM web_sales w JOIN items i ON i.item_no = w.item_no GROUP BY i.brand HAVING count(*) > 60
INTERSECT SELECT i.brand FROM catalog_sales k JOIN items i ON i.item_no = k.item_no GROUP BY i.brand HAVING count(*) > 60 ORDER BY 1;
-- items that are sold in all channels, and their sales
WITH often AS (SELECT item_no FROM store_sales GROUP BY item_no HAVING count(*) > 45 INTERSECT SELECT item_no FROM web_sales GROUP BY item_no HAVING count(*) > 20)
SELECT i.category, sum(s.price), count(*) FROM store_sales s JOIN items i ON i.item_no = s.item_no WHERE s.item_no IN (SELECT item_no FROM often)
GROUP BY i.category ORDER BY i.category;
-- sums of zips that are named, or of dear goods
SELECT c.zip, sum(k.price) FROM catalog_sales k, customers c, days d WHERE k.customer_no = c.customer_no
AND (substring(c.zip, 1, 2) IN ('37', '30') OR c.state IN ('TX') OR k.price > 200) AND k.day_no = d.day_no AND d.quarter = 2 AND d.year = 2020
GROUP BY c.zip ORDER BY c.zip LIMIT 100;
-- sold, returned, and bought again by catalogue
SELECT i.category, t.state, sum(s.profit), sum(r.amount), sum(k.profit) FROM store_sales s, store_returns r, catalog_sales k, days d1, days d2, stores t, items i
WHERE d1.year = 2020 AND d1.day_no = s.day_no AND i.item_no = s.item_no AND t.store_no = s.store_no AND s.customer_no = r.customer_no AND s.item_no = r.item_no
AND s.ticket = r.ticket AND r.day_no = d2.day_no AND d2.year IN (2020, 2021) AND r.customer_no = k.customer_no GROUP BY i.category, t.state ORDER BY 1, 2;
-- spread of quantities that are sold, returned and bought again
SELECT t.state, count(s.quantity), avg(s.quantity), stddev_samp(s.quantity), stddev_samp(s.quantity) / avg(s.quantity) AS variation, count(r.quantity), avg(r.quantity)
FROM store_sales s JOIN store_returns r ON s.customer_no = r.customer_no AND s.item_no = r.item_no AND s.ticket = r.ticket JOIN stores t ON t.store_no = s.store_no
GROUP BY t.state ORDER BY t.state;
-- averages of customers, rolled up
SELECT i.category, c.state, c.gender, avg(CAST(k.quantity AS numeric(12,2))) AS q, avg(CAST(k.price AS numeric(12,2))) AS p, avg(CAST(c.birth_year AS numeric(12,2))) AS y
FROM catalog_sales k, customers c, items i WHERE k.customer_no = c.customer_no AND k.item_no = i.item_no
GROUP BY ROLLUP (i.category, c.state, c.gender) ORDER BY 1 NULLS LAST, 2 NULLS LAST, 3 NULLS LAST;
-- brands where customers live elsewhere than the store is
SELECT i.brand, i.maker, sum(s.price) AS p FROM days d, store_sales s, items i, customers c, stores t
WHERE d.day_no = s.day_no AND s.item_no = i.item_no AND d.month = 11 AND d.year = 2020 AND s.customer_no = c.customer_no
AND c.state <> t.state AND s.store_no = t.store_no GROUP BY i.brand, i.maker ORDER BY p DESC, i.brand, i.maker LIMIT 5;
-- stock before and after a day
SELECT i.item_no, sum(CASE WHEN d.day < DATE '2020-06-01' THEN k.on_hand ELSE 0 END) AS before, sum(CASE WHEN d.day >= DATE '2020-06-01' THEN k.on_hand ELSE 0 END) AS after
FROM stock k JOIN items i ON i.item_no = k.item_no JOIN days d ON d.day_no = k.day_no WHERE d.day BETWEEN DATE '2020-05-01' AND DATE '2020-07-01'
GROUP BY i.item_no HAVING sum(CASE WHEN d.day < DATE '2020-06-01' THEN k.on_hand ELSE 0 END) > 0 ORDER BY i.item_no;
-- stock, rolled up
SELECT i.category, i.class, i.brand, avg(k.on_hand) AS q FROM stock k JOIN items i USING (item_no) GROUP BY ROLLUP (i.category, i.class, i.brand) ORDER BY q, 1, 2, 3;
-- spread of stock by month
SELECT d.month, i.category, stddev_samp(k.on_hand) AS sd, avg(k.on_hand) AS mean, CASE avg(k.on_hand) WHEN 0 THEN NULL ELSE stddev_samp(k.on_hand) / avg(k.on_hand) END AS cov
FROM stock k JOIN days d USING (day_no) JOIN items i USING (item_no) GROUP BY d.month, i.category ORDER BY 1, 2;
-- sales of the best customers in what is bought often
WITH often AS (SELECT item_no FROM store_sales GROUP BY item_no HAVING count(*) > 55),
best AS (SELECT customer_no FROM store_sales GROUP BY customer_no HAVING sum(quantity * price) > 60000)
SELECT sum(k.quantity * k.price) FROM catalog_sales k WHERE k.item_no IN (SELECT item_no FROM often) AND k.customer_no IN (SELECT customer_no FROM best);
-- six bands of prices side by side
SELECT * FROM (SELECT avg(list_price) AS a1, count(list_price) AS n1, count(DISTINCT list_price) AS d1 FROM store_sales WHERE quantity BETWEEN 0 AND 5) b1,
(SELECT avg(list_price) AS a2, count(list_price) AS n2 FROM store_sales WHERE quantity BETWEEN 6 AND 10) b2,
(SELECT avg(list_price) AS a3, count(list_price) AS n3 FROM store_sales WHERE quantity BETWEEN 11 AND 15) b3;
-- counties that grow faster on the web
WITH ss AS (SELECT t.state, d.quarter, d.year, sum(s.price) AS sold FROM store_sales s, days d, stores t WHERE s.day_no = d.day_no AND s.store_no = t.store_no GROUP BY t.state, d.quarter, d.year),
ws AS (SELECT c.state, d.quarter, d.year, sum(w.price) AS sold FROM web_sales w, days d, customers c WHERE w.day_no = d.day_no AND w.customer_no = c.customer_no GROUP BY c.state, d.quarter, d.year)
SELECT s1.state, w2.sold / nullif(w1.sold, 0) AS web, s2.sold / nullif(s1.sold, 0) AS store FROM ss s1, ss s2, ws w1, ws w2
WHERE s1.quarter = 1 AND s1.year = 2020 AND s2.quarter = 2 AND s2.year = 2020 AND s1.state = s2.state AND w1.state = s1.state AND w1.quarter = 1 AND w1.year = 2020
AND w2.state = w1.state AND w2.quarter = 2 AND w2.year = 2020 ORDER BY s1.state;
-- what is sold far above the average of its item
SELECT sum(w.price) AS excess FROM web_sales w, items i, days d WHERE i.maker = 3 AND i.item_no = w.item_no AND d.day_no = w.day_no AND d.year = 2020
AND w.price > (SELECT 1.3 * avg(x.price) FROM web_sales x, days y WHERE x.item_no = i.item_no AND y.year = 2020 AND y.day_no = x.day_no);
-- three channels by maker
WITH ss AS (SELECT i.maker, sum(s.price) AS sold FROM store_sales s, items i WHERE s.item_no = i.item_no AND i.maker IN (SELECT maker FROM items WHERE category IN ('Books')) GROUP BY i.maker),
cs AS (SELECT i.maker, sum(k.price) AS sold FROM catalog_sales k, items i WHERE k.item_no = i.item_no AND i.maker IN (SELECT maker FROM items WHERE category IN ('Books')) GROUP BY i.maker),
ws AS (SELECT i.maker, sum(w.price) AS sold FROM web_sales w, items i WHERE w.item_no = i.item_no AND i.maker IN (SELECT maker FROM items WHERE category IN ('Books')) GROUP BY i.maker)
SELECT maker, sum(sold) AS sold FROM (SELECT * FROM ss UNION ALL SELECT * FROM cs UNION ALL SELECT * FROM ws) t GROUP BY maker ORDER BY sold, maker;
-- tickets of many lines, by customer
SELECT c.state, count(*) AS n FROM (SELECT ticket, customer_no, count(*) AS lines FROM store_sales GROUP BY ticket, customer_no) t, customers c
WHERE t.customer_no = c.customer_no AND t.lines BETWEEN 2 AND 5 GROUP BY c.state ORDER BY n DESC, c.state;
-- names and tickets of customers
SELECT c.customer_no, t.lines FROM (SELECT ticket, customer_no, count(*) AS lines FROM store_sales GROUP BY ticket, customer_no) t, customers c WHERE t.customer_no = c.customer_no;
-- ranks within a rollup
SELECT sum(profit) / sum(price) AS margin, category, class, grouping(category) + grouping(class) AS level FROM (SELECT s.profit, s.price * s.quantity AS price, i.category, i.class, s.customer_no
FROM store_sales s JOIN items i USING (item_no)) t GROUP BY ROLLUP (category, class) ORDER BY level DESC, category, class;
-- items in stock that are sold by catalogue
SELECT i.item_no, i.price FROM items i, stock k, days d WHERE i.price BETWEEN 50 AND 120 AND k.item_no = i.item_no AND d.day_no = k.day_no AND k.on_hand BETWEEN 100 AND 500
AND i.item_no IN (SELECT item_no FROM catalog_sales GROUP BY item_no HAVING count(*) > 10) GROUP BY i.item_no, i.price ORDER BY i.item_no;
-- customers of all three channels
SELECT count(*) FROM (SELECT DISTINCT s.customer_no, d.month FROM store_sales s, days d WHERE s.day_no = d.day_no AND d.year = 2020
INTERSECT SELECT DISTINCT w.customer_no, d.month FROM web_sales w, days d WHERE w.day_no = d.day_no AND d.year = 2020
INTERSECT SELECT DISTINCT k.customer_no, d.month FROM catalog_sales k, days d WHERE k.day_no = d.day_no AND d.year = 2020) hot;
-- customers of stores who bought nowhere else
SELECT count(*) FROM (SELECT DISTINCT customer_no FROM store_sales EXCEPT SELECT DISTINCT customer_no FROM web_sales WHERE day_no < 200 EXCEPT SELECT DISTINCT customer_no FROM catalog_sales WHERE day_no < 200) cool;
-- before and after a day, less what came back
SELECT t.state, sum(CASE WHEN d.day < DATE '2020-06-01' THEN s.price - coalesce(r.amount, 0) ELSE 0 END) AS before, sum(CASE WHEN d.day >= DATE '2020-06-01' THEN s.price - coalesce(r.amount, 0) ELSE 0 END) AS after
FROM store_sales s LEFT OUTER JOIN store_returns r ON s.ticket = r.ticket AND s.item_no = r.item_no AND s.customer_no = r.customer_no, stores t, days d
WHERE s.store_no = t.store_no AND s.day_no = d.day_no GROUP BY t.state ORDER BY t.state;
-- makers of goods of some kinds
SELECT DISTINCT i.brand FROM items i WHERE i.maker BETWEEN 2 AND 4 AND (SELECT count(*) FROM items j WHERE j.maker = i.maker AND ((j.category = 'Books' AND j.class LIKE 'c%') OR (j.category = 'Music'))) > 0 ORDER BY i.brand;
-- weekdays side by side
SELECT t.name, t.store_no, sum(CASE WHEN d.weekday = 'Sunday' THEN s.price ELSE NULL END) AS sun, sum(CASE WHEN d.weekday = 'Monday' THEN s.price ELSE NULL END) AS mon, sum(CASE WHEN d.weekday = 'Saturday' THEN s.price ELSE NULL END) AS sat
FROM days d, store_sales s, stores t WHERE d.day_no = s.day_no AND t.store_no = s.store_no AND d.year = 2020 GROUP BY t.name, t.store_no ORDER BY t.name, t.store_no;
-- best and worst items of a store
SELECT a.rnk, i1.brand AS best, i2.brand AS worst FROM (SELECT * FROM (SELECT item_no, rank() OVER (ORDER BY mean ASC) AS rnk FROM (SELECT item_no, avg(profit) AS mean FROM store_sales s1 WHERE store_no <= 4 GROUP BY item_no
  HAVING avg(profit) > 0.2 * (SELECT avg(profit) FROM store_sales WHERE store_no <= 4)) v1) v11 WHERE rnk < 6) a,
(SELECT * FROM (SELECT item_no, rank() OVER (ORDER BY mean DESC) AS rnk FROM (SELECT item_no, avg(profit) AS mean FROM store_sales s1 WHERE store_no <= 4 GROUP BY item_no
  HAVING avg(profit) > 0.2 * (SELECT avg(profit) FROM store_sales WHERE store_no <= 4)) v2) v21 WHERE rnk < 6) b, items i1, items i2
WHERE a.rnk = b.rnk AND i1.item_no = a.item_no AND i2.item_no = b.item_no ORDER BY a.rnk;
-- months that differ from the year's mean, and their neighbours
WITH v1 AS (SELECT i.category, d.year, d.month, sum(s.price) AS sold, avg(sum(s.price)) OVER (PARTITION BY i.category, d.year) AS mean, rank() OVER (PARTITION BY i.category ORDER BY d.year, d.month) AS rn
  FROM items i, store_sales s, days d WHERE s.item_no = i.item_no AND s.day_no = d.day_no GROUP BY i.category, d.year, d.month)
SELECT v1.category, v1.year, v1.month, v1.mean, v1.sold, a.sold AS earlier, b.sold AS later FROM v1, v1 a, v1 b
WHERE v1.category = a.category AND v1.category = b.category AND v1.rn = a.rn + 1 AND v1.rn = b.rn - 1 AND v1.year = 2020 AND v1.mean > 0 AND abs(v1.sold - v1.mean) / v1.mean > 0.1
ORDER BY v1.category, v1.month;
-- shares that come back, ranked in two channels
SELECT 'store' AS channel, item_no, ratio, rnk FROM (SELECT item_no, ratio, rank() OVER (ORDER BY ratio DESC) AS rnk FROM (SELECT s.item_no, CAST(sum(coalesce(r.quantity, 0)) AS numeric(15,4)) / CAST(sum(s.quantity) AS numeric(15,4)) AS ratio
FROM store_sales s LEFT JOIN store_returns r ON s.ticket = r.ticket AND s.item_no = r.item_no AND s.customer_no = r.customer_no WHERE s.profit > 1 GROUP BY s.item_no) x) y WHERE rnk <= 5
UNION SELECT 'web', item_no, ratio, rnk FROM (SELECT item_no, ratio, rank() OVER (ORDER BY ratio DESC) AS rnk FROM (SELECT item_no, sum(profit) / sum(price) AS ratio FROM web_sales GROUP BY item_no) x) y WHERE rnk <= 5 ORDER BY 1, 4, 2;
-- how long things are kept
SELECT t.name, sum(CASE WHEN r.day_no - s.day_no <= 30 THEN 1 ELSE 0 END) AS month, sum(CASE WHEN r.day_no - s.day_no > 30 AND r.day_no - s.day_no <= 60 THEN 1 ELSE 0 END) AS two, sum(CASE WHEN r.day_no - s.day_no > 60 THEN 1 ELSE 0 END) AS more
FROM store_sales s, store_returns r, stores t WHERE s.ticket = r.ticket AND s.item_no = r.item_no AND s.customer_no = r.customer_no AND s.store_no = t.store_no GROUP BY t.name ORDER BY t.name;
-- running totals of two channels
WITH w AS (SELECT i.category, d.month_no, sum(sum(x.price)) OVER (PARTITION BY i.category ORDER BY d.month_no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total FROM web_sales x, days d, items i WHERE x.day_no = d.day_no AND i.item_no = x.item_no GROUP BY i.category, d.month_no),
s AS (SELECT i.category, d.month_no, sum(sum(x.price)) OVER (PARTITION BY i.category ORDER BY d.month_no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total FROM store_sales x, days d, items i WHERE x.day_no = d.day_no AND i.item_no = x.item_no GROUP BY i.category, d.month_no)
SELECT * FROM (SELECT coalesce(w.category, s.category) AS category, coalesce(w.month_no, s.month_no) AS month_no, w.total AS web, s.total AS store,
max(w.total) OVER (PARTITION BY coalesce(w.category, s.category) ORDER BY coalesce(w.month_no, s.month_no) ROWS UNBOUNDED PRECEDING) AS most
FROM w FULL OUTER JOIN s ON w.category = s.category AND w.month_no = s.month_no) x WHERE web > store / 10 ORDER BY category, month_no;
-- quarters of makers against their mean
SELECT * FROM (SELECT i.maker, d.quarter, sum(s.price) AS sold, avg(sum(s.price)) OVER (PARTITION BY i.maker) AS mean FROM items i, store_sales s, days d, stores t
WHERE s.item_no = i.item_no AND s.day_no = d.day_no AND s.store_no = t.store_no AND d.month_no IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) AND ((i.category IN ('Books', 'Music') AND i.class IN ('classic', 'new')) OR i.category = 'Shoes')
GROUP BY i.maker, d.quarter) t WHERE CASE WHEN mean > 0 THEN abs(sold - mean) / mean ELSE NULL END > 0.05 ORDER BY mean, sold, maker;
-- customers by how much they spend
WITH own AS (SELECT s.customer_no, sum(s.price) AS paid FROM store_sales s, days d WHERE s.day_no = d.day_no AND d.year = 2020 GROUP BY s.customer_no)
SELECT CAST(paid / 50 AS integer) AS segment, count(*) AS n, CAST(paid / 50 AS integer) * 50 AS base FROM own GROUP BY CAST(paid / 50 AS integer) ORDER BY segment;
-- items of about the same revenue in all channels
WITH s AS (SELECT item_no, sum(price) AS r FROM store_sales GROUP BY item_no), w AS (SELECT item_no, sum(price) AS r FROM web_sales GROUP BY item_no), k AS (SELECT item_no, sum(price) AS r FROM catalog_sales GROUP BY item_no)
SELECT s.item_no, s.r, s.r / ((s.r + w.r + k.r) / 3) * 100 AS dev, (s.r + w.r + k.r) / 3 AS mean FROM s, w, k WHERE s.item_no = w.item_no AND s.item_no = k.item_no AND w.r BETWEEN 0.8 * k.r AND 1.2 * k.r ORDER BY s.item_no;
-- sales that a promotion brought
SELECT a.n, b.n, CAST(a.n AS numeric(15,4)) / CAST(b.n AS numeric(15,4)) * 100 FROM (SELECT sum(s.price) AS n FROM store_sales s, promotions p, days d, customers c WHERE s.promotion_no = p.promotion_no AND s.day_no = d.day_no
AND c.customer_no = s.customer_no AND c.state = 'TX' AND (p.by_mail = 'Y' OR p.on_tv = 'Y')) a, (SELECT sum(s.price) AS n FROM store_sales s, days d, customers c WHERE s.day_no = d.day_no AND c.customer_no = s.customer_no AND c.state = 'TX') b;
-- how long it takes until things are shipped
SELECT w.ship_mode, sum(CASE WHEN w.shipped - w.day_no <= 30 THEN 1 ELSE 0 END) AS d30, sum(CASE WHEN w.shipped - w.day_no > 30 AND w.shipped - w.day_no <= 60 THEN 1 ELSE 0 END) AS d60,
sum(CASE WHEN w.shipped - w.day_no > 60 THEN 1 ELSE 0 END) AS more FROM web_sales w, days d WHERE d.month_no BETWEEN 1 AND 12 AND w.shipped = d.day_no GROUP BY w.ship_mode ORDER BY w.ship_mode;
-- items that sell little for their store
SELECT t.name, i.brand, sc.revenue FROM stores t, items i, (SELECT store_no, avg(revenue) AS ave FROM (SELECT store_no, item_no, sum(price) AS revenue FROM store_sales GROUP BY store_no, item_no) sa GROUP BY store_no) sb,
(SELECT store_no, item_no, sum(price) AS revenue FROM store_sales GROUP BY store_no, item_no) sc WHERE sb.store_no = sc.store_no AND sc.revenue <= 0.9 * sb.ave AND sc.revenue > 1 AND t.store_no = sc.store_no AND i.item_no = sc.item_no
ORDER BY t.name, i.brand, sc.revenue LIMIT 100;
-- a year's months as columns
SELECT c.state, sum(CASE WHEN d.month = 1 THEN w.price * w.quantity ELSE 0 END) AS jan, sum(CASE WHEN d.month = 2 THEN w.price * w.quantity ELSE 0 END) AS feb, sum(CASE WHEN d.month = 3 THEN w.price * w.quantity ELSE 0 END) AS mar,
sum(CASE WHEN d.month = 1 THEN w.profit ELSE 0 END) AS p1, sum(CASE WHEN d.month = 2 THEN w.profit ELSE 0 END) AS p2 FROM web_sales w, days d, customers c WHERE w.day_no = d.day_no AND w.customer_no = c.customer_no AND d.year = 2021 AND w.ship_mode IN ('AIR', 'SEA')
GROUP BY c.state ORDER BY c.state;
-- the first hundred of each category, rolled up
SELECT * FROM (SELECT category, class, year, sold, rank() OVER (PARTITION BY category ORDER BY sold DESC) AS rk FROM (SELECT i.category, i.class, d.year, sum(coalesce(s.price * s.quantity, 0)) AS sold FROM store_sales s, days d, items i
WHERE s.day_no = d.day_no AND s.item_no = i.item_no GROUP BY ROLLUP (i.category, i.class, d.year)) a) b WHERE rk <= 100 ORDER BY category, class, year, sold, rk;
-- brands by hour in three channels
SELECT i.brand, t.channel, sum(t.price) AS p FROM items i, (SELECT 'web' AS channel, price, item_no, customer_no FROM web_sales WHERE day_no BETWEEN 1 AND 90 UNION ALL SELECT 'store', price, item_no, customer_no FROM store_sales WHERE hour BETWEEN 8 AND 12) t
WHERE t.item_no = i.item_no AND i.maker = 1 GROUP BY i.brand, t.channel ORDER BY p DESC, i.brand;
-- two years of categories, less what came back
WITH all_sales AS (SELECT d.year, i.category, s.quantity - coalesce(r.quantity, 0) AS n, s.price - coalesce(r.amount, 0) AS paid, s.customer_no FROM store_sales s JOIN items i ON i.item_no = s.item_no JOIN days d ON d.day_no = s.day_no
LEFT JOIN store_returns r ON s.ticket = r.ticket AND s.item_no = r.item_no AND s.customer_no = r.customer_no),
yearly AS (SELECT year, category, sum(n) AS n, sum(paid) AS paid FROM all_sales GROUP BY year, category)
SELECT a.category, b.n AS one, a.n AS two, a.n - b.n AS change FROM yearly a, yearly b WHERE a.category = b.category AND a.year = 2021 AND b.year = 2020 ORDER BY change, a.category;
-- channels without an item, by year and quarter
SELECT channel, category, year, quarter, count(*) AS n, sum(price) AS sold FROM (SELECT 'store' AS channel, i.category, d.year, d.quarter, s.price, s.customer_no FROM store_sales s, items i, days d WHERE s.day_no = d.day_no AND s.item_no = i.item_no AND s.promotion_no IS NULL
UNION ALL SELECT 'web', i.category, d.year, d.quarter, w.price, w.customer_no FROM web_sales w, items i, days d WHERE w.day_no = d.day_no AND w.item_no = i.item_no AND w.shipped IS NULL) foo GROUP BY channel, category, year, quarter ORDER BY 1, 2, 3, 4;
-- profit and loss of channels, rolled up
WITH ss AS (SELECT t.name, sum(s.price) AS sold, sum(s.profit) AS profit FROM store_sales s, stores t WHERE s.store_no = t.store_no GROUP BY t.name), ws AS (SELECT ship_mode, sum(price) AS sold, sum(profit) AS profit FROM web_sales GROUP BY ship_mode)
SELECT channel, id, sum(sold) AS sold, sum(profit) AS profit FROM (SELECT 'store' AS channel, name AS id, sold, profit FROM ss UNION ALL SELECT 'web', ship_mode, sold, profit FROM ws) x GROUP BY ROLLUP (channel, id) ORDER BY channel, id;
-- customers who return more than is usual, by state
WITH back AS (SELECT r.customer_no, c.state, sum(r.amount) AS total FROM store_returns r JOIN customers c ON c.customer_no = r.customer_no GROUP BY r.customer_no, c.state)
SELECT b.state, count(*) FROM back b WHERE b.total > (SELECT avg(total) * 1.2 FROM back b2 WHERE b.state = b2.state) GROUP BY b.state ORDER BY b.state;
-- hours side by side
SELECT * FROM (SELECT count(*) AS h8 FROM store_sales s, stores t WHERE s.store_no = t.store_no AND s.hour = 8 AND t.name = 'able') s1, (SELECT count(*) AS h9 FROM store_sales s, stores t WHERE s.store_no = t.store_no AND s.hour = 9 AND t.name = 'able') s2;
-- mornings against evenings
SELECT CAST(am.n AS numeric(15,4)) / CAST(pm.n AS numeric(15,4)) AS ratio FROM (SELECT count(*) AS n FROM store_sales WHERE hour BETWEEN 8 AND 9) am, (SELECT count(*) AS n FROM store_sales WHERE hour BETWEEN 19 AND 20) pm;
-- pairs of customer and item in two channels
WITH s AS (SELECT customer_no, item_no FROM store_sales GROUP BY customer_no, item_no), k AS (SELECT customer_no, item_no FROM catalog_sales GROUP BY customer_no, item_no)
SELECT sum(CASE WHEN s.customer_no IS NOT NULL AND k.customer_no IS NULL THEN 1 ELSE 0 END) AS stores, sum(CASE WHEN s.customer_no IS NULL AND k.customer_no IS NOT NULL THEN 1 ELSE 0 END) AS catalogue,
sum(CASE WHEN s.customer_no IS NOT NULL AND k.customer_no IS NOT NULL THEN 1 ELSE 0 END) AS both_of_them FROM s FULL OUTER JOIN k ON s.customer_no = k.customer_no AND s.item_no = k.item_no;
-- orders that were shipped twice
SELECT count(DISTINCT w.order_no) AS orders, sum(w.price) AS paid, sum(w.profit) AS profit FROM web_sales w, days d WHERE w.shipped = d.day_no AND d.year = 2020 AND EXISTS (SELECT * FROM web_sales x WHERE w.order_no = x.order_no AND w.customer_no = x.customer_no AND w.ship_mode <> x.ship_mode);
-- calendar months by NATURAL JOIN
SELECT year, month, count(*), sum(price) FROM web_sales NATURAL JOIN days GROUP BY year, month ORDER BY year, month;
-- RFM by CASE
WITH r AS (SELECT customer_no, max(day_no) AS recent, count(*) AS often, sum(price * quantity) AS money FROM store_sales GROUP BY customer_no)
SELECT CASE WHEN recent > 500 THEN 3 WHEN recent > 300 THEN 2 ELSE 1 END AS r, CASE WHEN often > 12 THEN 3 WHEN often > 6 THEN 2 ELSE 1 END AS f, CASE WHEN money > 50000 THEN 3 WHEN money > 20000 THEN 2 ELSE 1 END AS m, count(*) FROM r GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- RFM by ntile
WITH r AS (SELECT customer_no, count(*) AS often, ntile(5) OVER (ORDER BY count(*)) AS f FROM store_sales GROUP BY customer_no) SELECT f, count(*) FROM r GROUP BY f ORDER BY f;
-- running total by month
SELECT d.month_no, sum(s.price) AS sold, sum(sum(s.price)) OVER (ORDER BY d.month_no) AS total FROM store_sales s JOIN days d USING (day_no) GROUP BY d.month_no ORDER BY d.month_no;
-- year to date
SELECT d.year, d.month, sum(sum(s.price)) OVER (PARTITION BY d.year ORDER BY d.month) AS ytd FROM store_sales s JOIN days d USING (day_no) GROUP BY d.year, d.month ORDER BY 1, 2;
-- year over year by a self join
WITH m AS (SELECT d.year, d.month, sum(s.price) AS sold FROM store_sales s JOIN days d USING (day_no) GROUP BY d.year, d.month)
SELECT a.year, a.month, a.sold, b.sold AS before, round(100 * (a.sold - b.sold) / nullif(b.sold, 0), 1) AS percent FROM m a JOIN m b ON b.year = a.year - 1 AND b.month = a.month ORDER BY 1, 2;
-- year over year by lag of twelve
WITH m AS (SELECT d.month_no, sum(s.price) AS sold FROM store_sales s JOIN days d USING (day_no) GROUP BY d.month_no) SELECT month_no, sold, lag(sold, 12) OVER (ORDER BY month_no) AS before FROM m ORDER BY month_no;
-- top three brands per category
SELECT category, brand, sold FROM (SELECT i.category, i.brand, sum(s.price) AS sold, rank() OVER (PARTITION BY i.category ORDER BY sum(s.price) DESC) AS r FROM store_sales s JOIN items i USING (item_no) GROUP BY i.category, i.brand) t WHERE r <= 3 ORDER BY 1, 3 DESC;
-- top per group by DISTINCT ON
SELECT DISTINCT ON (category) category, brand, sold FROM (SELECT i.category, i.brand, sum(s.price) AS sold FROM store_sales s JOIN items i USING (item_no) GROUP BY 1, 2) t ORDER BY category, sold DESC;
-- top per group by a correlated max
WITH t AS (SELECT i.category, i.brand, sum(s.price) AS sold FROM store_sales s JOIN items i USING (item_no) GROUP BY 1, 2) SELECT * FROM t WHERE sold = (SELECT max(u.sold) FROM t u WHERE u.category = t.category) ORDER BY 1;
-- top per group by LATERAL
WITH t AS (SELECT i.category, i.brand, sum(s.price) AS sold FROM store_sales s JOIN items i USING (item_no) GROUP BY 1, 2) SELECT c.category, x.brand, x.sold FROM (SELECT DISTINCT category FROM items) c CROSS JOIN LATERAL (SELECT brand, sold FROM t WHERE t.category = c.category ORDER BY sold DESC LIMIT 2) x ORDER BY 1, 3 DESC;
-- pivot of quarters by CASE
SELECT i.category, sum(CASE WHEN d.quarter = 1 THEN s.price ELSE 0 END) AS q1, sum(CASE WHEN d.quarter = 2 THEN s.price ELSE 0 END) AS q2, sum(CASE WHEN d.quarter = 3 THEN s.price ELSE 0 END) AS q3, sum(CASE WHEN d.quarter = 4 THEN s.price ELSE 0 END) AS q4 FROM store_sales s JOIN days d USING (day_no) JOIN items i USING (item_no) GROUP BY i.category ORDER BY 1;
-- unpivot by UNION ALL of sums
WITH t AS (SELECT sum(quantity) AS quantity, sum(price) AS price FROM store_sales) SELECT 'quantity' AS name, quantity::numeric AS value FROM t UNION ALL SELECT 'price', price FROM t ORDER BY 1;
-- unpivot by VALUES and LATERAL
SELECT t.category, v.name, v.value FROM (SELECT i.category, sum(s.quantity)::numeric AS q, sum(s.price) AS p FROM store_sales s JOIN items i USING (item_no) GROUP BY 1) t CROSS JOIN LATERAL (VALUES ('quantity', t.q), ('price', t.p)) AS v(name, value) ORDER BY 1, 2;
-- percent of total and of category
SELECT i.category, i.class, sum(s.price) AS sold, round(100 * sum(s.price) / sum(sum(s.price)) OVER (), 2) AS of_all, round(100 * sum(s.price) / sum(sum(s.price)) OVER (PARTITION BY i.category), 2) AS of_category FROM store_sales s JOIN items i USING (item_no) GROUP BY 1, 2 ORDER BY 1, 2;
-- ABC analysis
WITH t AS (SELECT i.brand, sum(s.price * s.quantity) AS sold FROM store_sales s JOIN items i USING (item_no) GROUP BY i.brand), c AS (SELECT brand, sold, sum(sold) OVER (ORDER BY sold DESC, brand) / sum(sold) OVER () AS share FROM t)
SELECT CASE WHEN share <= 0.8 THEN 'A' WHEN share <= 0.95 THEN 'B' ELSE 'C' END AS class, count(*), sum(sold) FROM c GROUP BY 1 ORDER BY 1;
-- weighted average
SELECT i.category, sum(s.price * s.quantity) / nullif(sum(s.quantity), 0) AS weighted FROM store_sales s JOIN items i USING (item_no) GROUP BY 1 ORDER BY 1;
-- basket size
SELECT avg(lines), avg(value) FROM (SELECT customer_no, ticket, count(*) AS lines, sum(price * quantity) AS value FROM store_sales GROUP BY customer_no, ticket) t;
-- items bought together
SELECT a.item_no, b.item_no AS other, count(*) AS n FROM store_sales a JOIN store_sales b ON a.customer_no = b.customer_no AND a.ticket = b.ticket AND a.item_no < b.item_no WHERE a.item_no <= 3 GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10;
-- categories bought together
SELECT count(*) FROM (SELECT s.customer_no FROM store_sales s JOIN items i USING (item_no) WHERE i.category IN ('Books', 'Music') GROUP BY s.customer_no HAVING count(DISTINCT i.category) = 2) t;
-- repeat purchase rate
SELECT round(100.0 * count(*) FILTER (WHERE tickets > 1) / nullif(count(*), 0), 1) FROM (SELECT customer_no, count(DISTINCT ticket) AS tickets FROM store_sales GROUP BY customer_no) t;
-- days between purchases
SELECT avg(gap) FROM (SELECT customer_no, day_no - lag(day_no) OVER (PARTITION BY customer_no ORDER BY day_no) AS gap FROM (SELECT DISTINCT customer_no, ticket, day_no FROM store_sales) t) g;
-- second purchase within 90 days
SELECT count(*) FROM (SELECT customer_no, day_no, row_number() OVER (PARTITION BY customer_no ORDER BY day_no) AS n, lead(day_no) OVER (PARTITION BY customer_no ORDER BY day_no) - day_no AS gap FROM web_sales) t WHERE n = 1 AND gap <= 90;
-- customer lifetime value by cohort
WITH c AS (SELECT customer_no, extract(year FROM since) AS cohort FROM customers) SELECT c.cohort, count(DISTINCT s.customer_no) AS customers, sum(s.price * s.quantity) AS value FROM store_sales s JOIN c USING (customer_no) GROUP BY c.cohort ORDER BY 1;
-- cohort by first purchase month
WITH f AS (SELECT s.customer_no, min(d.month_no) AS cohort FROM store_sales s JOIN days d USING (day_no) GROUP BY s.customer_no) SELECT cohort, count(*) FROM f GROUP BY cohort ORDER BY cohort;
-- revenue of cohorts by month
WITH f AS (SELECT s.customer_no, min(d.month_no) AS cohort FROM store_sales s JOIN days d USING (day_no) GROUP BY s.customer_no) SELECT f.cohort, d.month_no - f.cohort AS age, sum(s.price) FROM store_sales s JOIN days d USING (day_no) JOIN f USING (customer_no) GROUP BY 1, 2 ORDER BY 1, 2;
-- age groups
SELECT CASE WHEN 2021 - birth_year < 30 THEN 'under 30' WHEN 2021 - birth_year < 60 THEN '30 to 59' ELSE '60 and more' END AS age, gender, count(*) FROM customers GROUP BY 1, 2 ORDER BY 1, 2;
-- return rate by category
SELECT i.category, sum(coalesce(r.quantity, 0)) * 1.0 / nullif(sum(s.quantity), 0) AS rate FROM store_sales s LEFT JOIN store_returns r ON r.ticket = s.ticket AND r.item_no = s.item_no AND r.customer_no = s.customer_no JOIN items i ON i.item_no = s.item_no GROUP BY 1 ORDER BY 1;
-- median of customers' spending
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY spent) FROM (SELECT customer_no, sum(price) AS spent FROM store_sales GROUP BY customer_no) t;
-- outliers by the mean and three deviations
WITH m AS (SELECT avg(price) AS mean, stddev(price) AS sd FROM store_sales) SELECT count(*) FROM store_sales, m WHERE price > mean + 1.5 * sd;
-- share of items above average price
SELECT count(*) FILTER (WHERE s.price > i.price) * 1.0 / nullif(count(*), 0) FROM store_sales s JOIN items i USING (item_no);
-- ratio to report
SELECT t.state, sum(s.profit) AS profit, sum(s.profit) / nullif(sum(s.price * s.quantity), 0) AS margin FROM store_sales s JOIN stores t USING (store_no) GROUP BY 1 ORDER BY 1;
-- months without sales (anti join of a spine)
SELECT d.month_no FROM (SELECT DISTINCT month_no FROM days) d WHERE NOT EXISTS (SELECT 1 FROM (SELECT d2.month_no FROM store_sales s JOIN days d2 USING (day_no) GROUP BY d2.month_no HAVING count(*) > 20) m WHERE m.month_no = d.month_no) ORDER BY 1;
-- gaps and islands over public days
WITH p AS (SELECT day_no, day_no - row_number() OVER (ORDER BY day_no) AS g FROM days WHERE weekday NOT IN ('Saturday', 'Sunday')) SELECT g, count(*), min(day_no) FROM p GROUP BY g ORDER BY g LIMIT 5;
-- islands of good months
WITH m AS (SELECT d.month_no, sum(s.price) AS sold FROM store_sales s JOIN days d USING (day_no) GROUP BY 1), g AS (SELECT month_no, month_no - row_number() OVER (ORDER BY month_no) AS g FROM m WHERE sold > 5000) SELECT min(month_no), max(month_no), count(*) FROM g GROUP BY g ORDER BY 1;
-- market share of channels
SELECT channel, sum(price) AS sold, round(100 * sum(price) / sum(sum(price)) OVER (), 1) AS share FROM (SELECT 'store' AS channel, customer_no, price FROM store_sales UNION ALL SELECT 'web', customer_no, price FROM web_sales UNION ALL SELECT 'catalog', customer_no, price FROM catalog_sales) t GROUP BY channel ORDER BY 1;
-- customers by number of channels
SELECT n, count(*) FROM (SELECT customer_no, count(DISTINCT channel) AS n FROM (SELECT 'store' AS channel, customer_no FROM store_sales UNION ALL SELECT 'web', customer_no FROM web_sales UNION ALL SELECT 'catalog', customer_no FROM catalog_sales) t GROUP BY customer_no) u GROUP BY n ORDER BY n;
-- best month of each year
SELECT year, month, sold FROM (SELECT d.year, d.month, sum(s.price) AS sold, row_number() OVER (PARTITION BY d.year ORDER BY sum(s.price) DESC) AS r FROM store_sales s JOIN days d USING (day_no) GROUP BY 1, 2) t WHERE r = 1 ORDER BY 1;
-- lists of the best brands
SELECT category, string_agg(brand, ', ' ORDER BY sold DESC) FROM (SELECT i.category, i.brand, sum(s.price) AS sold, rank() OVER (PARTITION BY i.category ORDER BY sum(s.price) DESC) AS r FROM store_sales s JOIN items i USING (item_no) GROUP BY 1, 2) t WHERE r <= 2 GROUP BY category ORDER BY 1;
-- growth by month and category
SELECT category, month_no, sold, sold / nullif(lag(sold) OVER (PARTITION BY category ORDER BY month_no), 0) - 1 AS growth FROM (SELECT i.category, d.month_no, sum(s.price) AS sold FROM store_sales s JOIN days d USING (day_no) JOIN items i USING (item_no) GROUP BY 1, 2) t ORDER BY 1, 2;
-- compound growth
WITH y AS (SELECT d.year, sum(s.price) AS sold FROM store_sales s JOIN days d USING (day_no) GROUP BY 1) SELECT power(max(sold) FILTER (WHERE year = 2021) / max(sold) FILTER (WHERE year = 2020), 1.0) - 1 FROM y;
-- moving three-month sum
SELECT month_no, sum(sold) OVER (ORDER BY month_no ROWS 2 PRECEDING) FROM (SELECT d.month_no, sum(s.price) AS sold FROM store_sales s JOIN days d USING (day_no) GROUP BY 1) t ORDER BY 1;
-- the longest silence of a customer
SELECT CASE WHEN longest > 200 THEN 'long' ELSE 'short' END AS k, count(*) FROM (SELECT customer_no, max(gap) AS longest FROM (SELECT customer_no, day_no - lag(day_no) OVER (PARTITION BY customer_no ORDER BY day_no) AS gap FROM web_sales) g GROUP BY customer_no) t GROUP BY 1 ORDER BY 1;
-- customers whose first channel is the web
WITH e AS (SELECT customer_no, day_no, 'web' AS channel FROM web_sales UNION ALL SELECT customer_no, day_no, 'store' FROM store_sales), f AS (SELECT customer_no, channel, row_number() OVER (PARTITION BY customer_no ORDER BY day_no, channel) AS r FROM e) SELECT channel, count(*) FROM f WHERE r = 1 GROUP BY channel ORDER BY 1;
-- running total of a person up to a threshold
SELECT count(DISTINCT customer_no) FROM (SELECT customer_no, sum(price * quantity) OVER (PARTITION BY customer_no ORDER BY day_no, ticket, item_no) AS total FROM store_sales) t WHERE total > 20000;
-- stock cover beside sales
SELECT k.category, k.stock, s.sold, k.stock * 1.0 / nullif(s.sold, 0) AS cover FROM (SELECT i.category, sum(x.on_hand) AS stock FROM stock x JOIN items i USING (item_no) WHERE x.day_no > 700 GROUP BY 1) k JOIN (SELECT i.category, sum(q.quantity) AS sold FROM store_sales q JOIN items i USING (item_no) GROUP BY 1) s ON s.category = k.category ORDER BY 1;
-- price elasticity by regression
SELECT i.category, regr_slope(s.quantity, s.price) FROM store_sales s JOIN items i USING (item_no) GROUP BY 1 ORDER BY 1;
