SELECT 1
SELECT -1
SELECT 1.5
SELECT -1.50
SELECT 3000000000
SELECT 99999999999999999999
SELECT 1e3
SELECT 1.5e-3
SELECT 'a'
SELECT NULL
SELECT true
SELECT 1 + 1
SELECT 1 + 1.5
SELECT 1.5 * 2.25
SELECT 7 / 2
SELECT -7 / 2
SELECT 1.0 / 3
SELECT 1 / 3.0
SELECT 7 % 3
SELECT -7 % 3
SELECT 7.5 % 2
SELECT 2147483647 + 1
SELECT 2147483647::int8 + 1
SELECT 1::int2 + 1::int2
SELECT 1::int2 + 1
SELECT 1 * 1::int8
SELECT 2.5::int
SELECT -2.5::int
SELECT (-2.5)::int
SELECT 0.5::int
SELECT 1.5::int
SELECT 2.5::float8::int
SELECT 0.5::float8::int
SELECT 1.5::float8::int
SELECT (-2.5)::float8::int
SELECT 3.5::float8::int8
SELECT 2.5::float4::int2
SELECT 2.5::numeric::int8
SELECT '42'::int
SELECT ' 42 '::int
SELECT '42.5'::int
SELECT '1.5'::float8
SELECT '1.5'::float4
SELECT 0.1::float4
SELECT 0.1::float8
SELECT 1.1::float4 + 1.1::float4
SELECT 0.1::float4::float8
SELECT 0.1::float8 + 0.2::float8
SELECT 1::float8 / 3
SELECT 1::float4 / 3
SELECT 1e10::float8
SELECT 1e300::float8 * 10
SELECT 'nan'::float8
SELECT 'Infinity'::float8
SELECT 100::numeric
SELECT 100.10::numeric
SELECT 1.005::numeric(10,2)
SELECT 2.5::numeric(3,0)
SELECT 12345.678::numeric(10,1)
SELECT 1::numeric / 3
SELECT 1.10 + 2.20
SELECT 1.10::text
SELECT 1.5::numeric::text
SELECT 100::numeric::text
SELECT 1.0::numeric::text
SELECT 1.50 = 1.5
SELECT 1::text
SELECT true::text
SELECT 't'::bool
SELECT 'yes'::bool
SELECT 'off'::boolean
SELECT 1::bool
SELECT true::int
SELECT 0.1::float8::text
SELECT 0.1::float4::text
SELECT 1e15::float8::text
SELECT 100::float8::text
SELECT '\x41'::bytea
SELECT '\x41'::bytea::text
SELECT 'abc'::bytea
SELECT 'abc'::bytea::text
SELECT E'\\x4142'::bytea
SELECT 'a' || 'b'
SELECT 'a' || 1
SELECT 1 || 'a'
SELECT 'a' || 1.5
SELECT 'a' || 0.1::float8
SELECT 'a' || 100::float8
SELECT 'a' || true
SELECT 'a' || NULL
SELECT 'a' || ARRAY[1,2]::text
SELECT concat('a', 1, NULL, 1.5, true)
SELECT concat('a', 0.1::float8)
SELECT concat('a', 100::float8)
SELECT concat(1::float4, 'x')
SELECT concat('d', date '2024-01-02')
SELECT concat(1, 2)
SELECT concat_ws(',', 'a', NULL, 'b', 1)
SELECT concat_ws(',', 1, 2.50, true)
SELECT concat_ws('-', 2024::text, 1::text)
SELECT upper('abc')
SELECT lower('ABC')
SELECT length('abc')
SELECT char_length('abc')
SELECT character_length('abc')
SELECT substring('abcdef' from 2 for 3)
SELECT substring('abcdef', 2)
SELECT substring('abcdef', 0, 3)
SELECT substring('abcdef', -1, 4)
SELECT substr('abcdef', 2, 2)
SELECT left('abc', 2)
SELECT left('abc', -1)
SELECT right('abc', 2)
SELECT right('abc', -1)
SELECT trim('  a ')
SELECT trim(both 'x' from 'xax')
SELECT trim(leading 'x' from 'xax')
SELECT ltrim('  a')
SELECT rtrim('a  ')
SELECT btrim('xax', 'x')
SELECT replace('abc', 'b', 'x')
SELECT reverse('abc')
SELECT split_part('a,b,c', ',', 2)
SELECT split_part('a,b,c', ',', -1)
SELECT split_part('a,b,c', ',', 9)
SELECT position('b' in 'abc')
SELECT strpos('abc', 'c')
SELECT translate('abc', 'ab', 'xy')
SELECT starts_with('abc', 'a')
SELECT 'abc' LIKE 'a%'
SELECT 'abc' ILIKE 'A%'
SELECT 'abc' NOT LIKE 'a_c'
SELECT 'abc' ~ '^a'
SELECT 'ABC' ~* '^a'
SELECT 'abc' !~ 'x'
SELECT regexp_replace('abcabc', 'b', 'x')
SELECT regexp_replace('abcabc', 'b', 'x', 'g')
SELECT regexp_replace('abc', '(b)', '[\1]')
SELECT string_to_array('a,b,c', ',')
SELECT string_to_array('', ',')
SELECT array_to_string(ARRAY['a','b',NULL], ',')
SELECT array_to_string(ARRAY['a','b',NULL], ',', '*')
SELECT array_to_string(ARRAY[1,2], ',')
SELECT array_to_string(ARRAY[1.5::float8, 2], ',')
SELECT array_to_string(ARRAY[true,false], ',')
SELECT format('%s-%I', 'a', 'b c')
SELECT format('%s', 1.5)
SELECT format('%s', 0.1::float8)
SELECT quote_literal(1)
SELECT quote_literal('a\b')
SELECT quote_ident('A')
SELECT quote_nullable(NULL)
SELECT to_char(date '2024-03-05', 'YYYY-MM-DD')
SELECT date '2024-01-02'
SELECT '2024-01-02'::date
SELECT '2024-01-02'::timestamp
SELECT timestamp '2024-01-02 03:04:05.678'
SELECT '2024-01-02 03:04:05+02'::timestamptz
SELECT '03:04:05'::time
SELECT '1 day'::interval
SELECT interval '1 month 2 days'
SELECT date '2024-01-31' - date '2024-01-01'
SELECT date '2024-01-31' + 1
SELECT date '2024-01-31' - 1
SELECT 1 + date '2024-01-31'
SELECT date '2024-01-31' + interval '1 month'
SELECT date '2024-01-31' - interval '1 day'
SELECT timestamp '2024-01-02 00:00:00' - timestamp '2024-01-01 12:00:00'
SELECT timestamp '2024-03-02 00:00:00' - timestamp '2024-01-01 12:00:00'
SELECT timestamp '2024-01-02' - date '2024-01-01'
SELECT timestamp '2024-01-02 00:00:00' + interval '1 hour'
SELECT interval '1 hour' * 2
SELECT 2 * interval '1 hour'
SELECT interval '1 hour' / 2
SELECT interval '1 day' + interval '2 hours'
SELECT -interval '1 day'
SELECT extract(year from date '2024-01-02')
SELECT extract(epoch from timestamp '2024-01-02')
SELECT extract(epoch from timestamp '2024-01-02 00:00:00.5')
SELECT extract(second from timestamp '2024-01-02 03:04:05.678')
SELECT extract(dow from date '2024-01-07')
SELECT extract(isodow from date '2024-01-07')
SELECT extract(doy from date '2024-01-07')
SELECT extract(week from date '2024-01-07')
SELECT extract(quarter from date '2024-05-07')
SELECT extract(hour from time '03:04:05')
SELECT extract(day from interval '3 days 4 hours')
SELECT extract(epoch from interval '1 hour')
SELECT extract(milliseconds from timestamp '2024-01-02 03:04:05.678')
SELECT extract(century from date '2024-01-01')
SELECT date_part('year', date '2024-01-02')
SELECT date_part('epoch', timestamp '2024-01-02')
SELECT date_part('second', timestamp '2024-01-02 03:04:05.5')
SELECT pg_typeof(now())
SELECT pg_typeof(current_date)
SELECT now() IS NOT NULL
SELECT current_date IS NOT NULL
SELECT current_timestamp - current_timestamp
SELECT current_date - current_date
SELECT now()::date = current_date
SELECT now() - interval '1 day' < now()
SELECT date '2024-01-02'::text
SELECT timestamp '2024-01-02 03:04:05'::text
SELECT timestamptz '2024-01-02 03:04:05+00'::text
SELECT time '03:04'::text
SELECT date '2024-01-02'::timestamp
SELECT timestamp '2024-01-02 03:04:05'::date
SELECT timestamp '2024-01-02 03:04:05'::time
SELECT date '2024-01-02' = '2024-01-02'
SELECT date '2024-01-02' < timestamp '2024-01-02 01:00'
SELECT date '2024-01-02' BETWEEN '2024-01-01' AND '2024-01-03'
SELECT ARRAY[1,2,3]
SELECT ARRAY['a','b']
SELECT ARRAY[1.5::float8]
SELECT ARRAY[]::int[]
SELECT ARRAY[]::text[]
SELECT '{1,2}'::int[]
SELECT '{a,b}'::text[]
SELECT ARRAY[NULL,1]
SELECT ARRAY[ARRAY[1,2],ARRAY[3,4]]
SELECT ARRAY[true]
SELECT ARRAY[date '2024-01-01']
SELECT (ARRAY[1,2,3])[1]
SELECT (ARRAY[1,2,3])[2:3]
SELECT (ARRAY[1,2,3])[5]
SELECT (ARRAY[1,2,3])[-1]
SELECT (ARRAY['a','b'])[1]
SELECT ('{1,2}'::int[])[2]
SELECT array_length(ARRAY[1,2],1)
SELECT array_length(ARRAY[]::int[],1)
SELECT array_upper(ARRAY[1,2],1)
SELECT cardinality(ARRAY[1,2])
SELECT array_append(ARRAY[1,2], 3)
SELECT array_prepend(0, ARRAY[1,2])
SELECT array_cat(ARRAY[1], ARRAY[2])
SELECT array_remove(ARRAY[1,2,1], 1)
SELECT array_position(ARRAY['a','b'], 'b')
SELECT array_position(ARRAY[1,2], 5)
SELECT ARRAY[1] || ARRAY[2]
SELECT ARRAY[1] || 2
SELECT 1 || ARRAY[2]
SELECT ARRAY[1,2] @> ARRAY[1]
SELECT ARRAY[1] <@ ARRAY[1,2]
SELECT ARRAY[1,2] && ARRAY[2,3]
SELECT ARRAY[1,2] = ARRAY[1,2]
SELECT ARRAY[1,2] < ARRAY[1,3]
SELECT 1 = ANY(ARRAY[1,2])
SELECT 1 = ANY('{1,2}')
SELECT 1 = ANY('{1,2}'::int[])
SELECT 'a' = ANY('{a,b}')
SELECT 3 = ALL(ARRAY[3,3])
SELECT 1 <> ALL(ARRAY[2,3])
SELECT 1 < ANY(ARRAY[0,2])
SELECT NULL = ANY(ARRAY[1])
SELECT 1 = ANY(ARRAY[2,NULL])
SELECT unnest(ARRAY[1,2])
SELECT * FROM unnest(ARRAY[1,2])
SELECT * FROM unnest(ARRAY['a','b']) AS t(x)
SELECT * FROM unnest(ARRAY['a','b']) WITH ORDINALITY
SELECT generate_series(1,3)
SELECT * FROM generate_series(1,3)
SELECT * FROM generate_series(1,3) AS g
SELECT g FROM generate_series(1,3) g
SELECT * FROM generate_series(1,3) AS g(n)
SELECT * FROM generate_series(1,10,3)
SELECT * FROM generate_series(1::int8,3)
SELECT count(*) FROM generate_series(1,5)
SELECT sum(x) FROM generate_series(1,5) x
SELECT min(x), max(x) FROM generate_series(1,4) x
SELECT sum(x::numeric) FROM generate_series(1,4) x
SELECT sum(x::float8) FROM generate_series(1,4) x
SELECT sum(x::int8) FROM generate_series(1,4) x
SELECT sum(x::int2) FROM generate_series(1,4) x
SELECT avg(x::float8) FROM generate_series(1,4) x
SELECT count(DISTINCT x) FROM generate_series(1,4) x
SELECT array_agg(x) FROM generate_series(1,4) x
SELECT array_agg(x ORDER BY x DESC) FROM generate_series(1,4) x
SELECT array_agg(x) FROM generate_series(1,0) x
SELECT string_agg(x::text, ',') FROM generate_series(1,4) x
SELECT string_agg(x::text, ',' ORDER BY x DESC) FROM generate_series(1,4) x
SELECT bool_and(x > 0), bool_or(x > 3), every(x > 1) FROM generate_series(1,4) x
SELECT max('a')
SELECT min(date '2024-01-01')
SELECT row_number() OVER (ORDER BY x) FROM generate_series(1,2) x
SELECT sum(x) OVER (ORDER BY x) FROM generate_series(1,3) x
SELECT count(*) FILTER (WHERE x > 1) FROM generate_series(1,3) x
SELECT abs(-5)
SELECT abs(-5.5)
SELECT abs(-5::float8)
SELECT ceil(1.2)
SELECT ceiling(1.2)
SELECT ceil(1.2::float8)
SELECT ceil(5)
SELECT floor(-1.2)
SELECT floor(1.7::float8)
SELECT round(1.5)
SELECT round(2.5)
SELECT round(2.5::float8)
SELECT round(-2.5)
SELECT round(1.2345, 2)
SELECT round(5)
SELECT round(1234.5, -2)
SELECT sign(-5)
SELECT sign(-5.5)
SELECT sign(-5::float8)
SELECT mod(7, 3)
SELECT mod(7.5, 2)
SELECT greatest(1, 2, 3)
SELECT greatest(1, NULL, 3)
SELECT least(1.5, 2)
SELECT greatest('a', 'b')
SELECT coalesce(NULL, 1)
SELECT coalesce(NULL, 'a')
SELECT coalesce(NULL, NULL)
SELECT nullif(1, 1)
SELECT nullif(1, 2)
SELECT nullif('a', 'b')
SELECT CASE WHEN true THEN 1 ELSE 2 END
SELECT CASE WHEN true THEN 'a' END
SELECT CASE 1 WHEN 1 THEN 'one' ELSE 'other' END
SELECT CASE WHEN false THEN 1 END
SELECT CASE WHEN true THEN NULL ELSE 2 END
SELECT 1 = 1
SELECT 1 <> 2
SELECT 1 != 2
SELECT 1 < 2 AND 2 < 3
SELECT NOT true
SELECT NULL IS NULL
SELECT NULL = NULL
SELECT NULL AND false
SELECT 1 IS DISTINCT FROM NULL
SELECT 1 IS NOT DISTINCT FROM 1
SELECT true IS TRUE
SELECT NULL IS NOT TRUE
SELECT NULL IS UNKNOWN
SELECT 1 IN (1, 2)
SELECT 1 NOT IN (2, NULL)
SELECT 1 BETWEEN 0 AND 2
SELECT 'a' < 'B'
SELECT 'a' = 'A'
SELECT (1, 2) = (1, 2)
SELECT (1, 2) < (1, 3)
SELECT EXISTS (SELECT 1)
SELECT (SELECT 1)
SELECT (SELECT 'x' AS y)
SELECT 1 WHERE false
SELECT 1 AS a, 2 AS b
SELECT 1 AS "A b"
SELECT a.x FROM (SELECT 1 AS x) a
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(id, name)
SELECT * FROM (VALUES (1, NULL), (2, 'b')) AS t(id, name)
VALUES (1, 'a'), (2, 'b')
VALUES (1), (NULL)
SELECT 1 UNION SELECT 2 ORDER BY 1
SELECT 1 UNION ALL SELECT NULL
SELECT 'a' UNION ALL SELECT NULL
SELECT 1 INTERSECT SELECT 1
SELECT 1 EXCEPT SELECT 2
WITH t AS (SELECT 1 AS x) SELECT x + 1 FROM t
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT n FROM t
SELECT DISTINCT x FROM (VALUES (1), (1)) AS t(x)
SELECT x FROM (VALUES (3), (1), (NULL)) AS t(x) ORDER BY x
SELECT x FROM (VALUES (3), (1), (NULL)) AS t(x) ORDER BY x DESC
SELECT x FROM (VALUES (3), (1), (NULL)) AS t(x) ORDER BY x NULLS FIRST
SELECT x FROM (VALUES ('b'), ('A'), ('a')) AS t(x) ORDER BY x
SELECT 'x'::varchar
SELECT 'abcdef'::varchar(3)
SELECT 'ab'::char(4)
SELECT 'abc'::char
SELECT 'x'::name
SELECT 'x'::text
SELECT cast('5' AS integer)
SELECT cast(5 AS varchar(10))
SELECT cast(5 AS text)
SELECT cast(5.7 AS bigint)
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid
SELECT '{"a": 1}'::json
SELECT '{"a": 1}'::jsonb
SELECT row_to_json(t) FROM (SELECT 1 AS a, 'b' AS c) t
SELECT 'pg_class'::regclass
SELECT 'pg_class'::regclass::oid
SELECT 'pg_catalog.pg_class'::regclass::text
SELECT 1259::regclass
SELECT 'int4'::regtype
SELECT 23::regtype
SELECT 'integer'::regtype::oid
SELECT 'pg_catalog'::regnamespace
SELECT 'now'::regproc
SELECT to_regclass('pg_class')
SELECT to_regclass('nope')
SELECT to_regtype('int4')
SELECT 'nope'::regclass
SELECT 'nope'::regtype
SELECT 'nope'::regnamespace
SELECT 'nope'::regrole
SELECT 'nope'::regproc
SELECT pg_typeof(1)
SELECT pg_typeof('a')
SELECT pg_typeof(1.5)
SELECT pg_typeof(NULL)
SELECT pg_typeof(ARRAY[1])
SELECT pg_typeof(1::float4)
SELECT pg_typeof(date '2024-01-01' - date '2023-01-01')
SELECT pg_typeof('a'::varchar)
SELECT pg_typeof(interval '1 day')
SELECT 1::oid
SELECT 1::int8::oid
SELECT '5'::oid
SELECT oid::int FROM pg_class WHERE relname = 'pg_class'
SELECT version() IS NOT NULL
SELECT current_database() IS NOT NULL
SELECT current_schema
SELECT current_schema()
SELECT current_schemas(true)
SELECT current_setting('search_path')
SELECT current_setting('server_version_num')::int > 0
SELECT current_setting('nope', true)
SELECT current_setting('nope')
SELECT set_config('application_name', 'x', false)
SELECT pg_backend_pid() > 0
SELECT pg_is_in_recovery()
SELECT inet_server_addr()
SELECT inet_client_addr()
SELECT inet_server_port()
SELECT pg_size_pretty(1024::int8)
SELECT pg_size_pretty(123456789::int8)
SELECT pg_database_size('postgres') >= 0
SELECT has_table_privilege('pg_class', 'select')
SELECT has_schema_privilege('public', 'usage')
SELECT has_database_privilege(current_database(), 'connect')
SELECT pg_encoding_to_char(6)
SELECT format_type(23, NULL)
SELECT format_type(1043, 14)
SELECT format_type(1700, 655366)
SELECT format_type(1114, 3)
SELECT format_type(1042, 8)
SELECT obj_description(1259, 'pg_class')
SELECT col_description(1259, 1)
SELECT pg_table_is_visible(1259)
SELECT * FROM nope.nope
SELECT * FROM pg_catalog.nope
SELECT nope FROM pg_class
SELECT nope()
SELECT 1/0
SELECT 1.0/0
SELECT 'a'::int
SELECT 99999999999::int
SELECT 40000::int2
SELECT 'a' = 1
SELECT '5' = 5
SELECT '5' > 10
SELECT 2 & 3
SELECT 2 | 1
SELECT -(-5)
SELECT +5
SELECT 10 % 0
SELECT relname FROM pg_class WHERE relname = 'pg_class'
SELECT oid::regclass FROM pg_class WHERE oid = 1259
SELECT oid::regclass::text FROM pg_class WHERE oid = 1259
SELECT relname || 'x' FROM pg_class WHERE oid = 1259
SELECT upper(relname) FROM pg_class WHERE oid = 1259
SELECT max(relname) FROM pg_class WHERE oid = 1259
SELECT min(oid) FROM pg_class WHERE oid = 1259
SELECT coalesce(relname, 'x') FROM pg_class WHERE oid = 1259
SELECT CASE WHEN true THEN relname END FROM pg_class WHERE oid = 1259
SELECT CASE relkind WHEN 'r' THEN 'table' ELSE 'other' END FROM pg_class WHERE oid = 1259
SELECT relkind = 'r' FROM pg_class WHERE oid = 1259
SELECT relkind IN ('r','v') FROM pg_class WHERE oid = 1259
SELECT relkind::text FROM pg_class WHERE oid = 1259
SELECT array_agg(relname) FROM pg_class WHERE oid = 1259
SELECT array_agg(relname::text) FROM pg_class WHERE oid = 1259
SELECT array_agg(oid) FROM pg_class WHERE oid = 1259
SELECT array_agg(relkind) FROM pg_class WHERE oid = 1259
SELECT string_agg(relname, ',') FROM pg_class WHERE oid = 1259
SELECT ARRAY(SELECT relname FROM pg_class WHERE oid = 1259)
SELECT ARRAY(SELECT relname::text FROM pg_class WHERE oid = 1259)
SELECT ARRAY(SELECT oid FROM pg_class WHERE oid = 1259)
SELECT (SELECT relname FROM pg_class WHERE oid = 1259)
SELECT (array_agg(relname))[1] FROM pg_class WHERE oid = 1259
SELECT relname FROM pg_class WHERE oid = ANY(ARRAY[1259])
SELECT relname FROM pg_class WHERE oid = ANY('{1259}')
SELECT relname FROM pg_class WHERE relname = ANY(ARRAY['pg_class'])
SELECT relname FROM pg_class WHERE relname = ANY(ARRAY['pg_class']::name[])
SELECT relname FROM pg_class WHERE relname = ANY(current_schemas(false))
SELECT x.relname AS n, count(*) FROM pg_class x WHERE oid = 1259 GROUP BY x.relname
SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = 1259
SELECT c.* FROM (SELECT relname, oid, relkind FROM pg_class WHERE oid = 1259) c
SELECT s.n FROM (SELECT relname AS n FROM pg_class WHERE oid = 1259) s
WITH c AS (SELECT relname AS n, relkind AS k FROM pg_class WHERE oid = 1259) SELECT n, k FROM c
SELECT relname FROM pg_class WHERE oid = 1259 UNION SELECT 'zz' ORDER BY 1
SELECT relname::text FROM pg_class WHERE oid = 1259 UNION ALL SELECT 'zz'
SELECT typname, typtype, typlen, typcategory, typelem FROM pg_type WHERE oid = 23
SELECT t.typname, format_type(t.oid, NULL) FROM pg_type t WHERE t.oid = 1007
SELECT oid, typname, typarray FROM pg_type WHERE typname IN ('int4','text') ORDER BY 1
SELECT nspname, nspowner FROM pg_namespace WHERE nspname = 'pg_catalog'
SELECT count(*) >= 0 FROM pg_stat_activity
SELECT schema_name FROM information_schema.schemata WHERE schema_name = 'public'
SELECT proname FROM pg_proc WHERE proname = 'count' ORDER BY 1
SELECT count(*) FROM pg_class WHERE false
SELECT sum(relpages) FROM pg_class WHERE false
SELECT sum(reltuples) FROM pg_class WHERE false
SELECT reltuples::bigint FROM pg_class WHERE false
SELECT pg_relation_size(oid) FROM pg_class WHERE false
SELECT oid FROM pg_class WHERE relname = 'pg_class' LIMIT 1 OFFSET 0
SELECT relname FROM pg_class WHERE relname ~ '^pg_class$'
SELECT relname FROM pg_class WHERE relname LIKE 'pg\_class'
SELECT relname FROM pg_class ORDER BY relname = 'pg_class' DESC, relname LIMIT 1
SELECT indkey FROM pg_index WHERE false
SELECT indkey[0] FROM pg_index WHERE false
SELECT conkey, confkey, contype FROM pg_constraint WHERE false
SELECT conkey[1] FROM pg_constraint WHERE false
SELECT unnest(conkey) FROM pg_constraint WHERE false
SELECT generate_subscripts(conkey, 1) FROM pg_constraint WHERE false
SELECT to_char(now(), 'YYYY') = extract(year from now())::text
SELECT current_user = user
SELECT session_user = current_user
SELECT current_role = current_user
SELECT current_catalog = current_database()
SELECT 1 LIMIT 1
SELECT 1 LIMIT ALL
SELECT 1 OFFSET 0
SELECT 'it''s'
SELECT E'tab\tx'
SELECT .5
SELECT 5.
SELECT 'a'::"char"
SELECT '192.168.0.1'::inet
SELECT 1::int4 = 1::int8
SELECT true > false
SELECT 'true'::text::bool
SELECT '1'::text::int
SELECT 1.9::numeric::int
SELECT 1.5::float8::numeric
SELECT 0.1::float8::numeric
SELECT 0.1::float4::numeric
SELECT 123456789.123::float8::numeric
SELECT 3::int::float4
SELECT 16777217::float4
SELECT 1::float8
SELECT 1.0::float8
SELECT 1e-7::float8
SELECT 1e20::float8
SELECT 1e6::float4
SELECT 1e5::float4
SELECT 0.00000001
SELECT 1.5::decimal
SELECT 1.234567890123456789
SELECT 1234567890.1234567890123
SELECT 0.1 + 0.2
SELECT 1.1 * 1.1
SELECT 100 * 1.1
SELECT sum(x) FROM (VALUES (1.5), (2.25)) t(x)
SELECT max(x) FROM (VALUES (1.50), (2.25)) t(x)
SELECT count(*)::int FROM (VALUES (1), (2)) t(x)
SELECT timestamptz '2024-01-02 00:30:00+02'
SELECT timestamptz '2024-01-02 00:30:00+02'::text
SELECT timestamptz '2024-01-02 00:30:00+02'::date
SELECT timestamptz '2024-01-02 00:30:00+02'::timestamp
SELECT extract(hour from timestamptz '2024-01-02 00:30:00+02')
SELECT '2024-01-02'::timestamptz
SELECT '2024-01-02'::date::timestamptz
SELECT timestamp '2024-01-02 03:00'::timestamptz
SELECT to_char(timestamptz '2024-01-02 00:30:00+02', 'YYYY-MM-DD HH24:MI')
SELECT concat('x', timestamptz '2024-01-02 00:30:00+02')
SELECT 'x' || timestamp '2024-01-02 00:30:00'
SELECT 'x' || date '2024-01-02'
SELECT 'x' || interval '1 day 2 hours'
SELECT concat(interval '1 month')
SELECT interval '1 day'::text
SELECT (interval '1 day')::text
SELECT interval '1 year 2 months'
SELECT interval '90 minutes'
SELECT interval '1 day' > interval '1 hour'
SELECT interval '1 month' = interval '30 days'
SELECT date '2024-02-28' + 2
SELECT date '2024-01-31' + interval '1 month' + interval '1 day'
SELECT (date '2024-01-31')::text || 'x'
SELECT date '2024-01-31' > '2023-01-01'
SELECT date '2024-01-31' = timestamp '2024-01-31 00:00'
SELECT greatest(date '2024-01-31', date '2023-01-01')
SELECT coalesce(NULL::date, date '2024-01-01')
SELECT NULL::int
SELECT NULL::text
SELECT NULL::date
SELECT NULL::numeric(10,2)
SELECT NULL::int[]
SELECT NULL::regclass
SELECT NULL::jsonb
SELECT NULL::bytea
SELECT NULL + 1
SELECT NULL || 'a'
SELECT NULL::int + 1
SELECT length(NULL)
SELECT upper(NULL)
SELECT coalesce(NULL::int, NULL::int8)
SELECT '1' = 1
SELECT 1 = '1'
SELECT '1'::text = '1'
SELECT 1.0 = 1
SELECT 1.0::float8 = 1
SELECT 0.1::float8 = 0.1
SELECT 0.1::float4 = 0.1::float8
SELECT 3 > 2.5
SELECT 'abc' > 'abd'
SELECT true = 't'
SELECT true AND NULL
SELECT false OR NULL
SELECT NOT NULL
SELECT 1 IS NULL
SELECT 1 IS NOT NULL
SELECT NULL ISNULL
SELECT 1 NOTNULL
SELECT 'a' IS NOT DISTINCT FROM NULL
SELECT 5 BETWEEN 1 AND 10
SELECT 5 NOT BETWEEN 1 AND 10
SELECT 5 BETWEEN SYMMETRIC 10 AND 1
SELECT 'a' IN ('a', 'b')
SELECT 'a' NOT IN ('a', 'b')
SELECT 1 IN (SELECT 1)
SELECT (1,2) IN ((1,2),(3,4))
SELECT EXISTS (SELECT 1 WHERE false)
SELECT NOT EXISTS (SELECT 1 WHERE false)
SELECT 10 % 3
SELECT -10 % 3
SELECT 10.5 % 3
SELECT 7 / -2
SELECT 7::int8 / 2
SELECT 7::float8 / 2
SELECT 7::float4 / 2
SELECT 1/3.0::float8
SELECT 1.5::float8 * 2
SELECT 1e308::float8 * 1
SELECT 2147483648
SELECT -2147483648
SELECT -9223372036854775808
SELECT 9223372036854775807
SELECT 9223372036854775807 + 1
SELECT 9223372036854775808
SELECT 32767::int2 + 1::int2
SELECT 32767::int2 + 1
SELECT (-32768)::int2
SELECT 1.999::int
SELECT -1.5::int
SELECT 1e2::int
SELECT '1e2'::float8
SELECT '1e2'::numeric
SELECT '  1.50 '::numeric
SELECT '1,000'::int
SELECT ''::int
SELECT 'abc'::float8
SELECT 'abc'::numeric
SELECT 't'::boolean, 'f'::boolean, 'no'::boolean, '1'::boolean, '0'::boolean
SELECT 'tru'::boolean
SELECT 2::boolean
SELECT 0::boolean
SELECT true::text || 'x'
SELECT true || 'x'
SELECT true::int + 1
SELECT 5::text || 'x'
SELECT 5::varchar
SELECT 5::char(3)
SELECT 'abc'::char(2) || 'x'
SELECT 'ab'::char(4) = 'ab'
SELECT length('ab'::char(4))
SELECT 'ab'::char(4)::text || '|'
SELECT 'abc'::varchar(2) || 'x'
SELECT 1.10::numeric(5,1)
SELECT 1.15::numeric(5,1)
SELECT -1.15::numeric(5,1)
SELECT 1.005::numeric(10,2) + 1
SELECT 100::numeric(10,2)::text
SELECT 1.10::numeric::int
SELECT round(1.005::numeric, 2)
SELECT round(2.675, 2)
SELECT round(1.5::float8), round(0.5::float8), round(-0.5::float8), round(-1.5::float8)
SELECT round(10.0 / 3, 2)
SELECT ceil(-0.5)
SELECT floor(5)
SELECT ceil(1.5::float4)
SELECT abs(-1::int2)
SELECT abs(-1.50)
SELECT sign(0)
SELECT mod(-7, 3)
SELECT greatest(1, 2.5)
SELECT least('b', 'a')
SELECT greatest(NULL, NULL)
SELECT nullif(1.0, 1)
SELECT nullif('', '')
SELECT coalesce('a', 'b')
SELECT coalesce(NULL, '2024-01-01'::date)
SELECT CASE WHEN 1 > 2 THEN 'x' WHEN 2 > 1 THEN 'y' ELSE 'z' END
SELECT CASE 3 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END
SELECT CASE WHEN NULL THEN 1 ELSE 0 END
SELECT CASE WHEN true THEN 1::int2 ELSE 2::int8 END
SELECT CASE WHEN true THEN date '2024-01-01' ELSE timestamp '2024-01-01' END
SELECT CASE WHEN true THEN 'a'::varchar ELSE 'b'::text END
SELECT CASE WHEN true THEN 'a'::name ELSE 'b' END
SELECT length('')
SELECT length('a b ')
SELECT reverse('äb')
SELECT left('äöü', 2)
SELECT substring('abc', 5)
SELECT substring('abc' from 2)
SELECT substring('abc' for 2)
SELECT substr('abc', 0)
SELECT substr('abc', -1)
SELECT replace('aaa', 'a', 'b')
SELECT replace('abc', '', 'x')
SELECT split_part('abc', ',', 1)
SELECT split_part('a.b.c', '.', 3)
SELECT strpos('abc', '')
SELECT position('' in 'abc')
SELECT translate('12345', '143', 'ax')
SELECT btrim('  x  ')
SELECT trim(trailing from 'a  ')
SELECT trim('xyxtrimyyx', 'xy')
SELECT concat(NULL)
SELECT concat('a', NULL, 'b')
SELECT concat_ws(NULL, 'a', 'b')
SELECT concat_ws(',', NULL, NULL)
SELECT 'a' || NULL || 'b'
SELECT 'a%' LIKE 'a\%'
SELECT 'abc' LIKE '%b%' AND 'abc' NOT LIKE 'b%'
SELECT 'a_c' LIKE 'a\_c'
SELECT 'abc' LIKE 'a_c'
SELECT 'ABC' ILIKE 'abc'
SELECT 'abc' ~ 'a.c'
SELECT 'a.c' ~ 'a\.c'
SELECT 'foobar' ~ '(foo|bar)+'
SELECT 'abc' ~ '^[a-c]+$'
SELECT 'a1' ~ '\d'
SELECT regexp_replace('foo bar', '\s+', '_', 'g')
SELECT regexp_replace('abc', '(a)(b)', '\2\1')
SELECT regexp_replace('ABC', 'b', 'x', 'i')
SELECT regexp_replace('aaa', 'a', 'b')
SELECT string_to_array('a b', ' ')
SELECT string_to_array(NULL, ',')
SELECT (string_to_array('a,b,c', ','))[2]
SELECT array_to_string(ARRAY[1,NULL,3], ',', 'x')
SELECT array_to_string(ARRAY[]::int[], ',')
SELECT array_to_string('{a,b}'::text[], '-')
SELECT array_to_string(ARRAY[date '2024-01-01'], ',')
SELECT array_to_string(ARRAY[1.50, 2.25], ',')
SELECT array_length(NULL::int[], 1)
SELECT array_upper(ARRAY[1,2,3], 1)
SELECT array_lower(ARRAY[1,2,3], 1)
SELECT array_upper(ARRAY[]::int[], 1)
SELECT cardinality(ARRAY[]::int[])
SELECT ARRAY[1,2] || ARRAY[3]
SELECT ARRAY['a'] || 'b'::text
SELECT ARRAY[1,2]::text
SELECT ARRAY['a,b', 'c"d']::text
SELECT ARRAY[1,2]::text[]
SELECT ARRAY['1','2']::int[]
SELECT '{1,2,3}'::int[] @> ARRAY[2]
SELECT ARRAY[1,2] = '{1,2}'
SELECT ARRAY[1, NULL]
SELECT ARRAY[]::varchar[]
SELECT ARRAY['x'::name]
SELECT ARRAY[1::int2, 2]
SELECT (ARRAY[1,2,3])[0]
SELECT (ARRAY[1,2,3])[1:2]
SELECT (ARRAY[1,2,3])[2:]
SELECT (ARRAY[1,2,3])[:2]
SELECT (ARRAY[1,2,3])[5:6]
SELECT 1 = ANY (ARRAY[1,2]) AND 3 <> ALL (ARRAY[1,2])
SELECT 'a' = ANY (ARRAY['a'::text])
SELECT 'pg_class'::name = ANY (ARRAY['pg_class'])
SELECT 5 = ANY ('{1,5}'::int8[])
SELECT array_position(ARRAY[1,2,3], 2)
SELECT array_remove(ARRAY['a','b'], 'a')
SELECT array_append(ARRAY['a'], 'b')
SELECT array_agg(x) FROM unnest(ARRAY[3,1,2]) x
SELECT array_agg(x ORDER BY x) FROM unnest(ARRAY[3,1,2]) x
SELECT array_agg(DISTINCT x) FROM unnest(ARRAY[1,1]) x
SELECT string_agg(x, ', ' ORDER BY x) FROM unnest(ARRAY['b','a']) x
SELECT string_agg(x, ',') FROM unnest(ARRAY[]::text[]) x
SELECT string_agg(DISTINCT x, ',') FROM unnest(ARRAY['a','a']) x
SELECT count(*), count(x), count(DISTINCT x) FROM unnest(ARRAY[1,1,NULL]) x
SELECT sum(x), avg(x::float8), min(x), max(x) FROM unnest(ARRAY[1,2,3]) x
SELECT sum(x) FROM unnest(ARRAY[]::int[]) x
SELECT avg(x) FROM unnest(ARRAY[]::int[]) x
SELECT avg(x) FROM unnest(ARRAY[1,2,2]) x
SELECT avg(x)::int FROM unnest(ARRAY[1,2,2]) x
SELECT avg(x)::float8 FROM unnest(ARRAY[1,2,2]) x
SELECT round(avg(x)) FROM unnest(ARRAY[1,2,2]) x
SELECT sum(x)::int FROM unnest(ARRAY[1,2]) x
SELECT sum(x) / count(*) FROM unnest(ARRAY[1,2]) x
SELECT sum(x)::float8 / count(*) FROM unnest(ARRAY[1,2]) x
SELECT count(*) * 100.0 / 3 FROM unnest(ARRAY[1,2]) x
SELECT max(x) FROM unnest(ARRAY['a','b']) x
SELECT max(x) - min(x) FROM unnest(ARRAY[1,5]) x
SELECT bool_or(x) FROM unnest(ARRAY[true,false]) x
SELECT x, count(*) FROM unnest(ARRAY[1,1,2]) x GROUP BY x ORDER BY x
SELECT x % 2 AS k, sum(x) AS s FROM generate_series(1,4) x GROUP BY 1 ORDER BY 1
SELECT x % 2 AS k, sum(x) AS s FROM generate_series(1,4) x GROUP BY k HAVING sum(x) > 4
SELECT x, row_number() OVER (ORDER BY x DESC) FROM generate_series(1,2) x ORDER BY x
SELECT x, sum(x) OVER () FROM generate_series(1,2) x ORDER BY x
SELECT count(*) OVER () FROM generate_series(1,2) x
SELECT * FROM generate_series(1,2) a, generate_series(1,2) b ORDER BY 1, 2
SELECT a.x, b.y FROM (VALUES (1), (2)) a(x) LEFT JOIN (VALUES (1)) b(y) ON a.x = b.y ORDER BY 1
SELECT a.x FROM (VALUES (1), (2)) a(x) JOIN (VALUES (1)) b(x) USING (x)
SELECT * FROM (VALUES (1), (2)) a(x) JOIN (VALUES (1)) b(x) USING (x)
SELECT * FROM (SELECT 1 AS a, 'x' AS b) s
SELECT s.* FROM (SELECT 1 AS a, 'x'::varchar AS b) s
SELECT * FROM (SELECT 1) s
SELECT * FROM (SELECT 1 + 1) s
SELECT "?column?" FROM (SELECT 1 + 1) s
SELECT 1 AS "SELECT"
SELECT 1 x
SELECT 'a' AS name, 2 AS value, 3 AS type
SELECT DISTINCT ON (x) x, y FROM (VALUES (1,2),(1,3)) t(x,y) ORDER BY x, y
SELECT x FROM (VALUES (1),(2),(3)) t(x) ORDER BY x LIMIT 2
SELECT x FROM (VALUES (1),(2),(3)) t(x) ORDER BY x DESC OFFSET 1
SELECT x FROM (VALUES (2),(1)) t(x) ORDER BY 1
SELECT -x AS x FROM (VALUES (2),(1)) t(x) ORDER BY x
SELECT x FROM (VALUES ('b'),('a'),('C')) t(x) ORDER BY x COLLATE "C"
SELECT lower(x) FROM (VALUES ('B'),('a')) t(x) ORDER BY lower(x)
SELECT 1 UNION SELECT 1
SELECT 1 AS a UNION ALL SELECT 2 AS b
SELECT 'a' UNION SELECT 'b' ORDER BY 1
SELECT 1::int2 UNION SELECT 1::int8
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM b
WITH a(n) AS (VALUES (1), (2)) SELECT sum(n) FROM a
SELECT (SELECT count(*) FROM generate_series(1,3))
SELECT (SELECT max(x) FROM (VALUES (1.5)) t(x))
SELECT x, (SELECT count(*) FROM generate_series(1,x)) FROM generate_series(1,2) x ORDER BY 1
SELECT t.x FROM (VALUES (1)) t(x), LATERAL (SELECT t.x + 1 AS y) l
SELECT l.y FROM (VALUES (1)) t(x), LATERAL (SELECT t.x + 1 AS y) l
SELECT l.y FROM (VALUES (1)) t(x) CROSS JOIN LATERAL (SELECT t.x + 1 AS y) l
SELECT typname::text, typlen::int, typtype = 'b' FROM pg_type WHERE oid = 23
SELECT typname || '[]' FROM pg_type WHERE oid = 23
SELECT length(typname) FROM pg_type WHERE oid = 23
SELECT typname LIKE 'int%' FROM pg_type WHERE oid = 23
SELECT oid = 23, oid > 20, oid IN (23, 24) FROM pg_type WHERE oid = 23
SELECT typelem::regtype FROM pg_type WHERE oid = 1007
SELECT typelem::regtype::text FROM pg_type WHERE oid = 1007
SELECT typelem::regtype::oid FROM pg_type WHERE oid = 1007
SELECT oid FROM pg_type WHERE oid = 'int4'::regtype
SELECT oid FROM pg_type WHERE oid::regtype::text = 'integer'
SELECT array_agg(typname ORDER BY typname) FROM pg_type WHERE oid IN (23, 25)
SELECT array_agg(oid ORDER BY oid) FROM pg_type WHERE oid IN (23, 25)
SELECT array_agg(oid::regtype ORDER BY oid) FROM pg_type WHERE oid IN (23, 25)
SELECT string_agg(typname::text, ',' ORDER BY oid) FROM pg_type WHERE oid IN (23, 25)
SELECT string_agg(quote_ident(typname), ',' ORDER BY oid) FROM pg_type WHERE oid IN (23, 25)
SELECT min(typname::text), max(typlen) FROM pg_type WHERE oid IN (23, 25)
SELECT count(*) FROM pg_type WHERE oid IN (23, 25)
SELECT typtype, count(*) FROM pg_type WHERE oid IN (23, 25) GROUP BY typtype
SELECT typname FROM pg_type WHERE oid IN (23, 25) ORDER BY typname DESC
SELECT CASE typtype WHEN 'b' THEN 'base' WHEN 'c' THEN 'composite' ELSE typtype::text END FROM pg_type WHERE oid = 23
SELECT COALESCE(typdefault, 'none') FROM pg_type WHERE oid = 23
SELECT typname AS "TYPE_NAME", oid AS "OID" FROM pg_type WHERE oid = 23
SELECT t.oid, t.typname, n.nspname FROM pg_type t LEFT JOIN pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = 23
SELECT n.nspname = 'pg_catalog', n.nspname = ANY(current_schemas(true)) FROM pg_namespace n WHERE n.oid = 11
SELECT nspname AS "TABLE_SCHEM", current_database() IS NOT NULL AS "TABLE_CATALOG" FROM pg_namespace WHERE nspname = 'pg_catalog'
SELECT t.typname, (SELECT n.nspname FROM pg_namespace n WHERE n.oid = t.typnamespace) FROM pg_type t WHERE t.oid = 23
SELECT * FROM (SELECT typname, row_number() OVER (ORDER BY oid) AS rn FROM pg_type WHERE oid IN (23,25)) s WHERE rn = 1
SELECT ''::name
SELECT ''::"char"
SELECT 'pg_class'::regclass::int8
SELECT 'pg_class'::regclass = 1259
SELECT oid = 'pg_class'::regclass FROM pg_class WHERE oid = 1259
SELECT 'pg_class'::regclass IS NULL
SELECT to_regclass('pg_class')::text
SELECT to_regclass('pg_class')::oid
SELECT to_regclass('nope') IS NULL
SELECT to_regclass('pg_class') IS NOT NULL
SELECT to_regtype('int4')::text
SELECT to_regnamespace('pg_catalog')
SELECT to_regrole('nope')
SELECT CASE WHEN true THEN 'pg_class'::regclass END
SELECT coalesce('pg_class'::regclass, 'pg_type'::regclass)
SELECT 'pg_class'::regclass || 'x'
SELECT concat('pg_class'::regclass, '.')
SELECT format('%s', 'pg_class'::regclass)
SELECT quote_ident('pg_class'::regclass::text)
SELECT ARRAY['pg_class'::regclass]
SELECT json_build_object('a', 'pg_class'::regclass)::text IS NOT NULL
SELECT 0::regclass
SELECT 0::oid::regtype
SELECT 99999999::regclass
SELECT '-'::regproc
SELECT 1259::oid::regclass::text
SELECT x.c FROM (SELECT 1259::regclass AS c) x
SELECT x.c::text FROM (SELECT 1259::regclass AS c) x
SELECT x.c = 'pg_class'::regclass FROM (SELECT 1259::regclass AS c) x
SELECT 1259::regclass UNION SELECT 1247::regclass ORDER BY 1
SELECT typinput FROM pg_type WHERE oid = 23
SELECT typinput::text, typinput::oid FROM pg_type WHERE oid = 23
SELECT t.typinput, t.typoutput FROM pg_type t WHERE t.typinput = 'int4in'::regproc
SELECT typreceive::regproc::text FROM pg_type WHERE oid = 23
SELECT pg_typeof(oid), pg_typeof(typname), pg_typeof(typtype) FROM pg_type WHERE oid = 23
SELECT pg_typeof(1)::text, pg_typeof(1) = 'integer'::regtype
SELECT pg_typeof(count(*)) FROM pg_type WHERE false
SELECT pg_typeof(sum(1)), pg_typeof(avg(1))
SELECT pg_typeof(1/2), pg_typeof(1/2.0), pg_typeof(1::float4 + 1)
SELECT pg_typeof(ARRAY['a']), pg_typeof('{}'::int[])
SELECT pg_typeof(CASE WHEN true THEN 1 ELSE 2.0 END)
SELECT version() LIKE 'PostgreSQL%'
SELECT current_setting('server_version') IS NOT NULL
SELECT current_setting('TimeZone')
SELECT has_table_privilege('pg_class', 'SELECT')
SELECT has_schema_privilege('pg_catalog', 'USAGE')
SELECT has_table_privilege(1259, 'SELECT')
SELECT has_table_privilege(current_user, 'pg_class', 'SELECT')
SELECT has_column_privilege('pg_class', 'relname', 'SELECT')
SELECT pg_has_role(current_user, 'MEMBER')
SELECT pg_has_role(current_user, current_user, 'USAGE')
SELECT obj_description(1, 'pg_class')
SELECT pg_get_constraintdef(1)
SELECT pg_get_indexdef(1)
SELECT pg_get_viewdef(1)
SELECT format_type(23, -1), format_type(1043, 54), format_type(1700, -1), format_type(1009, -1)
SELECT format_type(1184, 3), format_type(1083, 0), format_type(1042, -1), format_type(1042, NULL)
SELECT pg_size_pretty(10240::int8), pg_size_pretty(1048576::int8), pg_size_pretty(5368709120::int8)
SELECT quote_literal('it''s'), quote_literal(NULL), quote_nullable(NULL), quote_literal(E'a\\b')
SELECT quote_ident('Table'), quote_ident('table'), quote_ident('a"b')
SELECT E'\\x41'::bytea = '\x41'::bytea
SELECT '\x41'::bytea || '\x42'::bytea
SELECT length('abc'::bytea)
SELECT 'a'::bytea::text::bytea
SELECT current_date::text = now()::date::text
SELECT 'a'::text COLLATE "C"
SELECT 'a' COLLATE "default" < 'b'
SELECT 1 WHERE 1 = 1 AND 'a' = 'a'
SELECT 1 AS one WHERE NULL
SELECT (1)
SELECT ((1 + 2)) * 3
SELECT 1 + 2 * 3 - 4 / 2
SELECT - - 1
SELECT 2 * (3 + 4)::float8
SELECT (1 + 2)::text
SELECT (1 + 2.5)::int
SELECT 1::text::int::float8
SELECT CAST(CAST(1 AS text) AS int)
SELECT CAST('2024-01-01' AS date) + 1
SELECT DATE '2024-01-01' + TIME '03:00'
SELECT time '03:00' + interval '1 hour'
SELECT extract(epoch from timestamp '2024-01-02' - timestamp '2024-01-01')
SELECT extract(epoch from interval '1 month')
SELECT extract(epoch from interval '1 year')
SELECT extract(day from timestamp '2024-03-01' - timestamp '2024-01-01')
SELECT extract(year from interval '14 months')
SELECT extract(month from '2024-05-01'::date)::int
SELECT extract(year from date '2024-05-01') || ''
SELECT extract(year from date '2024-05-01') * 100 + extract(month from date '2024-05-01')
SELECT date_part('month', '2024-05-01'::date)::int
SELECT date_part('year', timestamp '2024-05-01') = 2024
SELECT extract(epoch from '2024-01-01 00:00:00+00'::timestamptz)::bigint
SELECT extract('year' from date '2024-05-01')
SELECT to_char(date '2024-05-01', 'YYYYMMDD')
SELECT to_char(timestamp '2024-05-01 13:14:15', 'DD.MM.YYYY HH24:MI:SS')
SELECT '{bad'::json
SELECT '2024-01-02 03:04:05.123456'::timestamp
SELECT '2024-01-02T03:04:05Z'::timestamptz
SELECT '2024-1-2'::date
SELECT 'epoch'::timestamp
SELECT '0001-01-01'::date, '9999-12-31'::date
SELECT 'x'::uuid
SELECT '12:34:56'::time::text
SELECT interval '1 day' * 1.5
SELECT interval '1 day' / 2
SELECT interval '10 hours' + time '01:00'
SELECT timestamp '2024-01-01' + 1
SELECT date '2024-01-01' - interval '1 month'
SELECT timestamptz '2024-01-01 00:00+00' - timestamptz '2023-01-01 00:00+00'
SELECT timestamptz '2024-01-01 00:00+00' + interval '1 day'
SELECT date '2024-03-31' - 30
SELECT 1 FROM pg_class WHERE relname = 'pg_class' AND relkind IN ('r', 'v') AND relnamespace <> 0
SELECT 1 FROM pg_class WHERE relname IN (SELECT 'pg_class') LIMIT 1
SELECT relname COLLATE "C" FROM pg_class WHERE oid = 1259
SELECT relname::varchar(3) FROM pg_class WHERE oid = 1259
SELECT left(relname, 2), substring(relname, 4), replace(relname, 'pg', 'x') FROM pg_class WHERE oid = 1259
SELECT split_part(relname, '_', 2) FROM pg_class WHERE oid = 1259
SELECT relname ~ 'class$', relname !~ 'x', relname LIKE 'pg%' FROM pg_class WHERE oid = 1259
SELECT concat(relkind, relname) FROM pg_class WHERE oid = 1259
SELECT nullif(relname, 'x'), greatest(relname, 'a') FROM pg_class WHERE oid = 1259
SELECT (relname, oid) = ('pg_class', 1259) FROM pg_class WHERE oid = 1259
SELECT (c.relname)::text FROM pg_class c WHERE c.oid = 1259
SELECT c.oid::bigint AS id, c.relname AS name, NULL::text AS comment, false AS flag FROM pg_class c WHERE c.oid = 1259
SELECT c.relname, c.relkind FROM pg_class c WHERE c.oid = 1259 UNION ALL SELECT 'x', 'y' ORDER BY 1
SELECT NULL AS "TABLE_CAT", n.nspname AS "TABLE_SCHEM", c.relname AS "TABLE_NAME" FROM pg_namespace n, pg_class c WHERE c.relnamespace = n.oid AND c.oid = 1259
SELECT x FROM (SELECT ARRAY[1,2] AS a) s, unnest(s.a) AS x
SELECT x.n, x.v FROM unnest(ARRAY['a','b']) WITH ORDINALITY AS x(v, n)
SELECT (information_schema._pg_expandarray(ARRAY['a','b'])).n
SELECT (i.k).n, (i.k).x FROM (SELECT information_schema._pg_expandarray(ARRAY[5,6]) AS k) i
SELECT generate_subscripts(ARRAY[5,6], 1)
SELECT unnest(ARRAY[1,2]), unnest(ARRAY['a','b'])
SELECT unnest('{a,b}'::text[])
SELECT unnest(ARRAY[1,2]) + 1
SELECT name FROM pg_settings WHERE name = 'search_path'
SELECT date '2024-01-01' UNION SELECT '2024-01-02' ORDER BY 1
SELECT 1 UNION ALL SELECT '2'
SELECT '1' UNION ALL SELECT 2
VALUES (1), ('2')
SELECT * FROM (VALUES (date '2024-01-01', 1), ('2024-01-02', '2')) AS t(a, b)
SELECT x + 1 FROM (VALUES (1), ('2')) t(x)
SELECT 1 UNION SELECT 2 UNION SELECT '3' ORDER BY 1
SELECT true UNION ALL SELECT 'f'
SELECT 1 UNION ALL SELECT 'x'
SELECT has_schema_privilege('nope', 'usage')
SELECT has_table_privilege('nope', 'select')
SELECT has_table_privilege('pg_catalog.pg_class', 'select')
SELECT has_schema_privilege(current_user, 'public', 'usage')
SELECT pg_get_function_arguments(3974), pg_get_function_arguments(3972)
SELECT NULL AS TABLE_CAT, 1 AS "TABLE_SCHEM", RELNAME FROM pg_class c WHERE C.RELNAME = 'pg_class'
SELECT t.OID, T.typname AS Name FROM pg_type AS T WHERE t.oid = 23
SELECT (ARRAY[1,2,3])[x + 1], ('{7,8}'::int[])[x::int2 + 1::int2] FROM generate_series(0, 1) x
SELECT proargtypes[x - 1] FROM pg_proc, generate_series(1, 2) x WHERE pg_proc.oid = 3060 ORDER BY 1
SELECT extract(hour from date '2024-05-01')
SELECT a[array_upper(a, 1)], a[x + 1], a[2:cardinality(a)] FROM (SELECT ARRAY[5,6,7] AS a, 1 AS x) s
SELECT 'trigger'::regtype, 'pg_catalog.event_trigger'::regtype::oid, 'language_handler'::regtype <> 'void'::regtype
SELECT proname, prorettype = 'pg_catalog.trigger'::regtype FROM pg_proc WHERE proname IN ('trigger_in', 'void_in') ORDER BY 1
SELECT count(*) FROM pg_type WHERE oid = ANY ('{16,23,25}'::oid[])
SELECT '{16,23}'::oid[], '{}'::oid[], '{NULL,1}'::oid[], '{{1,2},{3,4}}'::oid[]
SELECT '{pg_class,pg_type}'::regclass[], '{int4,text}'::regtype[]
SELECT '{16,'::oid[]
SELECT '{a,"b c",NULL}'::name[]
SELECT 16::oid = ANY ('{16,23,25}'::oid[]), 'pg_type'::regclass = ANY ('{pg_type}'::regclass[])
SELECT relname FROM pg_class WHERE oid = ANY ('{pg_class,1247}'::regclass[]) ORDER BY 1
SELECT 1 OPERATOR(pg_catalog.+) 2
SELECT 1 OPERATOR(pg_catalog.+) 2 * 3
SELECT 1 + 2 OPERATOR(pg_catalog.*) 3
SELECT 10 OPERATOR(pg_catalog.-) 3 OPERATOR(pg_catalog.-) 2
SELECT 10 OPERATOR(pg_catalog.-) 3 - 2
SELECT 7 OPERATOR(pg_catalog./) 2
SELECT 7 OPERATOR(pg_catalog.%) 4
SELECT - 2 OPERATOR(pg_catalog.*) 3
SELECT 2 OPERATOR(pg_catalog.*) - 3
SELECT 1 OPERATOR(pg_catalog.<) 2
SELECT 1 OPERATOR(pg_catalog.<=) 2, 1 OPERATOR(pg_catalog.>) 2, 1 OPERATOR(>=) 2
SELECT 1 OPERATOR(pg_catalog.<>) 2, 1 OPERATOR(pg_catalog.!=) 2, 1 OPERATOR( PG_CATALOG . = ) 2
SELECT NULL OPERATOR(pg_catalog.=) 2
SELECT 1 OPERATOR(pg_catalog.+) NULL
SELECT 1 OPERATOR(pg_catalog./) 0
SELECT 2147483647 OPERATOR(pg_catalog.+) 1
SELECT 'a' OPERATOR(pg_catalog.||) 'b'
SELECT 'a' OPERATOR(pg_catalog.||) 1 + 2
SELECT 'a' || 'b' OPERATOR(pg_catalog.=) 'ab'
SELECT 'ab' OPERATOR(pg_catalog.=) ('a' || 'b')
SELECT 'abc' OPERATOR(pg_catalog.~~) 'a%', 'abc' OPERATOR(pg_catalog.!~~) 'a%'
SELECT 'ABC' OPERATOR(pg_catalog.~~*) 'a%', 'ABC' OPERATOR(pg_catalog.!~~*) 'a%'
SELECT 'a_c' OPERATOR(pg_catalog.~~) 'a\_c', 'abc' OPERATOR(pg_catalog.~~) 'a\_c'
SELECT 'abc' OPERATOR(pg_catalog.~*) 'B', 'abc' OPERATOR(pg_catalog.!~) 'b'
SELECT 'pg_class'::regclass OPERATOR(pg_catalog.=) 1259
SELECT 1 = 1 OPERATOR(pg_catalog.+) 0
SELECT 3 < 1 OPERATOR(pg_catalog.+) 1
SELECT NOT 1 OPERATOR(pg_catalog.=) 2
SELECT 1 OPERATOR(pg_catalog.=) 1 AND 2 OPERATOR(pg_catalog.>) 3
SELECT 1 OPERATOR(pg_catalog.=) ANY (ARRAY[1, 2])
SELECT 1 OPERATOR(pg_catalog.<) ALL (ARRAY[1, 2])
SELECT 1 OPERATOR(pg_catalog.=) 1 IS NULL
SELECT 1 OPERATOR(pg_catalog.+) 1 IN (2, 3)
SELECT 1 OPERATOR(pg_catalog.+) 1 BETWEEN 2 AND 3
SELECT 1 OPERATOR(public.+) 2
SELECT ARRAY[1,2] OPERATOR(pg_catalog.@>) ARRAY[1], ARRAY[1] OPERATOR(pg_catalog.<@) ARRAY[1,2], ARRAY[1] OPERATOR(pg_catalog.&&) ARRAY[2]
SELECT date '2024-01-31' OPERATOR(pg_catalog.+) 1
SELECT 1::int2 OPERATOR(pg_catalog.+) 2::int2
SELECT count(*) FROM pg_class c JOIN pg_namespace s ON s.oid OPERATOR(pg_catalog.=) c.relnamespace WHERE c.relname OPERATOR(pg_catalog.=) 'pg_class' AND c.oid OPERATOR(pg_catalog.>) 0
SELECT count(*) FROM pg_class WHERE oid OPERATOR(pg_catalog.=) 'pg_class'::regclass
SELECT 2 OPERATOR(pg_catalog.+) 3::text
SELECT 'a' OPERATOR(pg_catalog.||) 'b' LIKE 'ab'
SELECT 'ab' SIMILAR TO 'a%'
SELECT 1 SIMILAR TO '1'
SELECT 1 ~ '1'
SELECT NULL SIMILAR TO 'a'
SELECT 'a\b' SIMILAR TO 'a\b' ESCAPE ''
SELECT 'a' NOT SIMILAR TO 'b' AND 'c' SIMILAR TO '_'
SELECT 'a' SIMILAR TO 'a'::text
SELECT 'a' SIMILAR TO ('a')
SELECT 'pg_class'::regclass::text SIMILAR TO 'pg%'
SELECT relname FROM pg_class WHERE relname SIMILAR TO 'pg_c(lass|onversion)' ORDER BY 1
SELECT 'a%' SIMILAR TO E'a\\%'
SELECT NOT 'a' SIMILAR TO 'a'
SELECT 'a'::varchar SIMILAR TO '[a-c]', 'a'::name SIMILAR TO '[^a-c]'
SELECT s[1] FROM string_to_array('a,b', ',') s
SELECT * FROM string_to_array('a,b', ',') s
SELECT * FROM string_to_array('a,b', ',')
SELECT string_to_array FROM string_to_array('a,b', ',')
SELECT * FROM upper('x')
SELECT * FROM upper('x') AS u
SELECT u FROM upper('x') AS t(u)
SELECT upper.upper FROM upper('x')
SELECT * FROM abs(-1) a, generate_series(1, 2) AS i
SELECT * FROM version() AS v WHERE v IS NULL
SELECT * FROM current_schemas(true)
SELECT * FROM current_schema()
SELECT * FROM quote_ident('A') AS q
SELECT * FROM pg_backend_pid() AS p WHERE p IS NULL
SELECT * FROM now() AS n WHERE n IS NULL
SELECT a.relname FROM pg_class a, upper(a.relname) u WHERE u = 'PG_CLASS'
SELECT x FROM (VALUES (1), (2)) v(x), abs(x - 3) w ORDER BY w
SELECT x, w FROM (VALUES (1), (2)) v(x) LEFT JOIN abs(x - 3) w ON true ORDER BY w
SELECT * FROM length('abc') AS l, upper('x')
SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) AS i, string_to_array(current_setting('search_path'),',') s
SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) AS i, string_to_array(current_setting('search_path'),',') s) THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema','pg_catalog','_timescaledb_cache','_timescaledb_catalog','_timescaledb_internal','_timescaledb_config','timescaledb_information','timescaledb_experimental') ORDER BY CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) AS i, string_to_array(current_setting('search_path'),',') s) THEN 0 ELSE 1 END, 1
SELECT current_setting('server_version_num')::int/100 AS version WHERE 1 = 0
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'
SELECT parse_ident('public.t')
SELECT parse_ident('Public."T x"."a""b"')
SELECT (parse_ident('public.t'))[2], array_length(parse_ident('t'), 1)
SELECT parse_ident('')
SELECT parse_ident('a.')
SELECT parse_ident('.a')
SELECT parse_ident('a..b')
SELECT parse_ident('"a')
SELECT parse_ident('""')
SELECT parse_ident('1a')
SELECT parse_ident('a b')
SELECT parse_ident(' a . b ')
SELECT parse_ident(' a . b(int)', false)
SELECT parse_ident('a.b(int)')
SELECT parse_ident('a.b c', false)
SELECT parse_ident('a$1.B_2')
SELECT parse_ident('ÄB.é')
SELECT parse_ident(NULL)
SELECT parse_ident('a', NULL)
SELECT parse_ident('a.', false)
SELECT parse_ident('a."b"c')
SELECT parse_ident('a', true, true)
SELECT * FROM parse_ident('a.b') p
SELECT (parse_ident('a.b'))[1:1]
SELECT * FROM unnest(parse_ident('a.b')) p
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE CASE WHEN array_length(parse_ident('information_schema.t'),1) = 2 THEN quote_ident(table_schema) = (parse_ident('public.t'))[1] AND quote_ident(table_name) = (parse_ident('public.t'))[2] ELSE quote_ident(table_name) = 't' AND quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) AS i, string_to_array(current_setting('search_path'),',') s) END
SELECT S[1], "Q"[2] FROM string_to_array('a,b', ',') S, string_to_array('a,b', ',') AS "Q"
SELECT * FROM pg_catalog.quote_ident('A b')
SELECT * FROM pg_catalog.string_to_array('a,b', ',')
SELECT * FROM array_length(ARRAY[1,2], 1) AS n CROSS JOIN upper('x')
SELECT s FROM (SELECT 1 AS a) t, string_to_array('a', ',') s WHERE s[1] = 'a'
SELECT array_length(s, 1) FROM string_to_array('a,b', ',') AS s
SELECT unnest(s) FROM string_to_array('a,b', ',') AS s
SELECT s.s FROM string_to_array('a,b', ',') AS s
SELECT x FROM concat('a', 1) x
SELECT * FROM current_setting('search_path') WHERE current_setting LIKE '%public'
SELECT * FROM round(1.5)
SELECT * FROM trim(' x ')
SELECT * FROM concat('a', 'b')
SELECT * FROM btrim(' x ')
SELECT * FROM length('x')
SELECT * FROM char_length('x')
SELECT * FROM substring('abc', 2)
SELECT * FROM substr('abc', 2)
SELECT * FROM strpos('abc', 'b')
SELECT * FROM position('b' IN 'abc')
SELECT * FROM ceiling(1.2)
SELECT * FROM current_database()
SELECT * FROM parse_ident('x', false)
