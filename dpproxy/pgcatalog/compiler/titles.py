"""Names of unnamed result columns, as PostgreSQL gives them (parse_target.c: FigureColname)."""

from sqlglot import exp

from dpproxy.pgcatalog.compiler import casts
from dpproxy.pgcatalog.compiler.scopes import fold
from dpproxy.sql.grammar import NAME

UNNAMED = "?column?"

_FIXED: dict[type[exp.Expr], str] = {
    exp.Array: "array",
    exp.ArrayAgg: "array_agg",
    exp.ArraySize: "array_length",
    exp.ArrayToString: "array_to_string",
    exp.Ceil: "ceil",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentVersion: "version",
    exp.Exists: "exists",
    exp.Explode: "unnest",
    exp.ExplodingGenerateSeries: "generate_series",
    exp.GenerateSeries: "generate_series",
    exp.GroupConcat: "string_agg",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.StrPosition: "position",
    exp.TimeToStr: "to_char",
    exp.TimestampTrunc: "date_trunc",
    exp.StrToDate: "to_date",
    exp.Trim: "btrim",
    exp.Tuple: "row",
}

_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}

_THROUGH = (exp.Paren, exp.Bracket, exp.Window, exp.Filter, exp.Collate)
"""Nodes that take the name of their operand."""

_PRINTED = {
    "int": "int4",
    "smallint": "int2",
    "bigint": "int8",
    "boolean": "bool",
    "double": "float8",
    "decimal": "numeric",
    "float": "float4",
    "real": "float4",
    "timestampntz": "timestamp",
    "varbinary": "bytea",
    "character": "bpchar",
}
"""Types whose casts are named by pg_type.typname."""


def title(node: exp.Expr) -> str:
    """The name of a projection.

    Example:
        >>> from sqlglot import parse_one
        >>> [title(p) for p in parse_one("SELECT 1, relname, 'a'::int::text, max(b)", read="postgres").expressions]
        ['?column?', 'relname', 'text', 'max']
    """
    return _name_of(node)[0]


def _name_of(node: exp.Expr) -> tuple[str, bool]:
    """The name, and whether an enclosing cast or CASE replaces it."""
    match node:
        case exp.Alias() | exp.Column() | exp.Identifier():
            return _identifier_text(node), False
        case exp.Dot():
            return _name_of(node.expression)
        case exp.Anonymous():
            return str(node.name).lower(), False
        case exp.Cast() | exp.Interval():
            return _of_cast(node)
        case exp.Case():
            default = node.args.get("default")
            inner, weak = (UNNAMED, True) if default is None else _name_of(default)
            return ("case", True) if weak else (inner, False)
        case exp.Subquery() | exp.Select():
            return _name_of(node.selects[0]) if node.selects else (UNNAMED, True)
        case _:
            return _by_class(node)


def _identifier_text(node: exp.Alias | exp.Column | exp.Identifier) -> str:
    """The name, in lower case unless quoted."""
    name = (
        node.args["alias"]
        if isinstance(node, exp.Alias)
        else node.this
        if isinstance(node, exp.Column)
        else node
    )
    return fold(name) or str(node.output_name)


def _of_cast(node: exp.Cast | exp.Interval) -> tuple[str, bool]:
    if isinstance(node, exp.Interval):
        return "interval", True
    if isinstance(node.this, exp.IntDiv | exp.StrToDate):  # as the parser reads div and to_date
        return "div" if isinstance(node.this, exp.IntDiv) else "to_date", False
    inner, weak = _name_of(node.this)
    name = casts.element_name(node.to)
    return (_PRINTED.get(name, name), True) if weak else (inner, False)


def _by_class(node: exp.Expr) -> tuple[str, bool]:
    if isinstance(node, _THROUGH):
        return _name_of(node.this)
    if called := node.meta.get(NAME):
        return str(called).lower(), False
    if isinstance(node, exp.Trim) and (position := node.args.get("position")):
        return _TRIMS.get(str(position), "btrim"), False
    if type(node) in _FIXED:
        return _FIXED[type(node)], False
    operator = isinstance(node, exp.Binary | exp.Connector | exp.Predicate)
    if operator or not isinstance(node, exp.Func):
        return UNNAMED, True
    return str(type(node).sql_name()).lower(), False
