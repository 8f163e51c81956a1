"""Functions of one value in FROM: a relation of one row, whose one column has the alias's name or the function's."""

from sqlglot import exp

from dpproxy.pgcatalog import titles
from dpproxy.pgcatalog.scopes import folded

_CLASSES = frozenset({
    exp.Abs, exp.ArrayAppend, exp.ArrayConcat, exp.ArrayPosition, exp.ArrayPrepend, exp.ArrayRemove, exp.ArraySize,
    exp.ArrayToString, exp.Ceil, exp.Concat, exp.ConcatWs, exp.CurrentDatabase, exp.CurrentSchema, exp.CurrentSchemas,
    exp.CurrentTimestamp, exp.CurrentVersion, exp.Floor, exp.Left, exp.Length, exp.Lower, exp.RegexpReplace,
    exp.Replace, exp.Reverse, exp.Right, exp.Round, exp.SplitPart, exp.StringToArray, exp.StrPosition, exp.Substring,
    exp.Trim, exp.Upper,
})  # fmt: skip
_NAMES = frozenset({
    "array_lower", "array_upper", "cardinality", "col_description", "current_database", "current_setting",
    "current_schemas", "format_type", "getdatabaseencoding", "obj_description", "parse_ident", "pg_backend_pid",
    "pg_client_encoding", "pg_encoding_to_char", "pg_get_constraintdef", "pg_get_expr", "pg_get_indexdef",
    "pg_get_userbyid", "pg_get_viewdef", "pg_is_in_recovery", "pg_size_pretty", "quote_ident", "quote_literal",
    "quote_nullable", "set_config", "string_to_array",
})  # fmt: skip
_PARTS = frozenset({"this", "db", "alias"})


def write_rows(tree: exp.Expr) -> None:
    """Put a subquery for each, in place: only calls on the lists above, all others stay as they are."""
    for table in list(tree.find_all(exp.Table)):
        alias = table.args.get("alias") or exp.TableAlias()
        if _is_scalar(table) and len(alias.args.get("columns") or ()) <= 1:
            table.replace(_row(table, alias))


def _is_scalar(table: exp.Table) -> bool:
    used = {key for key, value in table.args.items() if value}
    is_own = folded(table.args.get("db")) in ("", "pg_catalog")
    called = table.this
    known = type(called) in _CLASSES or (type(called) is exp.Anonymous and called.name.lower() in _NAMES)
    return known and is_own and used <= _PARTS


def _row(table: exp.Table, alias: exp.Expr) -> exp.Subquery:
    name = folded(alias.this) or titles.title(table.this)
    column = next((folded(given) for given in alias.args.get("columns") or ()), name)
    value = exp.Alias(this=table.this, alias=exp.to_identifier(column, quoted=True))
    shown = exp.TableAlias(this=exp.to_identifier(name, quoted=True))
    return exp.Subquery(this=exp.Select(expressions=[value]), alias=shown)
