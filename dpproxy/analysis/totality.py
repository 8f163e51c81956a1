"""The last check of the exact stage: the finished statement holds nothing that is not on the list.

The compiler builds only total expressions; this check does not trust it. Every node class, operator, function and cast
must be listed here, with the reason why no row can make it raise. Nothing is shared with what prints the statement.
"""

from dpproxy.algebra import nodes
from dpproxy.algebra.nodes import Node
from dpproxy.values.errors import Internal
from dpproxy.values.work import step

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
    "translate": "total on text; no longer than it",
    "split_part": "total on text; a constant place that is not 0",
    "concat": "total on text; its length is bounded by the declared values",
    "concat_ws": "total on text; its length is bounded by the declared values",
    "reverse": "total on text",
    "ascii": "total on text",
    "repeat": "total on text; a constant number, its length is bounded by the declared values",
    "lpad": "total on text; to a constant length, with constant characters, of which there are some",
    "rpad": "total on text; to a constant length, with constant characters, of which there are some",
    "regexp_matches": "total on text; a short constant pattern, whose matcher never goes back",
    "regexp_extract": "total on text; a group that the constant pattern has",
    "regexp_replace": "total on text; groups that the constant pattern has, its length is bounded",
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
}

WINDOWS: dict[str, str] = {
    **dict.fromkeys(("row_number", "rank", "dense_rank"), "window rank"),
    **dict.fromkeys(("lag", "lead"), "a value of another row, or NULL; a constant distance"),
    **dict.fromkeys(
        ("first_value", "last_value", "nth_value"), "a value of another row, or NULL; a constant place"
    ),
}
"""Before OVER only."""

CASTS: dict[str, str] = {
    "BIGINT": "of a whole number, or a rounded and clamped DOUBLE, inside 63 bits by the declared bounds",
    "INT128": "of a smaller whole number, or an exact DECIMAL product",
    "DOUBLE": "every number has a DOUBLE",
    "DECIMAL": "of a DECIMAL inside its declared bounds, widened",
    "TEXT": "of a whole number or a truth value",
    "TIMESTAMP": "of a DATE inside its declared bounds, or a literal of ours",
    "TIMESTAMPTZ": "a literal of ours, with its offset",
    "DATE": "of a TIMESTAMP inside its declared bounds, or a literal of ours",
}

NAMES: dict[type[Node], str] = dict.fromkeys(
    (
        nodes.ColumnRef,
        nodes.Named,
        nodes.Number,
        nodes.Hole,
        nodes.Text,
        nodes.Truth,
        nodes.Null,
        nodes.Parameter,
        nodes.Paren,
    ),
    "a name or a literal",
)
NODES: dict[type[Node], str] = {
    **dict.fromkeys(
        (
            nodes.Select,
            nodes.Combined,
            nodes.Table,
            nodes.Subquery,
            nodes.Values,
            nodes.Join,
            nodes.Exists,
            nodes.InQuery,
            nodes.Scalar,
            nodes.Star,
        ),
        "a shape of a query",
    ),
    **NAMES,
    **dict.fromkeys((nodes.Window, nodes.Ordered), "a value of the rows around each"),
    **dict.fromkeys((nodes.Not, nodes.And, nodes.Or, nodes.IsNull, nodes.Case), "three-valued logic"),
    nodes.InList: "values of one type always compare",
    nodes.Negative: "whole numbers inside their bounds, or DOUBLE; dates inside theirs",
    nodes.Binary: "by its operator, below",
    nodes.Call: "by its name, above and below",
    nodes.Cast: "by its type, above",
}

OPERATORS: dict[str, str] = {
    **dict.fromkeys(
        ("=", "<>", "<", "<=", ">", ">=", "IS NOT DISTINCT FROM", "IS DISTINCT FROM"),
        "values of one type always compare",
    ),
    **dict.fromkeys(("+", "-", "*"), "whole numbers inside their bounds, or DOUBLE; dates inside theirs"),
    **dict.fromkeys(("/", "//", "%"), "of DOUBLE, or by a divisor that is NULL where it would be 0"),
    **dict.fromkeys(
        ("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"), "total on text; the pattern is a short constant"
    ),
    "||": "total on text; its length is bounded by the declared values",
}

