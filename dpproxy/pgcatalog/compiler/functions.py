"""The functions a catalogue statement may call, by name; everything else is refused.

None of these reads a file, a setting or the environment of the process, sleeps, or makes a value much larger than
its arguments.
"""

from dpproxy.pgcatalog.compiler import macros

_COUNTED = """
analyze_count autoanalyze_count autovacuum_count blocks_fetched blocks_hit db_blocks_fetched db_blocks_hit db_deadlocks
db_sessions db_temp_bytes db_temp_files db_tuples_deleted db_tuples_fetched db_tuples_inserted db_tuples_returned
db_tuples_updated db_xact_commit db_xact_rollback dead_tuples function_calls ins_since_vacuum live_tuples
mod_since_analyze numscans tuples_deleted tuples_fetched tuples_hot_updated tuples_inserted tuples_returned
tuples_updated vacuum_count
"""
"""Statistics functions of PostgreSQL, always 0 here: others' activity is not revealed."""
_DONE = "analyze autoanalyze autovacuum vacuum"
"""Functions that return when some work was last done: always NULL here."""

_VISIBLE = "collation conversion opclass operator opfamily statistics_obj ts_config ts_dict ts_parser ts_template type"
_SIZED = "database indexes relation table tablespace total_relation"

_TARGETS = {
    "bpchar": "as_text",
    "pg_function_is_visible": "table_visible",
    "pg_get_function_identity_arguments": "pg_get_function_arguments",
    "pg_is_other_temp_schema": "false_of",
    "pg_relation_is_publishable": "false_of",
    "pg_table_is_visible": "table_visible",
    "to_regclass": "to_class",
    "to_regnamespace": "to_schema",
    "to_regrole": "to_role",
    "to_regtype": "to_type",
    **dict.fromkeys((f"pg_{kind}_is_visible" for kind in _VISIBLE.split()), "true_of"),
    **dict.fromkeys((f"pg_{kind}_size" for kind in _SIZED.split()), "zero_of"),
    **dict.fromkeys((f"pg_stat_get_{name}" for name in _COUNTED.split()), "zero_of"),
    **dict.fromkeys((f"pg_stat_get_last_{name}_time" for name in _DONE.split()), "no_moment"),
    **{name: name for name in macros.FUNCTIONS},
}
"""PostgreSQL's name to that of the macro."""

_BY_COUNT = {
    "has_any_column_privilege": (2, 3),
    "has_column_privilege": (3, 4),
    "has_database_privilege": (2, 3),
    "has_function_privilege": (2, 3),
    "has_schema_privilege": (2, 3),
    "has_sequence_privilege": (2, 3),
    "has_table_privilege": (2, 3),
    "pg_has_role": (2, 3),
    "pg_get_function_sqlbody": (1, 1),
    "pg_get_partkeydef": (1, 1),
    "pg_get_ruledef": (1, 2),
    "pg_get_serial_sequence": (2, 2),
    "pg_get_statisticsobjdef_columns": (1, 1),
    "pg_get_triggerdef": (1, 2),
    "pg_get_viewdef": (1, 2),
}
"""Functions with one answer for all objects (privileges, hidden definitions), and the counts of arguments they take."""

PRIVILEGES = frozenset(name for name in _BY_COUNT if name.startswith(("has_", "pg_has_")))
"""Privilege functions: True for SELECT, USAGE and CONNECT; pg_has_role depends on the caller's roles."""

ABSENT = {name: counts for name, counts in _BY_COUNT.items() if name not in PRIVILEGES}
"""Functions that return NULL, by count of arguments."""

PRIVILEGE_COUNTS = {name: _BY_COUNT[name] for name in PRIVILEGES}

_SAME = """
abs array_length btrim ceil char_length concat count floor generate_subscripts length lower ltrim max min mod replace
reverse round rtrim sign split_part starts_with strpos substr substring sum translate trim unnest upper json_object
coalesce nullif array_agg string_agg bool_and bool_or left right concat_ws greatest least array_position row avg
regexp_replace
"""
"""Functions that the engine computes alike, under the same name."""

FUNCTIONS: dict[str, str] = {
    **{name: name for name in _SAME.split()},
    **{name: macros.PREFIX + macro for name, macro in _TARGETS.items()},
    "any": "any",
    "all": "all",
    "some": "any",
    "every": "bool_and",
    "json_build_object": "json_object",
    "jsonb_build_object": "json_object",
    "row_to_json": "to_json",
}
"""PostgreSQL's name to DuckDB's, for calls that are only renamed."""

OF_CATALOGUE = frozenset({
    *_TARGETS, "any", "all", "some", "array_length", "array_position", "array_append", "array_cat", "array_prepend",
    "array_remove", "encode", "format", "generate_series", "generate_subscripts", "json_build_object", "json_object",
    "jsonb_build_object", "row", "row_to_json", "string_to_array", "unnest", "pg_typeof",
})  # fmt: skip
"""Those that no other statement may call."""
