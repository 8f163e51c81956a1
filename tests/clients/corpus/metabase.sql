-- Metabase: over pgjdbc, with every name as "schema"."table"."column", and questions as subqueries called "source".

-- look the driver asks who is there
SELECT current_schema(), current_database(), current_user;
-- look the time zone of a report
SHOW TIMEZONE;
-- look the version
-- rows: the version of the copy is another minor one
SELECT version();
-- look a connection is alive
SELECT 1;
-- look schemas
SELECT nspname AS table_schem, NULL AS table_catalog FROM pg_catalog.pg_namespace
WHERE nspname <> 'pg_toast' AND (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1])
  AND (nspname !~ '^pg_toast_temp_' OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_'))
ORDER BY table_schem;
-- look tables of a schema
-- but: estimated_row_count: no statistics are kept
SELECT n.nspname AS schema, c.relname AS name,
  CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW'
    WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS type,
  d.description AS description, NULLIF(stat.n_live_tup, 0) AS estimated_row_count
FROM pg_catalog.pg_class AS c
INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
LEFT JOIN pg_catalog.pg_description AS d ON c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
LEFT JOIN pg_stat_user_tables AS stat ON n.nspname = stat.schemaname AND c.relname = stat.relname
WHERE c.relnamespace = n.oid AND n.nspname !~ '^information_schema|catalog_history|pg_'
  AND c.relkind IN ('r', 'p', 'v', 'f', 'm') AND n.nspname IN ('public')
ORDER BY type, schema, name;
-- look columns of tables and of materialized views
SELECT c.column_name AS "name",
  CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN format('%s', c.udt_name)
    ELSE format('"%s"."%s"', c.udt_schema, c.udt_name) END AS "database-type",
  c.ordinal_position - 1 AS "database-position", c.table_schema AS "table-schema", c.table_name AS "table-name",
  pk.column_name IS NOT NULL AS "pk?",
  col_description(CAST(CAST(format('%I.%I', CAST(c.table_schema AS text), CAST(c.table_name AS text)) AS regclass) AS oid),
    c.ordinal_position) AS "field-comment",
  ((column_default IS NULL OR LOWER(column_default) = 'null') AND is_nullable = 'NO'
    AND NOT ((column_default IS NOT NULL AND column_default LIKE '%nextval(%') OR is_identity <> 'NO')) AS "database-required",
  ((column_default IS NOT NULL AND column_default LIKE '%nextval(%') OR is_identity <> 'NO') AS "database-is-auto-increment"
FROM information_schema.columns AS c
LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc
    INNER JOIN information_schema.key_column_usage AS kc ON tc.constraint_name = kc.constraint_name
      AND tc.table_schema = kc.table_schema AND tc.table_name = kc.table_name
    WHERE tc.constraint_type = 'PRIMARY KEY') AS pk
  ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name AND c.column_name = pk.column_name
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND c.table_schema IN ('public')
UNION ALL
SELECT pa.attname AS "name",
  CASE WHEN ptn.nspname IN ('public', 'pg_catalog') THEN format('%s', pt.typname)
    ELSE format('"%s"."%s"', ptn.nspname, pt.typname) END AS "database-type",
  pa.attnum - 1 AS "database-position", pn.nspname AS "table-schema", pc.relname AS "table-name", FALSE AS "pk?",
  NULL AS "field-comment", FALSE AS "database-required", FALSE AS "database-is-auto-increment"
FROM pg_catalog.pg_class AS pc
INNER JOIN pg_catalog.pg_namespace AS pn ON pn.oid = pc.relnamespace
INNER JOIN pg_catalog.pg_attribute AS pa ON pa.attrelid = pc.oid
INNER JOIN pg_catalog.pg_type AS pt ON pt.oid = pa.atttypid
INNER JOIN pg_catalog.pg_namespace AS ptn ON ptn.oid = pt.typnamespace
WHERE pc.relkind = 'm' AND pa.attnum >= 1 AND pn.nspname IN ('public')
ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC;
-- look foreign keys
SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname AS "fk-table-name", fk_column.attname AS "fk-column-name",
  pk_ns.nspname AS "pk-table-schema", pk_table.relname AS "pk-table-name", pk_column.attname AS "pk-column-name"
