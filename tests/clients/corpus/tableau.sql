-- Tableau: names of the data source as quoted aliases, columns called after what they hold, conditions in parentheses.

-- look a connection is alive
SELECT 1;
-- look the schema
SELECT CURRENT_SCHEMA();
-- look the encoding
SHOW client_encoding;
-- look the server
-- rows: the version of the copy is another minor one
SHOW server_version;
-- look tables and views
SELECT n.nspname AS "TABLE_SCHEM", c.relname AS "TABLE_NAME", CAST(c.relkind AS varchar) AS "TABLE_TYPE"
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
  AND has_table_privilege(c.oid, 'SELECT') ORDER BY 3, 1, 2;
-- look columns as the ODBC driver asks
SELECT n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull,
  c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid),
  CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE 0 END, t.typtypmod, '' AS attidentity, c.relhassubclass
FROM (((pg_catalog.pg_class c
  INNER JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND c.relname LIKE 'orders' AND n.nspname LIKE 'public')
  INNER JOIN pg_catalog.pg_attribute a ON (NOT a.attisdropped) AND a.attnum > 0 AND a.attrelid = c.oid)
  INNER JOIN pg_catalog.pg_type t ON t.oid = a.atttypid)
  LEFT OUTER JOIN pg_attrdef d ON a.atthasdef AND d.adrelid = a.attrelid AND d.adnum = a.attnum
ORDER BY n.nspname, c.relname, attnum;
-- look primary keys as the ODBC driver asks
SELECT ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname
FROM pg_catalog.pg_attribute ta, pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i,
  pg_catalog.pg_namespace n, pg_catalog.pg_class ic
WHERE tc.relname = 'orders' AND n.nspname = 'public' AND tc.oid = i.indrelid AND n.oid = tc.relnamespace
  AND i.indisprimary = 't' AND ia.attrelid = i.indexrelid AND ta.attrelid = i.indrelid
  AND ta.attnum = i.indkey[ia.attnum - 1] AND (NOT ta.attisdropped) AND (NOT ia.attisdropped) AND ic.oid = i.indexrelid
ORDER BY ia.attnum;
-- look the columns of a table, without its rows
SELECT * FROM "public"."countries" LIMIT 0;
-- look the columns of a statement of one's own
SELECT * FROM (SELECT status, count(*) AS n FROM orders GROUP BY status) "Custom SQL Query" LIMIT 0;

-- refuse 42501 the first rows
-- why: rows of people are not shown
SELECT "orders"."id" AS "id", "orders"."status" AS "status", "orders"."amount" AS "amount"
FROM "public"."orders" "orders" LIMIT 100;
-- ask the first rows of a public table
SELECT "countries"."code" AS "code", "countries"."name" AS "name", "countries"."area" AS "area"
FROM "public"."countries" "countries" ORDER BY "code" LIMIT 100;
-- ask the number of records
SELECT SUM(1) AS "cnt:orders:ok" FROM "public"."orders" "orders" HAVING (COUNT(1) > 0);
-- ask a bar for each status
SELECT "orders"."status" AS "status", SUM("orders"."amount") AS "sum:amount:ok"
FROM "public"."orders" "orders" GROUP BY 1 ORDER BY 1;
-- ask several measures
SELECT "orders"."status" AS "status", AVG("orders"."amount") AS "avg:amount:ok", COUNT("orders"."id") AS "cnt:id:ok",
  COUNT(DISTINCT "orders"."customer_id") AS "ctd:customer_id:ok"
FROM "public"."orders" "orders" GROUP BY 1 ORDER BY 1;
-- ask averages of whole numbers
SELECT AVG(CAST("orders"."quantity" AS DOUBLE PRECISION)) AS "avg:quantity:ok" FROM "public"."orders" "orders"
HAVING (COUNT(1) > 0);
-- ask values of a filter
SELECT "customers"."country" AS "country" FROM "public"."customers" "customers" GROUP BY 1 ORDER BY 1 ASC NULLS FIRST;
-- ask a year
SELECT CAST(TRUNC(EXTRACT(YEAR FROM "orders"."created_at")) AS INTEGER) AS "yr:created_at:ok",
  SUM("orders"."amount") AS "sum:amount:ok" FROM "public"."orders" "orders" GROUP BY 1;
-- ask a month of the year
SELECT CAST(TRUNC(EXTRACT(MONTH FROM "orders"."ordered_on")) AS INTEGER) AS "mn:ordered_on:ok", COUNT(1) AS "n"
FROM "public"."orders" "orders" GROUP BY 1 ORDER BY 1;
-- ask a quarter and a day of the week
SELECT CAST(TRUNC(EXTRACT(QUARTER FROM "orders"."ordered_on")) AS INTEGER) AS "qr:ordered_on:ok",
  CAST((1 + EXTRACT(DOW FROM "orders"."ordered_on")) AS INTEGER) AS "wd:ordered_on:ok", COUNT(1) AS "n"
