-- DataGrip: its introspection, as levels of one tree, every name of the catalogue qualified.

-- look where the session is
select current_database() as a, current_schemas(false) as b;
-- look who is there
select current_database(), current_schema(), current_user;
-- look isolation
SHOW TRANSACTION ISOLATION LEVEL;
-- look how dates are written
show DateStyle;
-- look the version
-- rows: the version of the copy is another minor one
select version();
-- look time zones
-- rows: those that are known here
select name, is_dst from pg_catalog.pg_timezone_names
union distinct
select abbrev as name, is_dst from pg_catalog.pg_timezone_abbrevs;
-- look databases
-- rows: there is one
select N.oid::bigint as id, datname as name, D.description, datistemplate as is_template,
  datallowconn as allow_connections, pg_catalog.pg_get_userbyid(N.datdba) as "owner"
from pg_catalog.pg_database N left join pg_catalog.pg_shdescription D on N.oid = D.objoid
order by case when datname = pg_catalog.current_database() then -1::bigint else N.oid::bigint end;
-- look schemas
-- but: state_number, description, owner: an administrator owns all, nothing is versioned
select N.oid::bigint as id, N.xmin as state_number, nspname as name, D.description,
  pg_catalog.pg_get_userbyid(N.nspowner) as "owner"
from pg_catalog.pg_namespace N left join pg_catalog.pg_description D on N.oid = D.objoid
where nspname <> 'pg_toast' and N.oid <> 'information_schema'::regnamespace
order by case when nspname = pg_catalog.current_schema() then -1::bigint else N.oid::bigint end;
-- look when the server started
-- rows: its own
select round(extract(epoch from pg_postmaster_start_time() at time zone 'UTC')) as startup_time;
-- look the oldest transaction
-- rows: those of the moment
select L.transactionid::varchar::bigint as transaction_id from pg_catalog.pg_locks L
where L.transactionid is not null order by pg_catalog.age(L.transactionid) desc limit 1;
-- look the transaction
-- rows: its own
select case when pg_catalog.pg_is_in_recovery() then null
  else (pg_catalog.txid_current() % (2^32)::bigint)::varchar::bigint end as current_txid;
-- look roles
-- rows: users and roles are those of the proxy
select R.oid::bigint as role_id, rolname as role_name, rolsuper is_super, rolinherit is_inherit, rolcreaterole can_createrole,
  rolcreatedb can_createdb, rolcanlogin can_login, rolreplication is_replication, rolconnlimit conn_limit,
  rolvaliduntil valid_until, rolbypassrls bypass_rls, rolconfig config, D.description
from pg_catalog.pg_roles R left join pg_catalog.pg_shdescription D on D.objoid = R.oid;
-- look members of roles
-- rows: users and roles are those of the proxy
select member id, roleid role_id, admin_option from pg_catalog.pg_auth_members order by id, roleid::text;
-- look tablespaces
-- but: state_number, owner: an administrator owns all, nothing is versioned
select T.oid::bigint as id, T.spcname as name, T.xmin as state_number, pg_catalog.pg_get_userbyid(T.spcowner) as owner,
  pg_catalog.pg_tablespace_location(T.oid) as location, T.spcoptions as options, D.description as comment
from pg_catalog.pg_tablespace T left join pg_catalog.pg_shdescription D on D.objoid = T.oid;
-- look access methods
-- rows: those that tables and indexes here have
select A.oid as access_method_id, A.xmin as state_number, A.amname as access_method_name, A.amhandler::oid as handler_id,
  pg_catalog.quote_ident(N.nspname) || '.' || pg_catalog.quote_ident(P.proname) as handler_name, A.amtype as access_method_type
from pg_catalog.pg_am A join pg_catalog.pg_proc P on A.amhandler::oid = P.oid
join pg_catalog.pg_namespace N on P.pronamespace = N.oid;
-- look extensions
-- rows: there is none
select E.oid as id, E.xmin as state_number, extname as name, extversion as version, extnamespace as schema_id,
  nspname as schema_name from pg_catalog.pg_extension E join pg_catalog.pg_namespace N on E.extnamespace = N.oid;
-- look languages
-- rows: there is nothing to write functions in
select l.oid as id, l.xmin state_number, lanname as name, lanpltrusted as trusted from pg_catalog.pg_language l;
-- look casts
-- rows: there are none to list
select C.oid, C.xmin as state_number, C.castsource as castsource_id, C.casttarget as casttarget_id, C.castfunc as castfunc_id,
  C.castcontext, C.castmethod from pg_catalog.pg_cast C where C.oid > 16383;
-- look event triggers and foreign servers
select t.oid as id, t.evtname as name from pg_catalog.pg_event_trigger t
union all select fdw.oid, fdw.fdwname from pg_catalog.pg_foreign_data_wrapper fdw
union all select srv.oid, srv.srvname from pg_catalog.pg_foreign_server srv;
-- look sequences of a schema
select cls.xmin as sequence_state_number, sq.seqrelid as sequence_id, cls.relname as sequence_name,
  pg_catalog.format_type(sq.seqtypid, null) as data_type, sq.seqstart as start_value, sq.seqincrement as inc_value
