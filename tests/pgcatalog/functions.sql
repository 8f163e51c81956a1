SELECT a, b, o FROM unnest(ARRAY[1,2], ARRAY['x','y']) WITH ORDINALITY AS t(a, b, o)
SELECT * FROM unnest(ARRAY[1,2,3], ARRAY['x','y'])
SELECT * FROM unnest(ARRAY[1,2,3], ARRAY['x','y']) AS t
SELECT * FROM unnest(ARRAY[1,2,3], ARRAY['x','y']) WITH ORDINALITY
SELECT * FROM unnest(ARRAY[]::int[], ARRAY['x'], NULL::int[]) WITH ORDINALITY AS u(a)
SELECT * FROM unnest(ARRAY[]::int[], NULL::int[]) WITH ORDINALITY
SELECT * FROM unnest(ARRAY[1,2,3]) WITH ORDINALITY
SELECT * FROM unnest(ARRAY[1,2,3]) WITH ORDINALITY AS c(x, n)
SELECT s.k, v, o FROM (VALUES (ARRAY[1,2])) s(k) CROSS JOIN LATERAL unnest(s.k, ARRAY[7]) WITH ORDINALITY u(v, w, o)
SELECT s.k, u.o FROM (VALUES (ARRAY[1,2])) s(k), unnest(s.k, s.k) WITH ORDINALITY u(v, w, o)
SELECT g FROM generate_subscripts(ARRAY[5,6], 1) AS g
SELECT * FROM generate_subscripts(ARRAY[5,6], 1)
SELECT * FROM generate_subscripts(ARRAY[5,6], 1) WITH ORDINALITY AS g(a, b)
SELECT s.k, g.n FROM (VALUES (ARRAY[1,2])) s(k) JOIN LATERAL generate_subscripts(s.k, 1) AS g(n) ON g.n > 1
SELECT proname, n, o FROM pg_proc, generate_subscripts(proargtypes, 1) WITH ORDINALITY AS i(n, o) WHERE oid = 1299
SELECT proname, i FROM pg_proc CROSS JOIN generate_subscripts(proargtypes, 1) AS i WHERE oid = 3060
SELECT * FROM current_schema()
SELECT s FROM lower('ABC') AS s
SELECT * FROM pg_catalog.upper('abc') WITH ORDINALITY
SELECT a.oid, p FROM pg_am a CROSS JOIN pg_catalog.pg_indexam_has_property(a.oid, 'can_order') p WHERE amname IN ('btree', 'heap')
SELECT * FROM pg_partition_ancestors('pg_class'::regclass) WITH ORDINALITY AS a(relid, depth)
SELECT 1 AS n WHERE 5 IN (SELECT pg_partition_ancestors('1259'))
SELECT pg_postmaster_start_time() < now() AS a, pg_conf_load_time() <= now() AS b
SELECT pg_typeof(pg_postmaster_start_time())::text AS a, pg_typeof(txid_current())::text AS b
SELECT round(extract(epoch from pg_postmaster_start_time() at time zone 'UTC')) > 0 AS startup
SELECT (pg_catalog.txid_current() % (2^32)::bigint) > 0 AS a
SELECT txid_current_if_assigned() IS NULL AS b
SELECT 2^10 AS a, 2^0.5::float8 AS b, (-8)^3 AS c, pg_typeof(2^2)::text AS d
SELECT 10^400
SELECT pg_typeof(age(xmin))::text AS a, age(NULL::xid) AS b FROM pg_class WHERE relname = 'pg_class'
SELECT age(transactionid) AS a FROM pg_locks WHERE transactionid IS NULL AND locktype = 'none'
SELECT pg_stat_get_numscans(NULL::oid) AS a, pg_stat_get_db_xact_commit(0) AS b, pg_stat_get_last_vacuum_time(0) AS c, pg_stat_get_dead_tuples(0) AS d
SELECT pg_indexam_has_property(403, 'can_order') AS a, pg_indexam_has_property(403, 'nonsense') AS b, pg_indexam_has_property(2, 'can_order') AS c, pg_indexam_has_property(403, 'CAN_UNIQUE') AS d
SELECT pg_index_has_property(0, 'clusterable') AS a, pg_index_column_has_property(0, 1, 'asc') AS b
SELECT timestamptz '2024-07-01 12:00Z' AT TIME ZONE 'Europe/Berlin' AS a, timestamp '2024-07-01 12:00' AT TIME ZONE 'America/New_York' AS b, now() AT TIME ZONE 'UTC' < now() AS c
SELECT now() AT TIME ZONE 'Nowhere/Town'
SELECT chr(27) AS a, chr(8364) || 'x' AS b
SELECT chr(0)
SELECT '"int4"'::regtype::text AS a, '"pg_catalog"."int4"'::regtype::oid AS b, '"int4"[]'::regtype::text AS c, '"char"'::regtype::oid AS d, 'pg_catalog."text"'::regtype::text AS e, '"_int4"'::regtype::oid AS f
SELECT '"INT4"'::regtype
SELECT 1 AS select
SELECT a.select, a.not FROM (SELECT 1 AS select, 2 AS not) a
SELECT name, abbrev, utc_offset::text AS o, is_dst FROM pg_timezone_names WHERE name IN ('UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/New_York', 'Etc/GMT+5', 'Asia/Tehran')
SELECT name, is_dst FROM pg_timezone_names WHERE name = 'none' UNION DISTINCT SELECT abbrev AS name, is_dst FROM pg_timezone_abbrevs WHERE abbrev = 'none'
SELECT * FROM upper('x') AS U
SELECT * FROM upper('x') AS "U"
SELECT * FROM pg_catalog.quote_ident('x y') AS t(u)
SELECT * FROM coalesce(NULL, 2) AS c
SELECT * FROM upper('x') WITH ORDINALITY AS u(a, b)
SELECT * FROM unnest(ARRAY[1], ARRAY[2]) AS "T"("A", b)