FROM pg_catalog.pg_constraint AS c
INNER JOIN pg_catalog.pg_class AS fk_table ON c.conrelid = fk_table.oid
INNER JOIN pg_catalog.pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid
INNER JOIN pg_catalog.pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid
INNER JOIN pg_catalog.pg_class AS pk_table ON c.confrelid = pk_table.oid
INNER JOIN pg_catalog.pg_namespace AS pk_ns ON pk_table.relnamespace = pk_ns.oid
INNER JOIN pg_catalog.pg_attribute AS pk_column ON c.confrelid = pk_column.attrelid
WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND c.contype = 'f'::char
  AND fk_column.attnum = ANY(c.conkey) AND pk_column.attnum = ANY(c.confkey) AND fk_ns.nspname IN ('public')
ORDER BY "fk-table-schema" ASC, "fk-table-name" ASC;
-- look indexes
SELECT tmp."table-schema", tmp."table-name",
  trim(BOTH '"' FROM pg_catalog.pg_get_indexdef(tmp.ci_oid, tmp.pos, FALSE)) AS "field-name"
FROM (SELECT n.nspname AS "table-schema", ct.relname AS "table-name", ci.oid AS ci_oid,
    (information_schema._pg_expandarray(i.indkey)).n AS pos
  FROM pg_catalog.pg_class AS ct
  INNER JOIN pg_catalog.pg_namespace AS n ON ct.relnamespace = n.oid
  INNER JOIN pg_catalog.pg_index AS i ON ct.oid = i.indrelid
  INNER JOIN pg_catalog.pg_class AS ci ON ci.oid = i.indexrelid
  WHERE pg_catalog.pg_get_expr(i.indpred, i.indrelid) IS NULL AND n.nspname !~ '^information_schema|catalog_history|pg_') AS tmp
WHERE tmp.pos = 1;
-- look what the user may do
SELECT NULL AS role, t.schemaname AS schema, t.objectname AS table,
  pg_catalog.has_any_column_privilege(current_user, format('%I.%I', t.schemaname, t.objectname), 'update') AS update,
  pg_catalog.has_any_column_privilege(current_user, format('%I.%I', t.schemaname, t.objectname), 'select') AS select,
  pg_catalog.has_any_column_privilege(current_user, format('%I.%I', t.schemaname, t.objectname), 'insert') AS insert,
  pg_catalog.has_table_privilege(current_user, format('%I.%I', t.schemaname, t.objectname), 'delete') AS delete
FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables
  UNION SELECT schemaname, viewname AS objectname FROM pg_catalog.pg_views
  UNION SELECT schemaname, matviewname AS objectname FROM pg_catalog.pg_matviews) AS t
WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema'
  AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage');
-- look enumerations
SELECT nspname, typname, enumlabel FROM pg_catalog.pg_enum AS e
INNER JOIN pg_catalog.pg_type AS t ON t.oid = e.enumtypid
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace ORDER BY nspname, typname, e.enumsortorder;
-- look may a table be read
SELECT TRUE AS "_" FROM "public"."orders" WHERE 1 <> 1 LIMIT 0;
-- look the same of a public table
SELECT TRUE AS "_" FROM "public"."countries" WHERE 1 <> 1 LIMIT 0;
-- look the same of a protected view
SELECT TRUE AS "_" FROM "public"."customers_open" WHERE 1 <> 1 LIMIT 0;

