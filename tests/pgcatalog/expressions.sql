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
