-- DBeaver: its navigator reads whole rows of the catalogue, `c.*`, with descriptions beside them.

-- look where the session is
SELECT current_schema(), session_user;
-- look the version
-- rows: the version of the copy is another minor one
SELECT version();
-- look the path
SHOW search_path;
-- look the database
-- types: datacl: an access list is a list of texts
-- parameters: ["main"]
-- but: dattablespace, datfrozenxid, datminmxid, datlastsysoid, datacl, datcollate, datctype, encoding, datcollversion, datdba: storage of its own
SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datname = $1;
-- look a setting
SELECT setting FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings';
-- look key words
SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,absolute,action,add,all,and,any,as,asc}'::text[]);
-- look schemas
-- types: nspacl: an access list is a list of texts
-- but: nspowner, nspacl, description: an administrator owns all
SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass
WHERE nspname NOT IN ('pg_toast', 'information_schema') ORDER BY nspname;
-- look data types
-- types: typacl, typdefaultbin: an access list is a list of texts, a tree of a parser is a text
-- rows: the catalogue has the types that columns here can have
SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name, d.description
FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid
WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C');
-- look tables of a schema
-- types: relacl, relpartbound: an access list is a list of texts, a tree of a parser is a text
-- parameters: ["2200"]
-- but: relowner, reltype, relfilenode, relpages, reltuples, relallvisible, relfrozenxid, relminmxid, relacl, reltoastrelid, relhastriggers, relam: storage of its own
SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr,
  pg_catalog.pg_get_partkeydef(c.oid) AS partition_key
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
WHERE c.relnamespace = $1 AND c.relkind NOT IN ('i', 'I', 'c');
-- look sizes
-- parameters: ["2200"]
-- but: total_rel_size, rel_size: storage of its own
SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) AS total_rel_size, pg_catalog.pg_relation_size(c.oid) AS rel_size
FROM pg_class c WHERE c.relnamespace = $1 AND c.relkind NOT IN ('i', 'I', 'c');
-- look columns of a table
-- types: attacl, attmissingval: an access list is a list of texts, and there is no missing value
-- but: attcacheoff, attstattarget, attacl: not kept
SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, dep.objid
FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') AND c.oid = {orders} AND a.attnum > 0 ORDER BY a.attnum;
-- look constraints of a schema
-- types: conbin: a tree of a parser is a text
-- but: conbin, conpfeqop, conppeqop, conffeqop: operators of its own
SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description,
  CASE WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) ELSE NULL END consrc_copy
FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_constraint'::regclass
WHERE t.relnamespace = 2200 ORDER BY c.oid;
-- look indexes of a table
-- types: indexprs, indpred: texts here
-- but: index_rel_size, index_num_scans, indclass, indoption, indcollation: storage of its own
SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, c.relam, c.reltablespace, tc.relname AS tabrelname, dsc.description,
  pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr, pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) AS expr,
  pg_catalog.pg_relation_size(i.indexrelid) AS index_rel_size, pg_catalog.pg_stat_get_numscans(i.indexrelid) AS index_num_scans
FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid
LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid = dsc.objoid
WHERE i.indrelid = {orders} ORDER BY tabrelname, c.relname;
-- look inheritance
SELECT i.*, c.relnamespace FROM pg_catalog.pg_inherits i, pg_catalog.pg_class c
WHERE i.inhrelid = {orders} AND c.oid = i.inhparent ORDER BY i.inhseqno;
-- look rules
SELECT r.oid, r.rulename, r.ev_type, pg_get_ruledef(r.oid) AS definition FROM pg_rewrite r
WHERE r.ev_class = {orders} AND r.rulename <> '_RETURN'::name;
-- look triggers
-- types: tgqual: a tree of a parser is a text
SELECT x.oid, x.*, p.pronamespace AS func_schema_id, d.description FROM pg_catalog.pg_trigger x
LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid = x.tgfoid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = x.oid AND d.objsubid = 0 AND d.classoid = 'pg_trigger'::regclass
WHERE x.tgrelid = {orders} AND NOT x.tgisinternal;
-- look policies
SELECT * FROM pg_catalog.pg_policies WHERE schemaname = 'public' AND tablename = 'orders';
-- look roles
-- rows: users and roles are those of the proxy
SELECT a.oid, a.*, pd.description FROM pg_catalog.pg_roles a
LEFT JOIN pg_catalog.pg_shdescription pd ON a.oid = pd.objoid ORDER BY a.rolname;
-- look sequences
SELECT c.relname, d.description FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
WHERE c.relnamespace = 2200 AND c.relkind = 'S';
-- look functions of a schema
SELECT p.oid, p.proname, pg_catalog.pg_get_expr(p.proargdefaults, 0) AS arg_defaults, d.description FROM pg_catalog.pg_proc p
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = p.oid WHERE p.pronamespace = 2200 ORDER BY p.proname;
-- look the text of a view
-- rows: the text of a view is not shown
SELECT pg_catalog.pg_get_viewdef({order_totals}, true) AS definition;
-- look rights of a table
-- but: is_grantable: ann is an owner in the copy
SELECT * FROM information_schema.table_privileges WHERE table_schema = 'public' AND table_name = 'orders'
  AND grantee = 'ann';
-- look sessions
-- rows: those of the moment
SELECT sa.pid, sa.usename, sa.state, sa.query FROM pg_catalog.pg_stat_activity sa;
-- look extensions
-- rows: there is none
SELECT e.oid, e.extname, e.extversion, n.nspname AS schema_name FROM pg_catalog.pg_extension e
JOIN pg_namespace n ON n.oid = e.extnamespace ORDER BY e.oid;
-- look tablespaces
-- types: spcacl: an access list is a list of texts
-- but: spcowner, loc, spcacl: storage of its own
SELECT t.oid, t.*, pg_tablespace_location(t.oid) AS loc FROM pg_catalog.pg_tablespace t ORDER BY t.oid;
-- look completion of names
SELECT DISTINCT pc.oid, pc.relname, pc.relnamespace, pc.relkind FROM pg_catalog.pg_class pc
WHERE pc.relkind IN ('r', 'v', 'm', 'f', 'p') AND pc.relname ILIKE 'ord%' ORDER BY pc.relname LIMIT 100;
-- look search of texts in names of columns
SELECT x.attname, pc.relname FROM pg_catalog.pg_attribute x, pg_catalog.pg_class pc
WHERE x.attrelid = pc.oid AND x.attnum > 0 AND x.attname ILIKE '%amount%' ORDER BY 1, 2 LIMIT 100;

-- refuse 42501 the data of a table
-- why: rows of people are not shown
SELECT * FROM public.orders LIMIT 200;
-- refuse 42501 the data of a table, with a filter
-- why: rows of people are not shown
SELECT x.* FROM public.orders x WHERE status = 'paid' ORDER BY x.amount DESC LIMIT 200;
-- ask the data of a public table
SELECT x.* FROM public.countries x ORDER BY x.code;
-- ask the data of a public table, with a filter
SELECT x.* FROM public.countries x WHERE region = 'Europe' ORDER BY x.population DESC;
-- ask the number of rows
SELECT COUNT(*) FROM public.orders;
-- ask the grouping panel
SELECT status, COUNT(*) FROM public.orders GROUP BY status ORDER BY COUNT(*) DESC;
-- ask the grouping panel over a statement
SELECT status, COUNT(*) FROM (SELECT * FROM public.orders) AS src GROUP BY status ORDER BY status;
-- ask values for a filter
SELECT status, count(*) FROM public.orders GROUP BY status ORDER BY 1 LIMIT 200;
-- ask the calculation of a column
SELECT count(population), avg(population), min(population), max(population) FROM public.countries;
