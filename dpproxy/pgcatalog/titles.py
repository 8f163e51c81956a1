"""Names of unnamed result columns, as PostgreSQL gives them (parse_target.c: FigureColname)."""

from sqlglot import exp

from dpproxy.pgcatalog import casts

UNNAMED = "?column?"

_FIXED: dict[type[exp.Expr], str] = {
    exp.Array: "array",
    exp.ArrayAgg: "array_agg",
    exp.ArraySize: "array_length",
    exp.ArrayToString: "array_to_string",
    exp.Ceil: "ceil",
    exp.CurrentTimestamp: "now",
    exp.CurrentVersion: "version",
    exp.Exists: "exists",
    exp.Explode: "unnest",
    exp.ExplodingGenerateSeries: "generate_series",
    exp.GenerateSeries: "generate_series",
    exp.GroupConcat: "string_agg",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.StrPosition: "strpos",
    exp.TimeToStr: "to_char",
    exp.TimestampTrunc: "date_trunc",
    exp.Trim: "btrim",
}

_THROUGH = (exp.Paren, exp.Bracket, exp.Window, exp.Filter, exp.Collate)
"""What takes the name of what it holds."""

_PRINTED = {
    "int": "int4",
    "smallint": "int2",
    "bigint": "int8",
    "boolean": "bool",
    "double": "float8",
    "decimal": "numeric",
    "float": "float8",
    "timestampntz": "timestamp",
    "varbinary": "bytea",
    "character": "bpchar",
}
"""Types whose cast is named by pg_type.typname."""


def title(node: exp.Expr) -> str:
    """The name of a projection.

    Example:
        >>> from sqlglot import parse_one
        >>> [title(p) for p in parse_one("SELECT 1, relname, 'a'::text, max(b)", read="postgres").expressions]
        ['?column?', 'relname', 'text', 'max']
    """
    match node:
        case exp.Alias() | exp.Column():
            return str(node.output_name)
        case exp.Dot():
            return title(node.expression)
        case exp.Identifier():
            return str(node.name)
        case exp.Anonymous():
            return str(node.name).lower()
        case exp.Cast():
            inner = title(node.this)
            name = casts.element_name(node.to)
            return _PRINTED.get(name, name) if inner == UNNAMED else inner
        case exp.Case():
            default = node.args.get("default")
            inner = UNNAMED if default is None else title(default)
            return "case" if inner == UNNAMED else inner
        case exp.Subquery() | exp.Select():
            return title(node.selects[0]) if node.selects else UNNAMED
        case _:
            return _by_class(node)


def _by_class(node: exp.Expr) -> str:
    if isinstance(node, _THROUGH):
        return title(node.this)
    if type(node) in _FIXED:
        return _FIXED[type(node)]
    operator = isinstance(node, exp.Binary | exp.Connector | exp.Predicate)
    return UNNAMED if operator or not isinstance(node, exp.Func) else str(type(node).sql_name()).lower()
