-- Grafana: its data source for PostgreSQL, with the macros of panels written out and times of the dashboard as constants.

-- look the version
-- rows: the version of the copy is another minor one
SELECT current_setting('server_version_num')::int/100 AS version;
-- look the extension for time series is not there
SELECT 1 FROM pg_extension WHERE extname = 'timescaledb';
-- look a test of the connection
SELECT 1;
-- look tables of the builder
SELECT CASE WHEN quote_ident(table_schema) IN (
    SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
    FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1),
      array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i,
      string_to_array(current_setting('search_path'), ',') AS s)
  THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
FROM information_schema.tables
WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog', '_timescaledb_cache')
ORDER BY 1;
-- look columns of the builder
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
WHERE CASE WHEN array_length(parse_ident('orders'), 1) = 2
  THEN quote_ident(table_schema) = (parse_ident('orders'))[1] AND quote_ident(table_name) = (parse_ident('orders'))[2]
  ELSE quote_ident(table_name) = 'orders' AND quote_ident(table_schema) IN (
    SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
    FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1),
      array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i,
      string_to_array(current_setting('search_path'), ',') AS s) END;
-- look columns of one kind
SELECT quote_ident(column_name) FROM information_schema.columns
WHERE quote_ident(table_name) = 'orders'
  AND data_type IN ('timestamp without time zone', 'timestamp with time zone', 'bigint', 'integer', 'double precision', 'real')
ORDER BY column_name;
-- look the type of a column
SELECT udt_name FROM information_schema.columns WHERE quote_ident(table_name) = 'orders' AND quote_ident(column_name) = 'created_at';
-- look aggregates
-- rows: statements here have median(), and not every aggregate of PostgreSQL
SELECT DISTINCT proname FROM pg_aggregate INNER JOIN pg_proc ON pg_aggregate.aggfnoid = pg_proc.oid
INNER JOIN pg_type ON pg_type.oid = pg_proc.prorettype WHERE pronargs = 1 AND typname IN ('float8') AND aggkind = 'n'
ORDER BY 1;

-- ask $__timeGroup of hours
-- keys: 1
SELECT floor(extract(epoch from created_at)/21600)*21600 AS "time", count(*) AS "value" FROM orders
WHERE created_at BETWEEN '2024-02-01T00:00:00Z' AND '2024-02-03T00:00:00Z' GROUP BY 1 ORDER BY 1;
-- ask $__timeGroupAlias of days, with a metric
-- keys: 2
SELECT floor(extract(epoch from created_at)/86400)*86400 AS "time", status AS metric, sum(amount) AS "amount" FROM orders
WHERE created_at BETWEEN '2024-02-01T00:00:00Z' AND '2024-02-05T23:59:59.999Z' GROUP BY 1, 2 ORDER BY 1, 2;
-- ask $__unixEpochFilter
SELECT count(*) FROM orders
WHERE extract(epoch from created_at) >= 1706745600 AND extract(epoch from created_at) <= 1707350400;
-- ask $__unixEpochGroup of a number that a row has
-- types: time: floor of a whole number is one, and stays a key that is declared
SELECT floor(quantity/3)*3 AS "time", avg(amount) AS "value" FROM orders GROUP BY 1 ORDER BY 1;
-- ask date_trunc
-- keys: 1
SELECT date_trunc('day', created_at) AS "time", count(*) AS "orders" FROM orders
WHERE created_at BETWEEN '2024-02-01T00:00:00Z' AND '2024-02-08T00:00:00Z' GROUP BY 1 ORDER BY 1;
-- ask date_trunc in a zone
-- keys: 1
SELECT date_trunc('day', created_at AT TIME ZONE 'UTC') AS "time", count(*) AS "orders" FROM orders
WHERE created_at BETWEEN '2024-02-01T00:00:00Z' AND '2024-02-08T00:00:00Z' GROUP BY 1 ORDER BY 1;
-- ask date_bin
-- keys: 1
SELECT date_bin('6 hours', created_at, TIMESTAMP '2024-01-01') AS "time", count(*) AS "orders" FROM orders
WHERE created_at BETWEEN '2024-02-01T00:00:00Z' AND '2024-02-03T00:00:00Z' GROUP BY 1 ORDER BY 1;
-- ask the last years
SELECT count(*) AS "value" FROM orders WHERE created_at > now() - interval '20 years';
-- ask the last years by day
SELECT date_trunc('month', created_at) AS "time", avg(amount) AS "value" FROM orders
WHERE created_at > now() - interval '20 years' AND created_at < now() GROUP BY 1 ORDER BY 1;
-- ask a table panel
SELECT c.country, c.segment, count(*) AS n, round(avg(o.amount), 2) AS mean FROM customers c
JOIN orders o ON o.customer_id = c.id
WHERE o.created_at BETWEEN '2024-01-01T00:00:00Z' AND '2024-06-30T00:00:00Z' GROUP BY c.country, c.segment ORDER BY 1, 2;
-- ask a stat panel
SELECT count(DISTINCT customer_id) AS "customers" FROM orders
WHERE created_at BETWEEN '2024-02-01T00:00:00Z' AND '2024-03-01T00:00:00Z';
-- ask a histogram of width_bucket
-- keys: 1
SELECT width_bucket(amount, 0, 500, 5) AS bucket, count(*) FROM orders GROUP BY 1 ORDER BY 1;
-- ask a variable's values
SELECT code AS __value, name AS __text FROM countries ORDER BY 2;
-- ask a variable's distinct values
SELECT DISTINCT status FROM orders ORDER BY status;
-- ask a variable of several values
SELECT status, count(*) FROM orders WHERE status IN ('new','paid') GROUP BY status ORDER BY status;
-- ask the text of a month
SELECT to_char(date_trunc('month', created_at), 'YYYY-MM') AS month, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1;
-- ask a time filter with a zone
SELECT count(*) FROM orders
WHERE created_at >= '2024-02-01T00:00:00Z'::timestamptz AND created_at < '2024-03-01T00:00:00Z'::timestamptz;
-- refuse 42501 a table of rows in time
-- why: rows of people are not shown
SELECT created_at AS "time", amount AS "value" FROM orders
WHERE created_at BETWEEN '2024-02-01T00:00:00Z' AND '2024-02-08T00:00:00Z' ORDER BY 1;
-- refuse 42501 the builder's first look at a table
-- why: rows of people are not shown
SELECT * FROM orders LIMIT 50;
-- ask the builder's first look at a public table
SELECT * FROM countries ORDER BY code LIMIT 50;
-- ask the builder's first look at a view
SELECT * FROM order_totals ORDER BY status LIMIT 50;
