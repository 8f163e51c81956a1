"""Names of unnamed result columns, as PostgreSQL gives them (parse_target.c: FigureColname)."""

from typing import Final

from sqlglot import exp

from dpproxy.sql.grammar import NAME

UNNAMED: Final = "?column?"
TITLE: Final = "title"
"""The key in the ``meta`` of a column for the name of what it stands for, which is a weak one."""
_SYNTAX: Final[dict[type[exp.Expr], str]] = {
    exp.Array: "array", exp.ArrayAgg: "array_agg", exp.ArraySize: "array_length", exp.AtTimeZone: "timezone",
    exp.ArrayToString: "array_to_string", exp.Ceil: "ceil", exp.CurrentVersion: "version", exp.Explode: "unnest",
    exp.ExplodingGenerateSeries: "generate_series", exp.GenerateSeries: "generate_series",
    exp.GroupConcat: "string_agg", exp.JSONArrayAgg: "json_agg", exp.LogicalAnd: "bool_and", exp.LogicalOr: "bool_or",
    exp.StrPosition: "position", exp.StrToDate: "to_date", exp.TimestampTrunc: "date_trunc", exp.TimeToStr: "to_char",
    exp.Tuple: "row", exp.Exists: "exists",
}  # fmt: skip
"""By class, where the statement does not call the function by name."""
_TRIMS: Final = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_THROUGH: Final = (exp.Paren, exp.Bracket, exp.Window, exp.Filter, exp.WithinGroup, exp.Collate)
"""Nodes that take the name of their operand."""
_PRINTED: Final = {
    "int": "int4", "smallint": "int2", "bigint": "int8", "boolean": "bool", "double": "float8", "decimal": "numeric",
    "float": "float4", "real": "float4", "timestampntz": "timestamp", "varbinary": "bytea", "character": "bpchar",
}  # fmt: skip
"""Types whose casts are named by pg_type.typname."""
_SCHEMAS: Final = frozenset({"pg_catalog", "information_schema"})


def title(node: exp.Expr) -> str:
    """The name of a projection.

    Example:
        >>> from sqlglot import parse_one
        >>> [title(p) for p in parse_one("SELECT 1, relname, 'a'::int::text, max(b)", read="postgres").expressions]
        ['?column?', 'relname', 'text', 'max']
    """
    return _named(node)[0]


def _named(node: exp.Expr) -> tuple[str, bool]:
    """The name, and whether a cast or CASE around it has another one."""
    match node:
        case exp.Alias() | exp.Column() | exp.Identifier():
            name = node.args.get("alias", node if isinstance(node, exp.Identifier) else node.this)
            known = node.meta_get(TITLE)
            return known or folded(name) or str(node.output_name), known is not None
        case exp.Dot():
            return _named(node.expression)
        case exp.Cast() if node.meta_get(NAME) is None:  # others were calls
            return _around(node.this, type_name(node.to))
        case exp.Case():
            return _around(node.args.get("default"), "case")
        case exp.Subquery() | exp.Select():
            return _around(next(iter(node.selects), None), UNNAMED)
        case exp.Interval():
            return "interval", True
        case _ if isinstance(node, _THROUGH):
            return _named(node.this)
        case _:
            name = function_name(node)
            return name, name == UNNAMED


def _around(inner: exp.Expr | None, name: str) -> tuple[str, bool]:
    """The name of what stands inside, where that has one of its own."""
    found, is_weak = (UNNAMED, True) if inner is None else _named(inner)
    return (name, True) if is_weak else (found, False)


def function_name(node: exp.Expr) -> str:
    """The name of a function; an operator has none."""
    if called := node.meta_get(NAME) or (node.name if isinstance(node, exp.Anonymous) else None):
        return str(called).lower()
    if isinstance(node, exp.Trim):
        return _TRIMS.get(str(node.args.get("position")), "btrim")
    if type(node) in _SYNTAX:
        return _SYNTAX[type(node)]
    is_operator = isinstance(node, exp.Binary | exp.Connector | exp.Predicate)
    return UNNAMED if is_operator or not isinstance(node, exp.Func) else type(node).sql_name().lower()


def type_name(kind: exp.Expr) -> str:
    """The name of a type, for an array that of its elements, by pg_type.typname."""
    if isinstance(kind, exp.DataType) and kind.this == exp.DType.ARRAY and kind.expressions:
        return type_name(kind.expressions[0])
    name = written_name(kind).removeprefix("_")
    return "bpchar" if getattr(kind, "this", None) == exp.DType.CHAR else _PRINTED.get(name, name)


def written_name(kind: exp.Expr) -> str:
    """The type's name without schema, parameters and brackets, lower case."""
    inner = kind.args.get("kind")
    match inner:
        case exp.Dot(this=exp.Identifier(name=schema), expression=exp.Identifier(name=name)):
            return name.lower() if schema.lower() in _SCHEMAS else f"{schema}.{name}"
        case exp.Identifier(name=name):
            return name.lower()
        case _:
            return str(getattr(kind.this, "value", kind.this)).lower()


def folded(identifier: object) -> str:
    """An identifier's name: lower case unless quoted; empty for anything else."""
    if not isinstance(identifier, exp.Identifier):
        return ""
    return str(identifier.name) if identifier.quoted else str(identifier.name).lower()
