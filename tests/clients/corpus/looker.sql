-- Looker: measures and dimensions called "view.field", dates as texts of truncated moments, a LIMIT of 500.

-- look a connection is alive
SELECT 1;
-- look who is there
SELECT current_user, current_database(), current_schema();
-- look the settings it reads
SHOW TIME ZONE;
-- look the number of its session, to end it
-- rows: of its own
SELECT pg_backend_pid();
-- look tables of a project
SELECT table_schema AS schema_name, table_name FROM information_schema.tables
WHERE table_schema NOT IN ('information_schema', 'pg_catalog', 'dp') AND table_type = 'BASE TABLE' ORDER BY 1, 2;
-- look columns of a project
SELECT table_name, column_name, data_type, character_maximum_length, ordinal_position FROM information_schema.columns
WHERE table_schema = 'public' AND table_name IN ('orders', 'customers', 'countries') ORDER BY table_name, ordinal_position;
-- look keys of a project
SELECT tc.table_name, kcu.column_name, ccu.table_name AS foreign_table_name, ccu.column_name AS foreign_column_name
FROM information_schema.table_constraints AS tc
JOIN information_schema.key_column_usage AS kcu ON tc.constraint_name = kcu.constraint_name AND tc.table_schema = kcu.table_schema
JOIN information_schema.constraint_column_usage AS ccu ON ccu.constraint_name = tc.constraint_name AND ccu.table_schema = tc.table_schema
WHERE tc.constraint_type = 'FOREIGN KEY' AND tc.table_schema = 'public';

-- refuse 42501 detail of a tile
-- why: rows of people are not shown
SELECT orders.id AS "orders.id", orders.status AS "orders.status", orders.amount AS "orders.amount"
FROM public.orders AS orders ORDER BY 1 DESC LIMIT 500;
-- refuse 42501 dimensions of a person as groups
-- why: each group would be one person
SELECT customers.id AS "customers.id", COUNT(*) AS "orders.count" FROM public.orders AS orders
LEFT JOIN public.customers AS customers ON orders.customer_id = customers.id GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
-- ask how many
SELECT COUNT(*) AS "orders.count" FROM public.orders AS orders LIMIT 500;
-- ask by status
SELECT orders.status AS "orders.status", COUNT(*) AS "orders.count", COALESCE(SUM(orders.amount), 0) AS "orders.total_amount"
FROM public.orders AS orders GROUP BY 1 ORDER BY 1 LIMIT 500;
-- ask by a column without an order of its own
SELECT orders.status AS "orders.status", AVG(orders.amount) AS "orders.average_amount"
FROM public.orders AS orders GROUP BY 1 ORDER BY 2 DESC FETCH NEXT 500 ROWS ONLY;
-- ask by day
SELECT DATE(orders.created_at) AS "orders.created_date", COUNT(*) AS "orders.count" FROM public.orders AS orders
GROUP BY 1 ORDER BY 1 LIMIT 10;
-- ask by day, as its own dates
-- keys: 1
SELECT (DATE(orders.created_at)) AS "orders.created_date", COUNT(*) AS "orders.count" FROM public.orders AS orders
WHERE ((( orders.created_at ) >= (TIMESTAMP '2024-02-01') AND ( orders.created_at ) < (TIMESTAMP '2024-02-08')))
GROUP BY (DATE(orders.created_at)) ORDER BY 1 DESC LIMIT 500;
-- ask by month
SELECT TO_CHAR(DATE_TRUNC('month', orders.created_at), 'YYYY-MM') AS "orders.created_month", COUNT(*) AS "orders.count"
FROM public.orders AS orders GROUP BY (DATE_TRUNC('month', orders.created_at)) ORDER BY 1 DESC LIMIT 500;
-- ask by week
SELECT TO_CHAR(DATE_TRUNC('week', orders.created_at), 'YYYY-MM-DD') AS "orders.created_week",
  COALESCE(SUM(orders.amount), 0) AS "orders.total_amount"
FROM public.orders AS orders GROUP BY (DATE_TRUNC('week', orders.created_at)) ORDER BY 1 LIMIT 500;
-- ask by year and quarter
SELECT EXTRACT(YEAR FROM orders.created_at)::integer AS "orders.created_year",
  TO_CHAR(DATE_TRUNC('month', DATE_TRUNC('quarter', orders.created_at)), 'YYYY-MM') AS "orders.created_quarter",
  COUNT(*) AS "orders.count"
FROM public.orders AS orders GROUP BY 1, (DATE_TRUNC('quarter', orders.created_at)) ORDER BY 1, 2 LIMIT 500;
-- ask the last days
SELECT COUNT(*) AS "orders.count" FROM public.orders AS orders
WHERE ((( orders.created_at ) >= ((SELECT (DATE_TRUNC('day', CURRENT_TIMESTAMP) + (-8000 || ' day')::INTERVAL)))
  AND ( orders.created_at ) < ((SELECT ((DATE_TRUNC('day', CURRENT_TIMESTAMP) + (-8000 || ' day')::INTERVAL) + (8001 || ' day')::INTERVAL)))));
