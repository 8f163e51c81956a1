-- Macros of the engine over the catalogue's tables: what PostgreSQL computes, and the engine does not or does otherwise.
-- A macro's argument is pasted into its body, so columns in a body have names that no statement's column has.

-- Of the compiler. No statement names them.

CREATE MACRO c_as_text(x) AS
  CASE WHEN typeof(x) LIKE '%[]' THEN '{' || replace(regexp_extract(CAST(x AS VARCHAR), '^.(.*).$', 1), ', ', ',') || '}'
  ELSE CAST(x AS VARCHAR) END;
CREATE MACRO c_list_text(x) AS
  CASE WHEN typeof(x) LIKE '%[][]' THEN replace(translate(CAST(x AS VARCHAR), '[]', '{}'), ', ', ',')
  ELSE '{' || array_to_string(list_transform(from_json(to_json(x), '["VARCHAR"]'), lambda i:
    CASE WHEN i IS NULL THEN 'NULL' WHEN typeof(x) = 'BOOLEAN[]' THEN left(i, 1)
    WHEN typeof(x) = 'DOUBLE[]' THEN regexp_replace(i, '[.]0$', '')
    WHEN i = '' OR upper(i) = 'NULL' OR regexp_matches(i, '[{}",\\\s]')
    THEN '"' || replace(replace(i, '\', '\\'), '"', '\"') || '"' ELSE i END), ',') || '}' END;
CREATE MACRO c_numeric_text(x) AS
  CASE WHEN typeof(x) LIKE 'DECIMAL(38,%' AND contains(CAST(x AS VARCHAR), '.')
  THEN regexp_replace(CAST(x AS VARCHAR), '[.]?0+$', '') ELSE CAST(x AS VARCHAR) END;
CREATE MACRO c_bytea_text(x) AS '\x' || lower(hex(x));
CREATE MACRO c_flag_text(x) AS CASE WHEN x THEN 't' WHEN NOT x THEN 'f' END;
CREATE MACRO c_flag_texts(a) AS list_transform(a, lambda x: CASE WHEN x THEN 't' WHEN NOT x THEN 'f' END);
CREATE MACRO c_float4_digits(x) AS CAST(format('{:.6g}', CAST(x AS DOUBLE)) AS DECIMAL(38,10));
CREATE MACRO c_float8_digits(x) AS CAST(format('{:.15g}', x) AS DECIMAL(38,10));
CREATE MACRO c_large_size(x) AS
  CASE WHEN abs(x) // 512 < 20479 THEN (x // 512 + sign(x)) // 2 || ' kB'
  WHEN abs(x) // 524288 < 20479 THEN (x // 524288 + sign(x)) // 2 || ' MB'
  WHEN abs(x) // 536870912 < 20479 THEN (x // 536870912 + sign(x)) // 2 || ' GB'
  WHEN abs(x) // 549755813888 < 20479 THEN (x // 549755813888 + sign(x)) // 2 || ' TB'
  ELSE (x // 562949953421312 + sign(x)) // 2 || ' PB' END;
CREATE MACRO c_piece(x, s, n := 2147483647) AS
  substring(x, greatest(s, 1), greatest(CAST(s AS BIGINT) + n - greatest(s, 1), 0));
CREATE MACRO c_split(x, s) AS CASE WHEN x = '' THEN CAST([] AS VARCHAR[]) ELSE string_split(x, s) END;
CREATE MACRO c_power(x, y) AS
  CASE WHEN isinf(pow(x, y)) AND NOT (isinf(x) OR isinf(y))
  THEN CAST(error('out of range for the destination type') AS DOUBLE) ELSE pow(x, y) END;
CREATE MACRO c_vector_lower(a, d) AS CASE WHEN d = 1 AND len(a) > 0 THEN 0 END;
CREATE MACRO c_vector_upper(a, d) AS CASE WHEN d = 1 AND len(a) > 0 THEN CAST(len(a) - 1 AS INTEGER) END;
CREATE MACRO c_vector_subscripts(a, d) AS CAST(unnest(CASE WHEN d = 1 THEN range(len(a)) ELSE [] END) AS INTEGER);
CREATE MACRO c_type_array(a) AS
  coalesce((SELECT list(coalesce(n.internal_name, CAST(t AS VARCHAR)) ORDER BY i)
    FROM (SELECT unnest(a) AS t, generate_subscripts(a, 1) AS i) AS u
    LEFT JOIN (FROM internal.type_names WHERE internal_shown) AS n ON n.internal_oid = t),
  CASE WHEN a IS NOT NULL THEN CAST([] AS VARCHAR[]) END);
-- aclexplode of a list as pg_class.acl writes it, with a map of roles to OIDs.
CREATE MACRO c_expand_acl(a, r) AS
  unnest(flatten(list_transform(a, lambda i: list_transform(
    string_split(regexp_extract(i, '=([a-zA-Z]+)/', 1), ''),
    lambda p: {'grantor': r[trim(string_split(i, '/')[-1], '"')],
      'grantee': coalesce(r[trim(string_split(i, '=')[1], '"')], CAST(0 AS UINTEGER)),
      'privilege_type': map(['r', 'a', 'w', 'd', 'D', 'x', 't', 'X', 'U', 'C', 'c', 'T'], ['SELECT', 'INSERT',
        'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER', 'EXECUTE', 'USAGE', 'CREATE', 'CONNECT',
        'TEMPORARY'])[p],
      'is_grantable': false}))));
-- One answer for every object: others' activity is not revealed, and what does not exist here has no properties.
CREATE MACRO c_true_of(a) AS CAST(CASE WHEN a IS NULL THEN NULL ELSE true END AS BOOLEAN);
CREATE MACRO c_false_of(a) AS CAST(CASE WHEN a IS NULL THEN NULL ELSE false END AS BOOLEAN);
CREATE MACRO c_zero_of(a) AS CAST(CASE WHEN a IS NULL THEN NULL ELSE 0 END AS BIGINT);
CREATE MACRO c_no_age(a) AS CASE WHEN a IS NULL THEN NULL ELSE 0 END;
CREATE MACRO c_no_moment(a) AS CASE WHEN a IS NULL THEN NULL ELSE CAST(NULL AS TIMESTAMPTZ) END;

-- Functions of PostgreSQL, by their names there.

CREATE MACRO c__pg_expandarray(a) AS unnest(list_transform(a, lambda v, i: {'x': v, 'n': CAST(i AS INTEGER)}));
CREATE MACRO c_acldefault(a, b) AS CAST(error(a) AS VARCHAR[]);
CREATE MACRO c_array_lower(a, d) AS CASE WHEN d = 1 AND len(a) > 0 THEN 1 END;
CREATE MACRO c_array_to_string(a, s, n := NULL) AS
  CASE WHEN s IS NOT NULL THEN array_to_string(list_transform(a, lambda i: coalesce(CAST(i AS VARCHAR), n)), s) END;
CREATE MACRO c_array_upper(a, d) AS CASE WHEN d = 1 AND len(a) > 0 THEN CAST(len(a) AS INTEGER) END;
CREATE MACRO c_cardinality(a) AS CAST(len(a) AS INTEGER);
CREATE MACRO c_col_description(o, n) AS
  (SELECT min(description) FROM pg_catalogue.pg_description WHERE objoid = o AND objsubid = n AND classoid = 1259);
-- A lookup in a map, not a correlated subquery: that is run as a join, which puts rows in another order, and clients
-- (psql's \gdesc) rely on the order of a VALUES list.
CREATE MACRO c_format_type(t, m) AS
  CASE WHEN t IS NULL THEN NULL WHEN t = 0 THEN '-'
  WHEN t IN (1700, 1231) AND m > 3
  THEN 'numeric(' || ((m - 4) >> 16) || ',' || ((m - 4) & 65535) || ')' || CASE t WHEN 1231 THEN '[]' ELSE '' END
  WHEN t IN (1042, 1043) AND m > 3
  THEN CASE t WHEN 1042 THEN 'character(' ELSE 'character varying(' END || (m - 4) || ')'
  WHEN t = 1042 AND m IS NOT NULL THEN 'bpchar'
  WHEN t IN (1083, 1114, 1184, 1266) AND m >= 0
  THEN CASE WHEN t IN (1083, 1266) THEN 'time(' ELSE 'timestamp(' END || m || ') with'
    || CASE WHEN t IN (1184, 1266) THEN '' ELSE 'out' END || ' time zone'
  ELSE coalesce(
    (SELECT map(list(internal_oid), list(internal_name)) FROM internal.type_names WHERE internal_shown)[t], '???') END;
CREATE MACRO c_getdatabaseencoding() AS 'UTF8';
CREATE MACRO c_inet_client_addr() AS CAST(NULL AS VARCHAR);
CREATE MACRO c_inet_client_port() AS CAST(NULL AS INTEGER);
CREATE MACRO c_inet_server_addr() AS CAST(NULL AS VARCHAR);
CREATE MACRO c_inet_server_port() AS CAST(NULL AS INTEGER);
CREATE MACRO c_obj_description(o, k := 'pg_class') AS
  CASE WHEN k = 'pg_class' THEN (SELECT min(description) FROM pg_catalogue.pg_description
  WHERE objoid = o AND objsubid = 0 AND classoid = 1259) END;
CREATE MACRO c_oidvectortypes(a) AS
  array_to_string(coalesce((SELECT list(coalesce(n.internal_name, CAST(t AS VARCHAR)) ORDER BY i)
    FROM (SELECT unnest(a) AS t, generate_subscripts(a, 1) AS i) AS u
    LEFT JOIN (FROM internal.type_names WHERE internal_shown) AS n ON n.internal_oid = t),
  CASE WHEN a IS NOT NULL THEN CAST([] AS VARCHAR[]) END), ', ');
CREATE MACRO c_pg_advisory_unlock_all() AS '';
CREATE MACRO c_pg_blocking_pids(a) AS CAST([] AS INTEGER[]);
CREATE MACRO c_pg_char_to_encoding(x) AS CASE upper(x) WHEN 'UTF8' THEN 6 WHEN 'SQL_ASCII' THEN 0 ELSE -1 END;
CREATE MACRO c_pg_client_encoding() AS 'UTF8';
-- The number of transactions is not revealed: it is always that of the first.
CREATE MACRO c_pg_current_xact_id() AS 3;
CREATE MACRO c_pg_current_xact_id_if_assigned() AS CAST(NULL AS BIGINT);
CREATE MACRO c_pg_describe_object(a, b, c) AS CAST(NULL AS VARCHAR);
CREATE MACRO c_pg_encoding_to_char(x) AS CASE x WHEN 6 THEN 'UTF8' WHEN 0 THEN 'SQL_ASCII' ELSE '' END;
CREATE MACRO c_pg_get_constraintdef(o, pretty := false) AS
  (SELECT min(CASE WHEN pretty THEN internal_pretty ELSE internal_plain END)
  FROM internal.constraint_texts WHERE internal_oid = o);
-- Of pg_constraint.conbin; there are no other expressions.
CREATE MACRO c_pg_get_expr(e, r, pretty := false) AS
  (SELECT min(regexp_extract(CASE WHEN pretty THEN internal_pretty ELSE internal_plain END, '^CHECK [(](.*)[)]$', 1))
  FROM internal.constraint_texts WHERE '{CHECK ' || internal_oid || '}' = e);
CREATE MACRO c_pg_get_function_arguments(o) AS
  (SELECT min(internal_arguments) FROM internal.function_texts WHERE internal_oid = o);
CREATE MACRO c_pg_get_function_result(o) AS
  (SELECT min(internal_result) FROM internal.function_texts WHERE internal_oid = o);
CREATE MACRO c_pg_get_indexdef(o, n := 0, pretty := false) AS
  (SELECT min(CASE WHEN pretty THEN internal_pretty ELSE internal_plain END)
  FROM internal.index_texts WHERE internal_oid = o AND internal_place = n);
CREATE MACRO c_pg_get_userbyid(x) AS
  coalesce((SELECT min(internal_name) FROM internal.role_names WHERE internal_oid = x), 'unknown (OID=' || x || ')');
CREATE MACRO c_pg_is_in_recovery() AS false;
CREATE MACRO c_pg_is_wal_replay_paused() AS false;
CREATE MACRO c_pg_jit_available() AS false;
CREATE MACRO c_pg_my_temp_schema() AS 0;
-- Properties of B-trees, which all indexes are.
CREATE MACRO c_pg_index_column_has_property(o, n, p) AS
  CASE WHEN EXISTS (SELECT 1 FROM pg_catalogue.pg_index WHERE indexrelid = o AND n BETWEEN 1 AND indnatts)
  THEN CASE WHEN lower(p) IN ('asc', 'nulls_last', 'orderable', 'returnable', 'search_array', 'search_nulls') THEN true
    WHEN lower(p) IN ('desc', 'nulls_first', 'distance_orderable') THEN false END END;
CREATE MACRO c_pg_index_has_property(o, p) AS
  CASE WHEN lower(p) IN ('clusterable', 'index_scan', 'bitmap_scan', 'backward_scan')
  AND EXISTS (SELECT 1 FROM pg_catalogue.pg_index WHERE indexrelid = o) THEN true END;
CREATE MACRO c_pg_indexam_has_property(m, p) AS
  CASE WHEN m = 403 AND lower(p) IN ('can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include')
  THEN true END;
CREATE MACRO c_pg_partition_ancestors(a) AS unnest(CASE WHEN a IS NULL THEN [] ELSE CAST([] AS UINTEGER[]) END);
CREATE MACRO c_pg_partition_root(a) AS CASE WHEN a IS NULL THEN NULL ELSE CAST(NULL AS UINTEGER) END;
-- NULL for 0, which stands for sizes that are not revealed.
CREATE MACRO c_pg_size_pretty(x) AS
  CASE WHEN x = 0 THEN NULL WHEN x BETWEEN -10239 AND 10239 THEN x || ' bytes' ELSE c_large_size(CAST(trunc(x) AS HUGEINT)) END;
CREATE MACRO c_pg_tablespace_location(a) AS CASE WHEN a IS NOT NULL THEN '' END;
CREATE MACRO c_quote_ident(x) AS
  CASE WHEN regexp_full_match(CAST(x AS VARCHAR), '[a-z_][a-z0-9_$]*') AND NOT list_contains(
    (SELECT list(word) FROM internal.pg_get_keywords WHERE catcode <> 'U'), CAST(x AS VARCHAR))
  THEN CAST(x AS VARCHAR) ELSE '"' || replace(CAST(x AS VARCHAR), '"', '""') || '"' END;
CREATE MACRO c_quote_literal(x) AS
  CASE WHEN contains(CAST(x AS VARCHAR), '\')
  THEN 'E' || '''' || replace(replace(CAST(x AS VARCHAR), '\', '\\'), '''', '''''') || ''''
  ELSE '''' || replace(CAST(x AS VARCHAR), '''', '''''') || '''' END;
CREATE MACRO c_quote_nullable(x) AS
  coalesce(CASE WHEN contains(CAST(x AS VARCHAR), '\')
  THEN 'E' || '''' || replace(replace(CAST(x AS VARCHAR), '\', '\\'), '''', '''''') || ''''
  ELSE '''' || replace(CAST(x AS VARCHAR), '''', '''''') || '''' END, 'NULL');
CREATE MACRO c_shobj_description(a, b) AS CAST(NULL AS VARCHAR);
CREATE MACRO c_txid_current() AS 3;
CREATE MACRO c_txid_current_if_assigned() AS CAST(NULL AS BIGINT);