-- refuse 42501 fingerprints of columns read rows
-- why: rows of people are not shown
SELECT SUBSTRING("public"."orders"."status", 1, 1234) AS "substring", "public"."orders"."amount" AS "amount"
FROM "public"."orders" LIMIT 10000;
-- refuse 42501 the table itself
-- why: rows of people are not shown
SELECT "public"."orders"."id" AS "id", "public"."orders"."status" AS "status" FROM "public"."orders" LIMIT 2000;
-- ask the table itself, where it is public
SELECT "public"."countries"."code" AS "code", "public"."countries"."name" AS "name",
  "public"."countries"."population" AS "population", "public"."countries"."area" AS "area",
  "public"."countries"."founded" AS "founded", "public"."countries"."eu" AS "eu"
FROM "public"."countries" ORDER BY "public"."countries"."code" ASC LIMIT 2000;
-- ask values of a field
SELECT "public"."customers"."country" AS "country" FROM "public"."customers"
GROUP BY "public"."customers"."country" ORDER BY "public"."customers"."country" ASC LIMIT 1000;
-- ask values of a field of a public table
SELECT "public"."countries"."region" AS "region" FROM "public"."countries"
WHERE "public"."countries"."region" IS NOT NULL
GROUP BY "public"."countries"."region" ORDER BY "public"."countries"."region" ASC LIMIT 1000;
-- ask how many
SELECT COUNT(*) AS "count" FROM "public"."orders";
-- ask by status
SELECT "public"."orders"."status" AS "status", COUNT(*) AS "count" FROM "public"."orders"
GROUP BY "public"."orders"."status" ORDER BY "public"."orders"."status" ASC;
-- ask the largest first
SELECT "public"."orders"."status" AS "status", SUM("public"."orders"."amount") AS "sum" FROM "public"."orders"
GROUP BY "public"."orders"."status" ORDER BY "sum" DESC, "public"."orders"."status" ASC LIMIT 3;
-- ask several measures
SELECT "public"."customers"."segment" AS "segment", COUNT(*) AS "count", AVG("public"."customers"."age") AS "avg",
  SUM("public"."customers"."income") AS "sum", STDDEV_POP("public"."customers"."age") AS "stddev"
FROM "public"."customers" GROUP BY "public"."customers"."segment" ORDER BY "public"."customers"."segment" ASC;
-- ask distinct values
SELECT COUNT(DISTINCT "public"."orders"."customer_id") AS "count" FROM "public"."orders"
WHERE "public"."orders"."status" = 'paid';
-- ask by month
SELECT DATE_TRUNC('month', "public"."orders"."created_at") AS "created_at", COUNT(*) AS "count" FROM "public"."orders"
GROUP BY DATE_TRUNC('month', "public"."orders"."created_at") ORDER BY DATE_TRUNC('month', "public"."orders"."created_at") ASC;
-- ask by month of a date
SELECT CAST(DATE_TRUNC('month', "public"."orders"."ordered_on") AS date) AS "ordered_on",
  SUM("public"."orders"."amount") AS "sum"
FROM "public"."orders" GROUP BY CAST(DATE_TRUNC('month', "public"."orders"."ordered_on") AS date)
ORDER BY CAST(DATE_TRUNC('month', "public"."orders"."ordered_on") AS date) ASC;
-- ask by day
SELECT CAST("public"."orders"."created_at" AS date) AS "created_at", COUNT(*) AS "count" FROM "public"."orders"
GROUP BY CAST("public"."orders"."created_at" AS date) ORDER BY CAST("public"."orders"."created_at" AS date) ASC LIMIT 5;
-- ask by week that starts on Sunday
-- keys: 1
SELECT (DATE_TRUNC('week', ("public"."orders"."created_at" + INTERVAL '1 day')) + INTERVAL '-1 day') AS "created_at",
  COUNT(*) AS "count"