from pg_catalog.pg_sequence sq join pg_class cls on sq.seqrelid = cls.oid where cls.relnamespace = 2200::oid;
-- look types of a schema
-- but: type_state_number, owner: an administrator owns all, nothing is versioned
select T.oid as type_id, T.xmin as type_state_number, T.typname as type_name, T.typtype as type_sub_kind,
  T.typcategory as type_category, T.typrelid as class_id, T.typbasetype as base_type_id,
  case when T.typtype in ('c', 'e') then null else pg_catalog.format_type(T.typbasetype, T.typtypmod) end as type_def,
  T.typndims as dimensions_number, T.typdefault as default_expression, T.typnotnull as mandatory,
  pg_catalog.pg_get_userbyid(T.typowner) as "owner"
from pg_catalog.pg_type T left outer join pg_catalog.pg_class C on T.typrelid = C.oid
where T.typnamespace = 2200::oid and (T.typtype in ('d', 'e') or C.relkind = 'c'::"char" or T.typtype = 'b' and T.typelem = 0)
order by 1;
-- look tables of a schema
-- but: table_state_number, options: nothing is versioned, tables have no options
select T.relkind as table_kind, T.relname as table_name, T.oid as table_id, T.xmin as table_state_number,
  false as table_with_oids, T.reltablespace as tablespace_id, T.reloptions as options, T.relpersistence as persistence,
  (select pg_catalog.array_agg(inhparent::bigint order by inhseqno)::varchar from pg_catalog.pg_inherits where T.oid = inhrelid) as ancestors,
  (select pg_catalog.array_agg(inhrelid::bigint order by inhrelid)::varchar from pg_catalog.pg_inherits where T.oid = inhparent) as successors,
  T.relispartition as is_partition, pg_catalog.pg_get_partkeydef(T.oid) as partition_key,
  pg_catalog.pg_get_expr(T.relpartbound, T.oid) as partition_expression, T.relam am_id,
  pg_catalog.pg_get_userbyid(T.relowner) as "owner"
from pg_catalog.pg_class T
where relnamespace = 2200::oid and relkind in ('r', 'm', 'v', 'f', 'p') order by table_kind, table_id;
-- look foreign tables
select ft.ftrelid as table_id, srv.srvname as table_server, ft.ftoptions as table_options
from pg_catalog.pg_foreign_table ft left outer join pg_catalog.pg_foreign_server srv on ft.ftserver = srv.oid
join pg_catalog.pg_class cls on ft.ftrelid = cls.oid where cls.relnamespace = 2200::oid order by table_id;
-- look columns of a schema
-- but: column_state_number: nothing is versioned
with T as (
  select T.oid as table_id, T.relname as table_name from pg_catalog.pg_class T
  where T.relnamespace = 2200::oid and T.relkind in ('r', 'm', 'v', 'f', 'p'))
select T.table_id, C.attnum as column_position, C.attname as column_name, C.xmin as column_state_number,
  C.atttypmod as type_mod, C.attndims as dimensions_number, pg_catalog.format_type(C.atttypid, C.atttypmod) as type_spec,
  C.atttypid as type_id, C.attnotnull as mandatory, pg_catalog.pg_get_expr(D.adbin, T.table_id) as column_default_expression,
  not C.attislocal as column_is_inherited, C.attfdwoptions as options, C.attisdropped as column_is_dropped,
  C.attidentity as identity_kind, C.attgenerated as generated
from T join pg_catalog.pg_attribute C on T.table_id = C.attrelid
left join pg_catalog.pg_attrdef D on (C.attrelid, C.attnum) = (D.adrelid, D.adnum)
where attnum > 0 order by table_id, attnum;
-- look indexes of a schema
-- but: state_number: nothing is versioned
select tab.oid table_id, tab.relkind table_kind, ind_stor.relname index_name, ind_head.indexrelid index_id,
  ind_stor.xmin state_number, ind_head.indisunique is_unique, ind_head.indisprimary is_primary,
  ind_head.indnullsnotdistinct nulls_not_distinct,
  pg_catalog.pg_get_expr(ind_head.indpred, ind_head.indrelid) as condition,
  (select pg_catalog.array_agg(inhparent::bigint order by inhseqno)::varchar from pg_catalog.pg_inherits
    where ind_stor.oid = inhrelid) as ancestors,
  ind_stor.reltablespace tablespace_id, opcmethod as access_method_id