-- ask the last years
SELECT COUNT(*) AS "orders.count" FROM public.orders AS orders
WHERE orders.created_at >= (CURRENT_DATE - INTERVAL '20 years') LIMIT 500;
-- ask a filter of texts
SELECT COUNT(*) AS "orders.count" FROM public.orders AS orders WHERE (orders.status) = 'paid' LIMIT 500;
-- ask a filter of several texts
SELECT COUNT(*) AS "orders.count" FROM public.orders AS orders WHERE ((orders.status) IN ('paid', 'new')) LIMIT 500;
-- ask a filter of what starts so
SELECT COUNT(*) AS "orders.count" FROM public.orders AS orders WHERE ((orders.status LIKE 'p%' OR orders.status ILIKE '%NEW%')) LIMIT 500;
-- ask a filter of numbers
SELECT COUNT(*) AS "customers.count" FROM public.customers AS customers
WHERE ((((customers.age) >= 30 AND (customers.age) < 50))) LIMIT 500;
-- ask an explore of two views
SELECT customers.country AS "customers.country", COUNT(DISTINCT customers.id) AS "customers.count", COUNT(*) AS "orders.count"
FROM public.orders AS orders LEFT JOIN public.customers AS customers ON orders.customer_id = customers.id
GROUP BY 1 ORDER BY 1 LIMIT 500;
-- ask a measure that is filtered
SELECT COUNT(CASE WHEN (orders.status = 'paid') THEN 1 ELSE NULL END) AS "orders.paid",
  COALESCE(SUM(CASE WHEN (orders.status = 'paid') THEN orders.amount ELSE NULL END), 0) AS "orders.paid_amount"
FROM public.orders AS orders LIMIT 500;
-- ask a ratio
SELECT 1.0 * COUNT(CASE WHEN orders.status = 'shipped' THEN 1 END) / NULLIF(COUNT(*), 0) AS "orders.share"
FROM public.orders AS orders LIMIT 500;
-- ask people who did something
SELECT COUNT(DISTINCT CASE WHEN (orders.status = 'shipped') THEN orders.customer_id ELSE NULL END) AS "orders.buyers"
FROM public.orders AS orders LIMIT 500;
-- ask tiers
-- keys: 2
SELECT CASE WHEN customers.age < 30 THEN '0' WHEN customers.age >= 30 AND customers.age < 60 THEN '1' WHEN customers.age >= 60 THEN '2'
  ELSE '3' END AS "customers.age_tier__sort_",
  CASE WHEN customers.age < 30 THEN 'Below 30' WHEN customers.age >= 30 AND customers.age < 60 THEN '30 to 59'
  WHEN customers.age >= 60 THEN '60 or Above' ELSE 'Undefined' END AS "customers.age_tier", COUNT(*) AS "customers.count"
FROM public.customers AS customers GROUP BY 1, 2 ORDER BY 1 LIMIT 500;
-- ask yes or no
SELECT CASE WHEN customers.active THEN 'Yes' ELSE 'No' END AS "customers.active", COUNT(*) AS "customers.count"
FROM public.customers AS customers GROUP BY 1 ORDER BY 1 LIMIT 500;
-- ask a derived table
WITH totals AS (SELECT status, count(*) AS n, sum(amount) AS amount FROM public.orders GROUP BY 1)
SELECT totals.status AS "totals.status", totals.n AS "totals.n", totals.amount / totals.n AS "totals.mean"
FROM totals ORDER BY 1 LIMIT 500;
-- ask a pivot
SELECT * FROM (
  SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) AS z___pivot_row_rank FROM (
    SELECT *, MIN(z___rank) OVER (PARTITION BY "customers.country") AS z___min_rank FROM (
      SELECT *, RANK() OVER (ORDER BY "customers.country" ASC, "customers.segment" ASC) AS z___rank FROM (
        SELECT customers.segment AS "customers.segment", customers.country AS "customers.country", COUNT(*) AS "customers.count"
        FROM public.customers AS customers GROUP BY 1, 2) ww
    ) bb ) aa ) xx
WHERE z___pivot_row_rank <= 500 ORDER BY z___rank;
-- ask medians
-- but: customers.median_age: a median is one of the values, not between two
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY customers.age) AS "customers.median_age" FROM public.customers AS customers LIMIT 500;
-- ask the total of a table
SELECT COUNT(*) AS "orders.count", COALESCE(SUM(orders.quantity), 0) AS "orders.total_quantity" FROM public.orders AS orders LIMIT 1;
-- ask suggestions for a filter
SELECT DISTINCT customers.segment AS "customers.segment" FROM public.customers AS customers ORDER BY 1 LIMIT 1000;
-- ask suggestions for what is typed
SELECT customers.country AS "customers.country" FROM public.customers AS customers
WHERE (customers.country ILIKE '%A%') GROUP BY 1 ORDER BY 1 LIMIT 1000;
-- ask a public view's detail
SELECT countries.code AS "countries.code", countries.name AS "countries.name", countries.population AS "countries.population"
FROM public.countries AS countries ORDER BY 1 LIMIT 500;