FROM "public"."orders"
GROUP BY (DATE_TRUNC('week', ("public"."orders"."created_at" + INTERVAL '1 day')) + INTERVAL '-1 day')
ORDER BY (DATE_TRUNC('week', ("public"."orders"."created_at" + INTERVAL '1 day')) + INTERVAL '-1 day') ASC;
-- ask by hour of the day
SELECT CAST(extract(hour from "public"."orders"."created_at") AS integer) AS "created_at", COUNT(*) AS "count"
FROM "public"."orders" GROUP BY CAST(extract(hour from "public"."orders"."created_at") AS integer)
ORDER BY CAST(extract(hour from "public"."orders"."created_at") AS integer) ASC;
-- ask by bins
-- keys: 1
SELECT FLOOR(("public"."orders"."amount" / 100.0)) * 100.0 AS "amount", COUNT(*) AS "count" FROM "public"."orders"
GROUP BY FLOOR(("public"."orders"."amount" / 100.0)) * 100.0 ORDER BY FLOOR(("public"."orders"."amount" / 100.0)) * 100.0 ASC;
-- ask by bins from an offset
SELECT ((FLOOR((("public"."customers"."age" - 10.0) / 10.0)) * 10.0) + 10.0) AS "age", COUNT(*) AS "count"
FROM "public"."customers" GROUP BY ((FLOOR((("public"."customers"."age" - 10.0) / 10.0)) * 10.0) + 10.0)
ORDER BY ((FLOOR((("public"."customers"."age" - 10.0) / 10.0)) * 10.0) + 10.0) ASC;
-- ask in a range of time
SELECT COUNT(*) AS "count" FROM "public"."orders"
WHERE ("public"."orders"."created_at" >= timestamp '2024-02-01 00:00:00.000')
  AND ("public"."orders"."created_at" < timestamp '2024-03-01 00:00:00.000');
-- ask in a range of time with a zone
SELECT COUNT(*) AS "count" FROM "public"."orders"
WHERE "public"."orders"."created_at" >= timestamp with time zone '2024-02-01 00:00:00.000Z'
  AND "public"."orders"."created_at" < timestamp with time zone '2024-03-01 00:00:00.000Z';
-- ask in the last years
SELECT COUNT(*) AS "count" FROM "public"."orders"
WHERE "public"."orders"."created_at" >= DATE_TRUNC('day', (NOW() + INTERVAL '-7300 day'))
  AND "public"."orders"."created_at" < DATE_TRUNC('day', NOW());
-- ask in this year and the ones before
SELECT CAST("public"."orders"."ordered_on" AS date) AS "ordered_on", COUNT(*) AS "count" FROM "public"."orders"
WHERE "public"."orders"."ordered_on" >= CAST((CAST(NOW() AS date) + INTERVAL '-20 year') AS date)
GROUP BY CAST("public"."orders"."ordered_on" AS date) ORDER BY CAST("public"."orders"."ordered_on" AS date) ASC LIMIT 10;
-- ask with values of filters
-- parameters: ["paid", "100"]
SELECT COUNT(*) AS "count" FROM "public"."orders"
WHERE ("public"."orders"."status" = $1) AND ("public"."orders"."amount" > $2);
-- ask with a list of values
-- parameters: ["paid", "new"]
SELECT "public"."orders"."status" AS "status", AVG("public"."orders"."amount") AS "avg" FROM "public"."orders"
WHERE ("public"."orders"."status" = $1 OR "public"."orders"."status" = $2)
GROUP BY "public"."orders"."status" ORDER BY "public"."orders"."status" ASC;
-- ask what is not
SELECT COUNT(*) AS "count" FROM "public"."orders"
WHERE (("public"."orders"."status" <> 'new') OR ("public"."orders"."status" IS NULL));
-- ask what contains a text
SELECT COUNT(*) AS "count" FROM "public"."orders" WHERE (LOWER("public"."orders"."status") LIKE '%a%');
-- ask across a foreign key
SELECT "Customer"."country" AS "Customer__country", COUNT(*) AS "count" FROM "public"."orders"
LEFT JOIN "public"."customers" AS "Customer" ON "public"."orders"."customer_id" = "Customer"."id"
GROUP BY "Customer"."country" ORDER BY "Customer"."country" ASC;
-- ask across two tables, one of them public
-- keys: 1
SELECT "Countries"."region" AS "Countries__region", SUM("public"."orders"."amount") AS "sum" FROM "public"."orders"
LEFT JOIN "public"."customers" AS "Customer" ON "public"."orders"."customer_id" = "Customer"."id"
LEFT JOIN "public"."countries" AS "Countries" ON "Customer"."country" = "Countries"."code"
GROUP BY "Countries"."region" ORDER BY "Countries"."region" ASC;
-- ask a custom column
SELECT "source"."large" AS "large", COUNT(*) AS "count"
FROM (SELECT "public"."orders"."amount" AS "amount",
    CASE WHEN "public"."orders"."amount" > 250 THEN 'large' ELSE 'small' END AS "large" FROM "public"."orders") AS "source"