from pg_catalog.pg_class tab
join pg_catalog.pg_index ind_head on ind_head.indrelid = tab.oid
join pg_catalog.pg_class ind_stor on tab.relnamespace = ind_stor.relnamespace and ind_stor.oid = ind_head.indexrelid
left join pg_catalog.pg_opclass on pg_opclass.oid = ANY(indclass)
where tab.relnamespace = 2200::oid and tab.relkind in ('r', 'm', 'v', 'p') and ind_stor.relkind in ('i', 'I');
-- look columns of indexes
select ind_head.indexrelid index_id, k col_idx, k <= indnkeyatts in_key, ind_head.indkey[k-1] column_position,
  ind_head.indoption[k-1] column_options, ind_head.indcollation[k-1] as collation,
  case when indexprs is null then null when ind_head.indkey[k-1] = 0 then chr(27) || pg_catalog.pg_get_indexdef(ind_head.indexrelid, k::int, true)
    else pg_catalog.pg_get_indexdef(ind_head.indexrelid, k::int, true) end as expression,
  ind_stor.relname
from pg_catalog.pg_index ind_head
join pg_catalog.pg_class ind_stor on ind_stor.oid = ind_head.indexrelid
cross join unnest(ind_head.indkey) with ordinality u(u, k)
where ind_stor.relnamespace = 2200::oid and ind_stor.relkind in ('i', 'I')
order by index_id, k;
-- look constraints of a schema
-- but: con_state_id: nothing is versioned
select T.oid table_id, relkind table_kind, C.oid::bigint con_id, C.xmin::varchar::bigint con_state_id, conname con_name,
  contype con_kind, conkey con_columns, conindid index_id, confrelid ref_table_id, condeferrable is_deferrable,
  condeferred is_init_deferred, confupdtype on_update, confdeltype on_delete, connoinherit no_inherit,
  pg_catalog.pg_get_expr(conbin, T.oid) con_expression, confkey ref_columns, conexclop::int[] excl_operators
from pg_catalog.pg_constraint C join pg_catalog.pg_class T on C.conrelid = T.oid
where relkind in ('r', 'v', 'f', 'p') and relnamespace = 2200::oid and contype in ('p', 'u', 'f', 'c', 'x') and connamespace = 2200::oid;
-- look functions of a schema
select N.oid as schema_id, PROC.oid as r_id, PROC.proname as r_name
from pg_catalog.pg_proc PROC join pg_catalog.pg_namespace N on N.oid = PROC.pronamespace
where PROC.pronamespace = 2200::oid and not (PROC.prokind = 'a') order by r_id;
-- look operators, triggers and policies
select O.oid as id, O.oprname as name from pg_catalog.pg_operator O where O.oprnamespace = 2200::oid
union all select TG.oid, TG.tgname from pg_catalog.pg_trigger TG join pg_catalog.pg_class TC on TG.tgrelid = TC.oid
  where TC.relnamespace = 2200::oid and not TG.tgisinternal
union all select P.oid, P.polname from pg_catalog.pg_policy P join pg_catalog.pg_class C on C.oid = P.polrelid
  where C.relnamespace = 2200::oid;
-- look rules
select R.ev_class as table_id, R.oid as rule_id, R.rulename as rule_name, pg_catalog.translate(ev_type, '1234', 'SUID') as rule_event_code,
  R.ev_enabled as rule_fire_mode, R.is_instead as rule_is_instead
from pg_catalog.pg_rewrite R where R.ev_class in (select oid from pg_catalog.pg_class where relnamespace = 2200::oid)
order by R.ev_class::bigint, ev_type;
-- look comments of a schema
select D.objoid id, case when D.classoid = 'pg_catalog.pg_class'::regclass then C.relkind end as kind, D.objsubid sub_id, D.description
from pg_catalog.pg_description D join pg_catalog.pg_class C on D.objoid = C.oid
where C.relnamespace = 2200::oid and D.classoid = 'pg_catalog.pg_class'::regclass;
-- look sources of views
-- but: source_text: the text of a view is not shown
select T.relkind as view_kind, T.oid as view_id, pg_catalog.pg_get_viewdef(T.oid, true) as source_text
from pg_catalog.pg_class T join pg_catalog.pg_namespace N on T.relnamespace = N.oid
where N.oid = 2200::oid and T.relkind in ('m', 'v');
-- look rights of a schema
-- types: acl: an access list is a list of texts
select T.oid as object_id, T.relacl as acl from pg_catalog.pg_class T
where T.relnamespace = 2200::oid and T.relacl is not null order by object_id;
-- look the columns of a table that is opened
SELECT t.* FROM public.countries t LIMIT 0;

-- refuse 42501 a table that is opened
-- why: rows of people are not shown
SELECT t.* FROM public.orders t LIMIT 501;
-- ask a public table that is opened
SELECT t.* FROM public.countries t ORDER BY code LIMIT 501;
-- ask the number of rows of a table that is opened
SELECT COUNT(*) FROM public.orders t;
-- ask the number of rows of a statement
SELECT COUNT(*) FROM (SELECT status, count(*) FROM orders GROUP BY status) t;
-- ask a console's question
select c.segment, count(*) filter (where o.status = 'paid') as paid, sum(o.amount) as amount
from customers c join orders o on o.customer_id = c.id group by c.segment order by c.segment;
