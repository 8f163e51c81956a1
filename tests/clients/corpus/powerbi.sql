-- Power BI: Npgsql reads types and the information schema; DirectQuery nests what it asks in derived tables.

-- look the version
-- rows: the version of the copy is another minor one
SELECT version();
-- look types as Npgsql loads them
-- rows: the catalogue has the types that columns here can have, and a row type for each relation
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid
FROM (
  SELECT typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind,
    elemtyp.oid AS elemtypoid, elemtyp.typname AS elemtypname, elemcls.relkind AS elemrelkind,
    CASE WHEN elemproc.proname = 'array_recv' THEN 'a' ELSE elemtyp.typtype END AS elemtyptype, typ.typcategory
  FROM (
    SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem AS elemoid,
      CASE WHEN proc.proname = 'array_recv' THEN 'a' ELSE typ.typtype END AS typtype,
      CASE WHEN proc.proname = 'array_recv' THEN typ.typelem WHEN typ.typtype = 'r' THEN rngsubtype
        WHEN typ.typtype = 'm' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = typ.oid)
        WHEN typ.typtype = 'd' THEN typ.typbasetype END AS elemtypoid, typ.typcategory
    FROM pg_type AS typ LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
    LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)
  ) AS typ
  LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = elemtypoid
  LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid)
  LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elemtyp.typreceive
) AS t
JOIN pg_namespace AS ns ON (ns.oid = typnamespace)
WHERE typtype IN ('b', 'r', 'm', 'e', 'd') OR (typtype = 'c' AND relkind = 'c')
  OR (typtype = 'p' AND typname IN ('record', 'void', 'unknown'))
  OR (typtype = 'a' AND (elemtyptype IN ('b', 'r', 'm', 'e', 'd') OR (elemtyptype = 'p' AND elemtypname IN ('record', 'void'))
    OR (elemtyptype = 'c' AND elemrelkind = 'c')))
ORDER BY CASE WHEN typtype IN ('b', 'e', 'p') THEN 0 WHEN typtype = 'c' THEN 1 WHEN typtype = 'r' THEN 2
  WHEN typtype = 'm' THEN 3 WHEN typtype = 'd' AND elemtyptype <> 'a' THEN 4 WHEN typtype = 'a' THEN 5 ELSE 6 END;
-- look fields of composite types
SELECT typ.oid, att.attname, att.atttypid FROM pg_type AS typ JOIN pg_namespace AS ns ON (ns.oid = typ.typnamespace)
JOIN pg_class AS cls ON (cls.oid = typ.typrelid) JOIN pg_attribute AS att ON (att.attrelid = typ.typrelid)
WHERE (typ.typtype = 'c' AND cls.relkind = 'c') AND attnum > 0 AND NOT attisdropped ORDER BY typ.oid, att.attnum;
-- look labels of enumerations
SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid ORDER BY oid, enumsortorder;
-- look the character set
select character_set_name from INFORMATION_SCHEMA.character_sets;
-- look tables of the navigator
select TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE from INFORMATION_SCHEMA.tables
where TABLE_SCHEMA not in ('information_schema', 'pg_catalog') order by TABLE_SCHEMA, TABLE_NAME;
-- look columns
-- types: data_type: a text that is put together is a text
select COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE,
  case when (data_type like '%unsigned%') then DATA_TYPE || ' unsigned' else DATA_TYPE end as DATA_TYPE
from INFORMATION_SCHEMA.columns where TABLE_SCHEMA = 'public' and TABLE_NAME = 'orders'
order by TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION;
-- look keys and indexes
select i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME as INDEX_NAME, ii.COLUMN_NAME, ii.ORDINAL_POSITION,
  case when i.CONSTRAINT_TYPE = 'PRIMARY KEY' then 'Y' else 'N' end as PRIMARY_KEY
from INFORMATION_SCHEMA.table_constraints i
inner join INFORMATION_SCHEMA.key_column_usage ii on i.CONSTRAINT_SCHEMA = ii.CONSTRAINT_SCHEMA
  and i.CONSTRAINT_NAME = ii.CONSTRAINT_NAME and i.TABLE_SCHEMA = ii.TABLE_SCHEMA and i.TABLE_NAME = ii.TABLE_NAME
where i.TABLE_SCHEMA = 'public' and i.TABLE_NAME = 'orders' and i.CONSTRAINT_TYPE in ('PRIMARY KEY', 'UNIQUE')
order by i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME, ii.TABLE_SCHEMA, ii.TABLE_NAME, ii.ORDINAL_POSITION;
-- look what a table refers to
select pkcol.COLUMN_NAME as PK_COLUMN_NAME, fkcol.TABLE_SCHEMA as FK_TABLE_SCHEMA, fkcol.TABLE_NAME as FK_TABLE_NAME,
  fkcol.COLUMN_NAME as FK_COLUMN_NAME, fkcol.ORDINAL_POSITION as ORDINAL,
  fkcon.CONSTRAINT_SCHEMA || '_' || fkcol.TABLE_NAME || '_' || 'customers' || '_' || fkcon.CONSTRAINT_NAME as FK_NAME
from (select distinct constraint_catalog, constraint_schema, unique_constraint_schema, constraint_name, unique_constraint_name
  from INFORMATION_SCHEMA.referential_constraints) fkcon