FROM "public"."orders" "orders" GROUP BY 1, 2 ORDER BY 1, 2;
-- ask a month on the line of time
SELECT DATE_TRUNC('MONTH', CAST("orders"."created_at" AS TIMESTAMP)) AS "tmn:created_at:ok",
  SUM("orders"."amount") AS "sum:amount:ok" FROM "public"."orders" "orders" GROUP BY 1 ORDER BY 1;
-- ask a week that starts on Sunday
-- keys: 1
SELECT (DATE_TRUNC('DAY', CAST("orders"."created_at" AS TIMESTAMP)) + (-EXTRACT(DOW FROM "orders"."created_at") * INTERVAL '1 DAY')) AS "twk:created_at:ok",
  COUNT(1) AS "n" FROM "public"."orders" "orders" GROUP BY 1 ORDER BY 1;
-- ask a week of days that starts on Sunday
-- types: twk:ordered_on:ok: date_trunc of a date has no time zone
-- rows: so it is shown without one
SELECT (DATE_TRUNC('DAY', CAST("orders"."ordered_on" AS DATE)) + (-EXTRACT(DOW FROM "orders"."ordered_on") * INTERVAL '1 DAY')) AS "twk:ordered_on:ok",
  COUNT(1) AS "n" FROM "public"."orders" "orders" GROUP BY 1 ORDER BY 1;
-- ask the days between two moments
SELECT COUNT(1) AS "n" FROM "public"."orders" "orders"
WHERE (("orders"."created_at" >= (TIMESTAMP '2024-02-01 00:00:00.000')) AND ("orders"."created_at" <= (TIMESTAMP '2024-02-29 23:59:59.000')));
-- ask the days of a range
SELECT "orders"."ordered_on" AS "ordered_on", SUM("orders"."quantity") AS "sum:quantity:ok"
FROM "public"."orders" "orders"
WHERE (("orders"."ordered_on" >= (DATE '2024-02-01')) AND ("orders"."ordered_on" < (DATE '2024-02-06'))) GROUP BY 1 ORDER BY 1;
-- ask what a filter leaves
SELECT "orders"."status" AS "status", COUNT(1) AS "n" FROM "public"."orders" "orders"
WHERE (("orders"."status" IN ('new', 'paid')) AND (NOT ("orders"."quantity" IN (1, 2)))) GROUP BY 1 ORDER BY 1;
-- ask a join on the canvas
SELECT "customers"."segment" AS "segment", SUM("orders"."amount") AS "sum:amount:ok"
FROM "public"."orders" "orders" INNER JOIN "public"."customers" "customers" ON ("orders"."customer_id" = "customers"."id")
GROUP BY 1 ORDER BY 1;
-- ask a relation to a public table
-- keys: 1
SELECT "countries"."name" AS "name", COUNT(1) AS "n" FROM "public"."customers" "customers"
LEFT JOIN "public"."countries" "countries" ON ("customers"."country" = "countries"."code") GROUP BY 1 ORDER BY 1;
-- ask a calculated field
SELECT (CASE WHEN ("orders"."amount" >= 250) THEN 'high' WHEN NOT ("orders"."amount" >= 250) THEN 'low' ELSE NULL END) AS "Calculation_1",
  COUNT(1) AS "n" FROM "public"."orders" "orders" GROUP BY 1 ORDER BY 1;
-- ask bins
SELECT FLOOR("customers"."age" / 10) AS "age (bin)", COUNT(1) AS "n" FROM "public"."customers" "customers" GROUP BY 1 ORDER BY 1;
-- ask a set of the top
SELECT "orders"."status" AS "status", SUM("orders"."amount") AS "$__alias__0" FROM "public"."orders" "orders"
GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 2;
-- ask a truth
SELECT "customers"."active" AS "active", COUNT(1) AS "n" FROM "public"."customers" "customers" GROUP BY 1 ORDER BY 1;
-- ask a statement of one's own
SELECT "Custom SQL Query"."status" AS "status", SUM("Custom SQL Query"."n") AS "sum:n:ok"
FROM (SELECT status, count(*) AS n FROM orders GROUP BY status) "Custom SQL Query" GROUP BY 1 ORDER BY 1;
-- ask a level of detail for each customer
SELECT AVG("t0"."X_measure__1") AS "avg:spent:ok" FROM (
  SELECT "orders"."customer_id" AS "customer_id", SUM("orders"."amount") AS "X_measure__1"
  FROM "public"."orders" "orders" GROUP BY 1) "t0" HAVING (COUNT(1) > 0);
-- ask the domain of an axis
SELECT MIN("countries"."founded") AS "TEMP(min)", MAX("countries"."founded") AS "TEMP(max)", COUNT(1) AS "n"
FROM "public"."countries" "countries" HAVING (COUNT(1) > 0);
-- ask a standard deviation
SELECT STDDEV_SAMP("orders"."amount") AS "std:amount:ok", VAR_POP("orders"."quantity") AS "vrp:quantity:ok"
FROM "public"."orders" "orders" HAVING (COUNT(1) > 0);
-- ask a median
-- but: med:age:ok: a median is one of the values, not between two
SELECT PERCENTILE_CONT(0.50) WITHIN GROUP (ORDER BY "customers"."age") AS "med:age:ok" FROM "public"."customers" "customers"
HAVING (COUNT(1) > 0);
