"""The last check of the exact stage: the finished SQL, read again, holds nothing that is not on the list.

The compiler builds only total expressions; this check does not trust it. Every node class, function and cast of the
final text must be listed here, with the reason why no row can make it raise.
"""

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.values.errors import Internal

FUNCTIONS: dict[str, str] = {
    "hash": "total; truncation's keyed order",
    "nullif": "total; turns a zero divisor into NULL",
    "coalesce": "total",
    "greatest": "total; NULLs are passed over",
    "least": "total; NULLs are passed over",
    "abs": "of HUGEINT far inside its range, or DOUBLE",
    "sign": "total on numbers",
    "floor": "DOUBLE to DOUBLE",
    "ceil": "DOUBLE to DOUBLE",
    "round": "DOUBLE to DOUBLE",
    "round_even": "DOUBLE to DOUBLE, to whole numbers",
    "sqrt": "NaN below zero",
    "ln": "-infinity at zero, NaN below",
    "exp": "overflow is infinity",
    "lower": "total on text",
    "upper": "total on text",
    "trim": "total on text",
    "ltrim": "total on text",
    "rtrim": "total on text",
    "length": "total on text",
    "substring": "total on text; constant places from 1 on",
    "left": "total on text; a constant number",
    "right": "total on text; a constant number",
    "strpos": "total on text",
    "starts_with": "total on text",
    "replace": "total on text; its length is bounded by the declared values",
    "concat": "total on text; its length is bounded by the declared values",
    "trunc": "DOUBLE to DOUBLE",
    "power": "DOUBLE; overflow and poles are infinity, the root of a negative number NaN",
    "log": "-infinity at zero, NaN below",
    "date_part": "of a finite date, with a constant field",
    "date_trunc": "of a finite date, with a constant unit",
    "epoch_us": "of a finite date: in 64 bits for the years 1 to 9999",
    "make_timestamp": "of the microseconds of a finite date in the years 1 to 9999",
    "to_months": "a constant number",
    "to_days": "a number inside its bounds, which keep the date in the years 1 to 9999",
    "to_microseconds": "a constant number",
    "bool_and": "total on truth values",
    "bool_or": "total on truth values",
    "row_number": "window rank",
    "dense_rank": "window rank",
}

CASTS: dict[str, str] = {
    "BIGINT": "of a whole number, or a rounded and clamped DOUBLE, inside 63 bits by the declared bounds",
    "INT128": "of a smaller whole number, or an exact DECIMAL product",
    "DOUBLE": "every number has a DOUBLE",
    "DECIMAL": "of a DECIMAL inside its declared bounds, widened",
    "TEXT": "of a whole number or a truth value",
    "TIMESTAMPNTZ": "of a DATE inside its declared bounds, or a literal of ours",
    "TIMESTAMPTZ": "a literal of ours, with its offset",
    "DATE": "of a TIMESTAMP inside its declared bounds, or a literal of ours",
}

NODES: dict[type[exp.Expr], str] = {
    **dict.fromkeys(
        (
            exp.Select,
            exp.From,
            exp.Table,
            exp.TableAlias,
            exp.Where,
            exp.Group,
            exp.Qualify,
            exp.Subquery,
            exp.Star,
            exp.Join,
            exp.Values,
            exp.Tuple,
            exp.Distinct,
            exp.Union,
            exp.Exists,
        ),
        "a shape of a query",
    ),
    **dict.fromkeys(
        (
            exp.Identifier,
            exp.Column,
            exp.Alias,
            exp.Literal,
            exp.Boolean,
            exp.Null,
            exp.Placeholder,
            exp.Paren,
            exp.DataType,
            exp.DataTypeParam,
        ),
        "a name or a literal",
    ),
    **dict.fromkeys((exp.Window, exp.WindowSpec, exp.Order, exp.Ordered), "a rank in a window"),
    **dict.fromkeys((exp.Not, exp.And, exp.Or, exp.Is, exp.Case, exp.If), "three-valued logic"),
    **dict.fromkeys(
        (
            exp.EQ,
            exp.NEQ,
            exp.LT,
            exp.LTE,
            exp.GT,
            exp.GTE,
            exp.NullSafeEQ,
            exp.NullSafeNEQ,
            exp.In,
            exp.Min,
            exp.Max,
        ),
        "values of one type always compare",
    ),
    **dict.fromkeys((exp.Like, exp.ILike), "total on text; the pattern is a short constant"),
    **dict.fromkeys(
        (exp.Neg, exp.Add, exp.Sub, exp.Mul),
        "whole numbers inside their bounds, or DOUBLE; dates inside theirs",
    ),
    **dict.fromkeys(
        (exp.Div, exp.IntDiv, exp.Mod), "of DOUBLE, or by a divisor that is NULL where it would be 0"
    ),
    exp.DPipe: "total on text; its length is bounded by the declared values",
    **dict.fromkeys((exp.LogicalAnd, exp.LogicalOr), "of truth values"),
    **dict.fromkeys((exp.Count, exp.Sum), "sums of 128 bits have room for every row, by the declared bounds"),
}

OPERATORS: dict[str, str] = {
    **dict.fromkeys(("+", "-", "*"), "whole numbers inside their bounds, or DOUBLE; dates inside theirs"),
    **dict.fromkeys(("/", "//", "%"), "of DOUBLE, or by a divisor that is NULL where it would be 0"),
    **dict.fromkeys(("~~", "!~~", "~~*", "!~~*"), "total on text; the pattern is a short constant"),
    "||": "total on text; its length is bounded by the declared values",
    **dict.fromkeys(("sum", "count"), "sums of 128 bits have room for every row, by the declared bounds"),
    **dict.fromkeys(("min", "max"), "values of one type always compare"),
    **dict.fromkeys(("bool_and", "bool_or"), "of truth values"),
}
"""What the engine calls for the nodes above, by its own names."""


_ENGINE_NAMES = {"str_position": "strpos", "timestamp_trunc": "date_trunc"}
"""Where the parser calls a function otherwise than the engine."""


def _name(node: exp.Func) -> str:
    if type(node) is exp.UnixToTime and node.args.get("scale") == exp.UnixToTime.MICROS:
        return "make_timestamp"
    name = str(node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    return _ENGINE_NAMES.get(name, name)


def check_total(sql: str) -> frozenset[int]:
    """Read the exact stage again and refuse it unless everything in it is listed; the numbers of its parameters.

    Errors: ``Internal``: the compiler broke its promise; the statement is not run.
    """
    tree = duck.parsed(sql)
    for node in tree.walk():
        if type(node) in NODES:
            continue
        if type(node) is exp.Cast and (node.to.this.value in CASTS or type(node.this) is exp.Null):
            continue
        if type(node) is exp.Var and type(node.parent) is exp.TimestampTrunc:
            continue  # its unit
        if isinstance(node, exp.Func) and _name(node) in FUNCTIONS and not isinstance(node, exp.Cast):
            continue
        raise Internal("a statement was planned with an unlisted construct and is not run")
    return frozenset(int(str(p.this)) for p in tree.find_all(exp.Placeholder))