GROUP BY "source"."large" ORDER BY "source"."large" ASC;
-- ask a share
SELECT SUM(CASE WHEN "public"."orders"."status" = 'paid' THEN 1 ELSE 0.0 END) / COUNT(*) AS "share" FROM "public"."orders";
-- ask how many where
SELECT COUNT(CASE WHEN "public"."orders"."amount" > 100 THEN 1 END) AS "count_where",
  SUM(CASE WHEN "public"."orders"."amount" > 100 THEN "public"."orders"."quantity" ELSE 0.0 END) AS "sum_where"
FROM "public"."orders";
-- ask medians
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "public"."orders"."amount") AS "median" FROM "public"."orders";
-- ask a question of a question
SELECT "source"."status" AS "status", "source"."count" AS "count"
FROM (SELECT "public"."orders"."status" AS "status", COUNT(*) AS "count" FROM "public"."orders"
  GROUP BY "public"."orders"."status" ORDER BY "public"."orders"."status" ASC) AS "source"
WHERE "source"."count" > 100 ORDER BY "source"."status" ASC LIMIT 1048575;
-- ask a total that runs on
SELECT DATE_TRUNC('month', "public"."orders"."created_at") AS "created_at",
  SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', "public"."orders"."created_at") ASC ROWS UNBOUNDED PRECEDING) AS "count"
FROM "public"."orders" GROUP BY DATE_TRUNC('month', "public"."orders"."created_at")
ORDER BY DATE_TRUNC('month', "public"."orders"."created_at") ASC;
-- ask least and most
SELECT MIN("public"."countries"."population") AS "min", MAX("public"."countries"."population") AS "max" FROM "public"."countries";
-- ask a native question that Metabase wraps
SELECT "source"."country" AS "country", "source"."n" AS "n"
FROM (SELECT country, count(*) AS n FROM customers GROUP BY country) AS "source" ORDER BY "source"."country" ASC LIMIT 1048575;
-- ask a model of raw columns
SELECT "source"."segment" AS "segment", AVG("source"."income") AS "avg"
FROM (SELECT "public"."customers"."id" AS "id", "public"."customers"."segment" AS "segment",
    "public"."customers"."income" AS "income" FROM "public"."customers") AS "source"
GROUP BY "source"."segment" ORDER BY "source"."segment" ASC;
-- ask by year, quarter and age
SELECT DATE_TRUNC('year', "public"."customers"."signed_up") AS "signed_up",
  DATE_TRUNC('quarter', "public"."customers"."signed_up") AS "signed_up_2", COUNT(*) AS "count"
FROM "public"."customers"
GROUP BY DATE_TRUNC('year', "public"."customers"."signed_up"), DATE_TRUNC('quarter', "public"."customers"."signed_up")
HAVING COUNT(*) > 1 ORDER BY 1 ASC, 2 ASC;