inner join (select distinct constraint_schema, constraint_name, table_name, column_name, table_schema, ordinal_position
  from INFORMATION_SCHEMA.key_column_usage) fkcol on fkcon.CONSTRAINT_SCHEMA = fkcol.CONSTRAINT_SCHEMA
  and fkcon.CONSTRAINT_NAME = fkcol.CONSTRAINT_NAME
inner join (select distinct constraint_schema, constraint_name, table_name, column_name, table_schema, ordinal_position
  from INFORMATION_SCHEMA.key_column_usage) pkcol on fkcon.UNIQUE_CONSTRAINT_SCHEMA = pkcol.CONSTRAINT_SCHEMA
  and fkcon.UNIQUE_CONSTRAINT_NAME = pkcol.CONSTRAINT_NAME
where pkcol.TABLE_SCHEMA = 'public' and pkcol.TABLE_NAME = 'customers' and pkcol.ORDINAL_POSITION = fkcol.ORDINAL_POSITION
order by FK_NAME, fkcol.ORDINAL_POSITION;
-- look types of the columns of a statement, without its rows
select "$Table"."code" as "code", "$Table"."population" as "population", "$Table"."founded" as "founded"
from "public"."countries" "$Table" limit 0;

-- refuse 42501 the preview of a table
-- why: rows of people are not shown
select "$Table"."id" as "id", "$Table"."status" as "status", "$Table"."amount" as "amount"
from "public"."orders" "$Table" limit 1000;
-- ask the preview of a public table
select "$Table"."code" as "code", "$Table"."name" as "name", "$Table"."region" as "region",
  "$Table"."population" as "population", "$Table"."area" as "area", "$Table"."founded" as "founded", "$Table"."eu" as "eu"
from "public"."countries" "$Table" order by "$Table"."code" limit 1000;
-- ask the preview of a view
select "$Table"."status" as "status", "$Table"."n" as "n", "$Table"."total" as "total"
from "public"."order_totals" "$Table" order by "$Table"."status" limit 4096;
-- ask how many
select count(*) as "a0" from "public"."orders" "rows";
-- ask by status
select "_"."status", "_"."a0" from (
  select "rows"."status" as "status", sum("rows"."amount") as "a0" from "public"."orders" "rows" group by "rows"."status"
) "_" where not "_"."a0" is null order by "_"."status" limit 1000001;
-- ask by a selected column of a derived table
select "_"."status", "_"."a0", "_"."a1" from (
  select "rows"."status" as "status", sum("rows"."amount") as "a0", count(1) as "a1" from (
    select "_"."status", "_"."amount" from "public"."orders" "_") "rows"
  group by "status") "_" where (not "_"."a0" is null or not "_"."a1" is null) order by "_"."status" limit 1000001;
-- ask across tables
select "_"."country", "_"."a0" from (
  select "rows"."country" as "country", sum("rows"."amount") as "a0" from (
    select "$Outer"."amount", "$Inner"."country" from "public"."orders" "$Outer"
    left outer join "public"."customers" "$Inner" on ("$Outer"."customer_id" = "$Inner"."id")) "rows"
  group by "country") "_" where not "_"."a0" is null order by "_"."country" limit 1000001;
-- ask across a public table
-- keys: 1
select "rows"."region" as "region", count(distinct "rows"."id") as "a0" from (
  select "$Outer"."id", "$Inner"."region" from "public"."customers" "$Outer"
  inner join "public"."countries" "$Inner" on ("$Outer"."country" = "$Inner"."code")) "rows"
group by "region" order by "region" limit 1000001;
-- ask a slicer
select "rows"."segment" as "segment" from "public"."customers" "rows" group by "rows"."segment" order by "rows"."segment" limit 501;
-- ask a slicer's choice
select sum("rows"."amount") as "a0" from (
  select "_"."amount" from "public"."orders" "_" where "_"."status" = 'paid' and "_"."status" is not null) "rows";
-- ask a choice of several
select sum("rows"."quantity") as "a0" from (
  select "_"."quantity" from "public"."orders" "_" where "_"."status" in ('paid', 'new')) "rows";
-- ask a range of time
select count(1) as "a0" from (
  select "_"."id" from "public"."orders" "_"
  where "_"."created_at" >= timestamp '2024-02-01 00:00:00' and "_"."created_at" < timestamp '2024-03-01 00:00:00') "rows";
-- ask by year and month
select "rows"."y" as "y", "rows"."m" as "m", count(1) as "a0" from (
  select extract(year from "_"."ordered_on") as "y", extract(month from "_"."ordered_on") as "m" from "public"."orders" "_") "rows"
group by "rows"."y", "rows"."m" order by "rows"."y", "rows"."m";
-- ask by day
select "rows"."ordered_on" as "ordered_on", sum("rows"."amount") as "a0" from "public"."orders" "rows"
where "rows"."ordered_on" >= date '2024-02-01' and "rows"."ordered_on" < date '2024-02-08'
group by "rows"."ordered_on" order by "rows"."ordered_on" limit 1000001;
-- ask an average, as sum and count
select sum("rows"."age")::float8 as "a0", count("rows"."age") as "a1" from "public"."customers" "rows";
-- ask least and most of a public table
select min("rows"."population") as "a0", max("rows"."population") as "a1" from "public"."countries" "rows";
-- ask the top
select "_"."status", "_"."a0" from (
  select "rows"."status" as "status", sum("rows"."amount") as "a0" from "public"."orders" "rows" group by "status") "_"
order by "_"."a0" desc, "_"."status" limit 3;
