"""Functions of PostgreSQL that DuckDB lacks or computes differently, as DuckDB macros over the catalogue's tables.

A macro's argument is pasted into its body, so columns there have names that no statement's column has.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache

from sqlglot import exp

from dpproxy.analysis import written
from dpproxy.pgcatalog import oids

_NAMES = {
    "class": "class_names",
    "type": "type_names",
    "role": "role_names",
    "schema": "schema_names",
    "proc": "function_names",
    "procedure": "function_signatures",
}


def _lookups(kind: str, table: str) -> dict[str, tuple[str, str]]:
    given = "CAST(x AS VARCHAR)"
    spelled = f"CASE WHEN contains({given}, '\"') THEN {given} ELSE lower({given}) END"
    rows = f"FROM internal.{table} WHERE"
    found = f"(SELECT min(internal_oid) {rows} internal_name = {spelled})"
    shown = f"(SELECT min(internal_name) {rows} internal_shown AND internal_oid = x)"
    return {
        f"to_{kind}": ("x", f"coalesce(TRY_CAST(x AS UINTEGER), {found})"),
        f"{kind}_name": ("x", f"coalesce({shown}, CASE x WHEN 0 THEN '-' ELSE CAST(x AS VARCHAR) END)"),
    }


_NULL = "CAST(NULL AS VARCHAR)"
_COMMENT = (
    "(SELECT min(description) FROM pg_catalogue.pg_description "
    "WHERE objoid = o AND objsubid = 0 AND classoid = 1259)"
)
_COLUMN_COMMENT = (
    "(SELECT min(description) FROM pg_catalogue.pg_description "
    "WHERE objoid = o AND objsubid = n AND classoid = 1259)"
)
_CONSTRAINT = (
    "(SELECT min(CASE WHEN pretty THEN internal_pretty ELSE internal_plain END) FROM internal.constraint_texts "
    "WHERE internal_oid = o)"
)
_INDEX = (
    "(SELECT min(CASE WHEN pretty THEN internal_pretty ELSE internal_plain END) FROM internal.index_texts "
    "WHERE internal_oid = o AND internal_place = n)"
)
_EXPRESSION = (
    "(SELECT min(regexp_extract(CASE WHEN pretty THEN internal_pretty ELSE internal_plain END, "
    "'^CHECK [(](.*)[)]$', 1)) FROM internal.constraint_texts WHERE '{CHECK ' || internal_oid || '}' = e)"
)
"""pg_get_expr: of pg_constraint.conbin; there are no other expressions."""
_ARGUMENTS = "(SELECT min(internal_arguments) FROM internal.function_texts WHERE internal_oid = o)"
_RESULT = "(SELECT min(internal_result) FROM internal.function_texts WHERE internal_oid = o)"
_TYPES = (
    "coalesce((SELECT list(coalesce(n.internal_name, CAST(t AS VARCHAR)) ORDER BY i) FROM (SELECT unnest(a) AS t, "
    "generate_subscripts(a, 1) AS i) AS u LEFT JOIN (FROM internal.type_names WHERE internal_shown) AS n "
    "ON n.internal_oid = t), CASE WHEN a IS NOT NULL THEN CAST([] AS VARCHAR[]) END)"
)
_ROLE = (
    "coalesce((SELECT min(internal_name) FROM internal.role_names WHERE internal_oid = x), "
    "'unknown (OID=' || x || ')')"
)
_QUOTED = "'''' || replace({0}, '''', '''''') || ''''"
_TEXT = (
    "CASE WHEN contains(CAST(x AS VARCHAR), '\\') THEN 'E' || "
    + _QUOTED.format("replace(CAST(x AS VARCHAR), '\\', '\\\\')")
    + " ELSE "
    + _QUOTED.format("CAST(x AS VARCHAR)")
    + " END"
)
_MODIFIED = (
    "WHEN t IN (1042, 1043) AND m > 3 THEN CASE t WHEN 1042 THEN 'character(' ELSE 'character varying(' END "
    "|| (m - 4) || ')' "
    "WHEN t = 1042 AND m IS NOT NULL THEN 'bpchar' "
    "WHEN t IN (1083, 1114, 1184, 1266) AND m >= 0 THEN CASE WHEN t IN (1083, 1266) THEN 'time(' ELSE 'timestamp(' END "
    "|| m || ') with' || CASE WHEN t IN (1184, 1266) THEN '' ELSE 'out' END || ' time zone' "
)
_NAMES_OF_TYPES = (
    "(SELECT map(list(internal_oid), list(internal_name)) FROM internal.type_names WHERE internal_shown)"
)
_FORMAT = (
    "CASE WHEN t IS NULL THEN NULL WHEN t = 0 THEN '-' WHEN t IN (1700, 1231) AND m > 3 THEN "
    "'numeric(' || ((m - 4) >> 16) || ',' || ((m - 4) & 65535) || ')' || CASE t WHEN 1231 THEN '[]' ELSE '' END "
    f"{_MODIFIED} ELSE coalesce({_NAMES_OF_TYPES}[t], '???') END"
)
"""A lookup in a map, not a correlated subquery: that is run as a join, which puts rows in another order, and clients
(psql's \\gdesc) rely on the order of a VALUES list."""
_ITEM = (
    "CASE WHEN i IS NULL THEN 'NULL' WHEN typeof(x) = 'BOOLEAN[]' THEN left(i, 1) "
    "WHEN typeof(x) = 'DOUBLE[]' THEN regexp_replace(i, '[.]0$', '') "
    """WHEN i = '' OR upper(i) = 'NULL' OR regexp_matches(i, '[{}",\\\\\\s]') """
    """THEN '"' || replace(replace(i, '\\', '\\\\'), '"', '\\"') || '"' ELSE i END"""
)
_LIST = (
    "CASE WHEN typeof(x) LIKE '%[][]' THEN replace(translate(CAST(x AS VARCHAR), '[]', '{}'), ', ', ',') "
    f"""ELSE '{{' || array_to_string(list_transform(from_json(to_json(x), '["VARCHAR"]'), lambda i: {_ITEM}), ',') """
    "|| '}' END"
)
_AS_TEXT = (
    "CASE WHEN typeof(x) LIKE '%[]' THEN '{' || replace(regexp_extract(CAST(x AS VARCHAR), '^.(.*).$', 1), ', ', ',') "
    "|| '}' ELSE CAST(x AS VARCHAR) END"
)
_NUMERIC = (
    "CASE WHEN typeof(x) LIKE 'DECIMAL(38,%' AND contains(CAST(x AS VARCHAR), '.') "
    "THEN regexp_replace(CAST(x AS VARCHAR), '[.]?0+$', '') ELSE CAST(x AS VARCHAR) END"
)
_SIZE = (
    "CASE WHEN x = 0 THEN NULL WHEN abs(x) < 10240 THEN x || ' bytes' "
    + " ".join(
        f"WHEN abs(x) // {512 * 1024**power} < 20479 THEN (x // {512 * 1024**power} + sign(x)) // 2 || ' {unit}'"
        for power, unit in enumerate(("kB", "MB", "GB", "TB"))
    )
    + f" ELSE (x // {512 * 1024**4} + sign(x)) // 2 || ' PB' END"
)
"""pg_size_pretty; NULL for 0, which stands for sizes that are not revealed."""
_PRIVILEGES = (
    "map(['r', 'a', 'w', 'd', 'D', 'x', 't', 'X', 'U', 'C', 'c', 'T'], ['SELECT', 'INSERT', 'UPDATE', 'DELETE', "
    "'TRUNCATE', 'REFERENCES', 'TRIGGER', 'EXECUTE', 'USAGE', 'CREATE', 'CONNECT', 'TEMPORARY'])"
)
_ACL = (
    "unnest(flatten(list_transform(a, lambda i: list_transform("
    "string_split(regexp_extract(i, '=([a-zA-Z]+)/', 1), ''), "
    """lambda p: {'grantor': r[trim(string_split(i, '/')[-1], '"')], """
    """'grantee': coalesce(r[trim(string_split(i, '=')[1], '"')], CAST(0 AS UINTEGER)), """
    f"'privilege_type': {_PRIVILEGES}[p], 'is_grantable': false}}))))"
)
"""aclexplode of a list as pg_class.acl writes it, with a map of roles to OIDs."""
_METHOD = (
    "CASE WHEN m = 403 AND lower(p) IN ('can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include') "
    "THEN true END"
)
_BTREES = "EXISTS (SELECT 1 FROM pg_catalogue.pg_index WHERE indexrelid = o)"
"""Properties of B-trees, which all indexes are."""
_INDEX_PROPERTY = (
    "CASE WHEN lower(p) IN ('clusterable', 'index_scan', 'bitmap_scan', 'backward_scan') "
    f"AND {_BTREES} THEN true END"
)
_COLUMN_PROPERTY = (
    "CASE WHEN EXISTS (SELECT 1 FROM pg_catalogue.pg_index WHERE indexrelid = o AND n BETWEEN 1 AND indnatts) THEN "
    "CASE WHEN lower(p) IN ('asc', 'nulls_last', 'orderable', 'returnable', 'search_array', 'search_nulls') THEN true "
    "WHEN lower(p) IN ('desc', 'nulls_first', 'distance_orderable') THEN false END END"
)
_POWER = (
    "CASE WHEN isinf(pow(x, y)) AND NOT (isinf(x) OR isinf(y)) "
    "THEN CAST(error('out of range for the destination type') AS DOUBLE) ELSE pow(x, y) END"
)
_QUOTE = (
    "CASE WHEN regexp_full_match(CAST(x AS VARCHAR), '[a-z_][a-z0-9_$]*') AND NOT list_contains("
    "(SELECT list(word) FROM internal.pg_get_keywords WHERE catcode <> 'U'), CAST(x AS VARCHAR)) "
    "THEN CAST(x AS VARCHAR) ELSE '\"' || replace(CAST(x AS VARCHAR), '\"', '\"\"') || '\"' END"
)

MACROS: dict[str, tuple[str, str]] = {
    "as_text": ("x", _AS_TEXT),
    "float4_text": ("x", written.FLOAT4),
    "float8_text": ("x", written.FLOAT8),
    "interval_text": ("x", written.INTERVAL),
    "list_text": ("x", _LIST),
    "numeric_text": ("x", _NUMERIC),
    "bytea_text": ("x", "'\\x' || lower(hex(x))"),
    "flag_text": ("x", "CASE WHEN x THEN 't' WHEN NOT x THEN 'f' END"),
    "flag_texts": ("a", "list_transform(a, lambda x: CASE WHEN x THEN 't' WHEN NOT x THEN 'f' END)"),
    "float4_digits": ("x", "CAST(format('{:.6g}', CAST(x AS DOUBLE)) AS DECIMAL(38,10))"),
    "float8_digits": ("x", "CAST(format('{:.15g}', x) AS DECIMAL(38,10))"),
    "float4_texts": ("a", f"list_transform(a, lambda x: {written.FLOAT4})"),
    "float8_texts": ("a", f"list_transform(a, lambda x: {written.FLOAT8})"),
    "piece": (
        "x, s, n := 2147483647",
        "substring(x, greatest(s, 1), greatest(CAST(s AS BIGINT) + n - greatest(s, 1), 0))",
    ),
    "size_text": ("x", _SIZE),
    "split": ("x, s", "CASE WHEN x = '' THEN CAST([] AS VARCHAR[]) ELSE string_split(x, s) END"),
    "array_lower": ("a, d", "CASE WHEN d = 1 AND len(a) > 0 THEN 1 END"),
    "array_upper": ("a, d", "CASE WHEN d = 1 AND len(a) > 0 THEN CAST(len(a) AS INTEGER) END"),
    "cardinality": ("a", "CAST(len(a) AS INTEGER)"),
    "char_to_encoding": ("x", "CASE upper(x) WHEN 'UTF8' THEN 6 WHEN 'SQL_ASCII' THEN 0 ELSE -1 END"),
    "column_comment": ("o, n", _COLUMN_COMMENT),
    "constraint_text": ("o, pretty := false", _CONSTRAINT),
    "encoding_to_char": ("x", "CASE x WHEN 6 THEN 'UTF8' WHEN 0 THEN 'SQL_ASCII' ELSE '' END"),
    "expand_acl": ("a, r", _ACL),
    "expand_array": ("a", "unnest(list_transform(a, lambda v, i: {'x': v, 'n': CAST(i AS INTEGER)}))"),
    "expression_text": ("e, r, pretty := false", _EXPRESSION),
    "false_of": ("a", "CAST(CASE WHEN a IS NULL THEN NULL ELSE false END AS BOOLEAN)"),
    "format_type": ("t, m", _FORMAT),
    "function_arguments": ("o", _ARGUMENTS),
    "function_result": ("o", _RESULT),
    "index_text": ("o, n := 0, pretty := false", _INDEX),
    "join_array": (
        "a, s, n := NULL",
        "array_to_string(list_transform(a, lambda i: coalesce(CAST(i AS VARCHAR), n)), s)",
    ),
    "name_of_role": ("x", _ROLE),
    "no_processes": ("a", "CAST([] AS INTEGER[])"),
    "nothing": ("", "''"),
    "not_kept": ("a, b", "CAST(error(a) AS VARCHAR[])"),
    "no_place": ("a", "CASE WHEN a IS NOT NULL THEN '' END"),
    "no_moment": ("a", "CASE WHEN a IS NULL THEN NULL ELSE CAST(NULL AS TIMESTAMPTZ) END"),
    "no_object": ("a", "CASE WHEN a IS NULL THEN NULL ELSE CAST(NULL AS UINTEGER) END"),
    "no_objects": ("a", "unnest(CASE WHEN a IS NULL THEN [] ELSE CAST([] AS UINTEGER[]) END)"),
    "no_age": ("a", "CASE WHEN a IS NULL THEN NULL ELSE 0 END"),
    "null1": ("a", _NULL),
    "null2": ("a, b", _NULL),
    "null3": ("a, b, c", _NULL),
    "object_comment": ("o, k := 'pg_class'", f"CASE WHEN k = 'pg_class' THEN {_COMMENT} END"),
    "power": ("x, y", _POWER),
    "property_of_column": ("o, n, p", _COLUMN_PROPERTY),
    "property_of_index": ("o, p", _INDEX_PROPERTY),
    "property_of_method": ("m, p", _METHOD),
    "quote_identifier": ("x", _QUOTE),
    "quote_text": ("x", _TEXT),
    "quote_null": ("x", f"coalesce({_TEXT}, 'NULL')"),
    "table_visible": ("x", oids.visible("x")),  # replaced where a schema of the data is not in the path
    "vector_lower": ("a, d", "CASE WHEN d = 1 AND len(a) > 0 THEN 0 END"),
    "vector_subscripts": ("a, d", "CAST(unnest(CASE WHEN d = 1 THEN range(len(a)) ELSE [] END) AS INTEGER)"),
    "vector_types": ("a", f"array_to_string({_TYPES}, ', ')"),
    "vector_upper": ("a, d", "CASE WHEN d = 1 AND len(a) > 0 THEN CAST(len(a) - 1 AS INTEGER) END"),
    "type_array": ("a", _TYPES),
    "true_of": ("a", "CAST(CASE WHEN a IS NULL THEN NULL ELSE true END AS BOOLEAN)"),
    "zero_of": ("a", "CAST(CASE WHEN a IS NULL THEN NULL ELSE 0 END AS BIGINT)"),
    **{name: macro for kind, table in _NAMES.items() for name, macro in _lookups(kind, table).items()},
}  # fmt: skip
"""Parameters and body by name; in DuckDB each name begins with `PREFIX`."""

READS: dict[str, tuple[tuple[str, str], ...]] = {
    "column_comment": (("pg_catalog", "pg_description"),),
    "constraint_text": (("internal", "constraint_texts"),),
    "expression_text": (("internal", "constraint_texts"),),
    "index_text": (("internal", "index_texts"),),
    "format_type": (("internal", "type_names"),),
    "function_arguments": (("internal", "function_texts"),),
    "function_result": (("internal", "function_texts"),),
    "name_of_role": (("internal", "role_names"),),
    "object_comment": (("pg_catalog", "pg_description"),),
    **dict.fromkeys(("property_of_column", "property_of_index"), (("pg_catalog", "pg_index"),)),
    "quote_identifier": (("internal", "pg_get_keywords"),),
    "type_array": (("internal", "type_names"),),
    "vector_types": (("internal", "type_names"),),
    **{
        name: (("internal", table),)
        for kind, table in _NAMES.items()
        for name in (f"to_{kind}", f"{kind}_name")
    },
}
"""The tables that a macro reads, which are filled before it is used."""

PREFIX = "c_"
"""No function of DuckDB begins so."""
_WORD = re.compile(r"[^\W\d]\w*")


@cache
def _counts() -> Mapping[str, tuple[int, Sequence[int]]]:
    """By macro, the number of words of its body, and how often it uses each parameter."""
    found: dict[str, tuple[int, Sequence[int]]] = {}
    for name, (parameters, body) in MACROS.items():
        words = _WORD.findall(body)
        twice = 2 ** words.count("lambda")  # the engine binds what a lambda goes over twice
        named = [twice * words.count(p.partition(":=")[0].strip()) for p in parameters.split(",")]
        found[PREFIX + name] = len(words), named
    return found


def expanded_words(tree: exp.Expr) -> int:
    """The approximate number of words of a statement after its macros are expanded, which copies their arguments."""
    sizes: dict[int, int] = {}
    for node in reversed(list(tree.walk(bfs=True))):
        words, named = 1, (1,) * sum(1 for _ in node.iter_expressions())
        if isinstance(node, exp.Anonymous) and node.name in _counts():
            words, counted = _counts()[node.name]
            named = (*counted, *named)[: len(named)]
        parts = [sizes[id(child)] for child in node.iter_expressions()]
        sizes[id(node)] = words + sum(n * part for n, part in zip(named, parts, strict=True))
    return sizes[id(tree)]


def statements(hidden: Collection[int] = ()) -> str:
    """The CREATE MACRO statements; ``hidden`` are the OIDs of relations that names without a schema do not find."""
    listed = "".join(f" AND x <> {oid}" for oid in sorted(hidden))
    macros = {**MACROS, "table_visible": ("x", f"({oids.visible('x')}{listed})")}
    return ";".join(f"CREATE MACRO {PREFIX}{name}({args}) AS {body}" for name, (args, body) in macros.items())