FORMULAS: dict[tuple[str, ...], str] = {
    (
        "array_to_string(list_transform(regexp_extract_all(lower(",
        "), '[\\p{L}\\p{N}]+|[^\\p{L}\\p{N}]+'), lambda w: upper(left(w, 1)) || substring(w, 2)), '')",
    ): "total on text: INITCAP, as long as it",
    (
        "(CASE WHEN strlen(",
        ") > 10000 THEN NULL WHEN json_valid(",
        ") THEN json_extract_string(",
        ", ",
        ") END)",
    ): "a document of bounded length, at a constant path",
    **dict.fromkeys(
        (
            ("TRY_CAST(regexp_extract(", ", '^-?[0-9]{1,9}$') AS BIGINT)"),
            ("TRY_CAST(regexp_extract(", ", '^-?[0-9]{1,18}$') AS BIGINT)"),
            (
                "TRY_CAST(regexp_extract(",
                ", '^-?[0-9]{1,20}([.][0-9]{1,20})?([eE][-+]?[0-9]{1,2})?$') AS DOUBLE)",
            ),
            ("TRY_CAST(regexp_extract(", ", '^(true|false)$') AS BOOLEAN)"),
        ),
        "total on text; NULL of what has another form",
    ),
}
"""What has no node of its own, by its text around the operands."""

AGGREGATES: dict[str, str] = {
    **dict.fromkeys(("sum", "count"), "sums of 128 bits have room for every row, by the declared bounds"),
    **dict.fromkeys(("min", "max"), "values of one type always compare"),
    **dict.fromkeys(("bool_and", "bool_or"), "of truth values"),
}


def check_total(query: nodes.Query) -> frozenset[int]:
    """Refuse an exact stage unless everything in it is listed; the numbers of its parameters.

    Errors: ``Internal``: the compiler broke its promise; the statement is not run.
    """
    parameters: set[int] = set()
    before_over: set[int] = set()
    every = [*query.walk()]
    step(len(every))
    for node in every:
        if type(node) is nodes.Window:
            before_over.add(id(node.call))
        if not (
            type(node) in NAMES or _is_listed(node) or (id(node) in before_over and _is_window_function(node))
        ):
            raise Internal("a statement was planned with an unlisted construct and is not run")
        if type(node) is nodes.Parameter:
            parameters.add(node.number)
    return frozenset(parameters)


def is_frame(frame: str) -> bool:
    """Rows that are counted, or all that are equal in order: no distance is computed, which could overflow."""
    if not frame:
        return True
    kind, _, ends = frame.partition(" BETWEEN ")
    start, _, end = ends.partition(" AND ")
    return kind in ("ROWS", "RANGE") and all(_is_end(e, is_counted=kind == "ROWS") for e in (start, end))


def _is_end(end: str, *, is_counted: bool) -> bool:
    number, _, side = end.partition(" ")
    if side not in ("PRECEDING", "FOLLOWING"):
        return end == "CURRENT ROW"
    is_short = number.isascii() and number.isdigit() and len(number) < 8
    return number == "UNBOUNDED" or (is_counted and is_short)


def _is_window_function(node: Node) -> bool:
    return (
        isinstance(node, nodes.Call)
        and node.name in WINDOWS
        and not (node.where or node.order or node.distinct)
    )


def _is_listed(node: Node) -> bool:
    match node:
        case nodes.Binary():
            return node.operator in OPERATORS
        case nodes.Call():
            is_plain = node.where is None and not node.order
            return is_plain and (node.name in FUNCTIONS or node.name in AGGREGATES)
        case nodes.Cast():
            kind = node.type.partition("(")[0]
            is_one = not (node.tries or node.type.endswith("]"))
            return is_one and (kind in CASTS or type(node.value) is nodes.Null)
        case nodes.Window():
            return is_frame(node.frame)
        case nodes.Subquery():
            return not node.lateral
        case nodes.Combined():
            return node.operator in ("UNION", "UNION ALL") and not (node.order or node.limit or node.offset)
        case nodes.Select():
            return not (node.order or node.limit or node.offset or node.having or node.distinct_on)
        case _:
            return type(node) in NODES or getattr(node, "pieces", None) in FORMULAS
