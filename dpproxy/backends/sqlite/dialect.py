"""The constructs of the exact stage that SQLite computes alike, row by row: one line each, with the reason."""

from collections.abc import Mapping

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Construct, Dialect, Unanswered, Value, ValueKind
from dpproxy.backends.servers.standard import (
    DOUBLES,
    MOMENTS,
    NUMBERS,
    TEXTS,
    WHOLES,
    arithmetic,
    constructs,
    counted,
    of,
    rounded,
    spans,
    whole_digits,
)
from dpproxy.backends.sqlite import casts, texts, values
from dpproxy.backends.sqlite.values import ENGINE
from dpproxy.sql.quoting import quoted

_SAME = "the same in both engines: total, NULL of NULL"
_ORDER = "values of one type; texts by their bytes, since no expression of ours has a collation"
_RANGE = "within 64 bits SQLite's own, beyond by a function of ours"
_IEEE = "correctly rounded in both engines; what could be NaN is refused"
_LIBRARY = "the C library's in both engines; what could be NaN is refused"
_OURS = "by a function of ours"

EXPRESSIONS: Mapping[type[nodes.Expr], Construct] = {
    **constructs(),
    nodes.Number: Construct(
        values.number, "by its digits; DOUBLE by a function of ours, which reads it exactly"
    ),
    nodes.Text: Construct(values.text, "by its characters"),
    nodes.InList: Construct(values.is_one_of, _ORDER),
    nodes.Case: Construct(values.case, "the first branch that is true"),
    nodes.Negative: Construct(of(values.negative, NUMBERS), "exact"),
}

OPERATORS: Mapping[str, Construct] = {
    **{sign: Construct(values.comparison(sign), _ORDER) for sign in ("=", "<>", "<", "<=", ">", ">=")},
    "IS NOT DISTINCT FROM": Construct(values.comparison("IS"), _ORDER),
    "IS DISTINCT FROM": Construct(values.comparison("IS NOT"), _ORDER),
    **arithmetic(values.of_doubles, values.exact, values.of_time, f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    **texts.OF_TEXTS.likes(texts.like, "dp_lower({})".format),
    "/": Construct(values.quotient, f"{_IEEE}; the divisor is never 0"),
    "//": Construct(of(values.whole_quotient("//"), WHOLES, WHOLES), "towards zero in both engines"),
    "%": Construct(
        of(values.whole_quotient("%"), WHOLES, WHOLES), "with the sign of the dividend in both engines"
    ),
    "||": Construct(texts.OF_TEXTS.rule("({} || {})"), _SAME),
}


def _rounding(function: str) -> Construct:
    return Construct(of(values.rounding(function), DOUBLES), _OURS)


FUNCTIONS: Mapping[str, Construct] = {
    "bool_and": Construct(lambda _, parts: Value(f"min({parts[0].sql})", ValueKind.TRUTH), "of 0 and 1"),
    "bool_or": Construct(lambda _, parts: Value(f"max({parts[0].sql})", ValueKind.TRUTH), "of 0 and 1"),
    "count": Construct(counted(lambda value: value.sql), "64 bits in both engines"),
    "sum": Construct(values.summed, "of whole numbers, in any number of digits"),
    "max": Construct(values.end("max"), _ORDER),
    "min": Construct(values.end("min"), _ORDER),
    "hash": Construct(texts.hashed, "another keyed hash: any will do that follows from the row's content"),
    "nullif": Construct(values.nullif, _SAME),
    "coalesce": Construct(values.coalesce, _SAME),
    "greatest": Construct(values.extreme(">"), "NULLs are passed over"),
    "least": Construct(values.extreme("<"), "NULLs are passed over"),
    "abs": Construct(of(values.absolute, NUMBERS), "exact"),
    "sign": Construct(of(values.signum, NUMBERS), "by comparisons"),
    "floor": _rounding("dp_floor"),
    "ceil": _rounding("dp_ceil"),
    "trunc": _rounding("dp_trunc"),
    "round": Construct(rounded(values.rounded_to), f"{_OURS}: halves away from zero"),
    "round_even": Construct(whole_digits(of(values.rounding("dp_even"), DOUBLES)), _OURS),
    "sqrt": Construct(of(values.root, DOUBLES), _IEEE),
    "ln": Construct(of(values.logarithm("ln"), DOUBLES), _LIBRARY),
    "log": Construct(of(values.logarithm("log"), DOUBLES), _LIBRARY),
    "exp": Construct(of(values.exponential, DOUBLES), _LIBRARY),
    "power": Construct(of(values.power, (ValueKind.DOUBLE,), (ValueKind.DOUBLE,)), _LIBRARY),
    "lower": Construct(texts.OF_TEXTS.rule("dp_lower({})"), "by DuckDB's own table of letters"),
    "upper": Construct(texts.OF_TEXTS.rule("dp_upper({})"), "by DuckDB's own table of letters"),
    **texts.OF_TEXTS.functions(
        {
            "length": "length({})",
            "substring": "substr({all})",
            "strpos": "instr({all})",
            "starts_with": "(substr({0}, 1, length({1})) = {1})",
            **{name: f"{name}({{all}})" for name in ("trim", "ltrim", "rtrim", "replace")},
            **{name: f"dp_{name}({{all}})" for name in ("left", "right", "translate", "split_part")},
        },
        from_first=("substring",),
    ),
    "concat": Construct(texts.concatenated, "NULLs are left out in both engines"),
    "date_part": Construct(
        of(texts.date_part, TEXTS, MOMENTS), f"{_OURS}, of the proleptic Gregorian calendar"
    ),
    "date_trunc": Construct(
        of(texts.date_trunc, TEXTS, MOMENTS), f"{_OURS}, of the proleptic Gregorian calendar"
    ),
    "epoch_us": Construct(
        of(lambda a: Value(values.micros(a), ValueKind.WHOLE), MOMENTS), "a moment is its microseconds"
    ),
    "make_timestamp": Construct(
        of(lambda a: Value(a.sql, ValueKind.TIMESTAMP), (ValueKind.WHOLE,)), "a moment is its microseconds"
    ),
    **spans(values.span("{} ; 0 ; 0"), values.span("0 ; {} ; 0"), values.span("0 ; 0 ; {}")),
}

CASTS: Mapping[str, Construct] = {
    "BIGINT": Construct(
        casts.to_bigint, "of a whole number, or of a rounded DOUBLE known to be inside 63 bits"
    ),
    "INT128": Construct(casts.to_huge, "in any number of digits"),
    "DOUBLE": Construct(casts.to_double, "the nearest DOUBLE in both engines"),
    "DECIMAL": Construct(casts.to_decimal, "widened only"),
    "TIMESTAMP": Construct(casts.to_moment, "of a day, its midnight"),
    "DATE": Construct(casts.to_day, "the day of a moment"),
    "TEXT": Construct(casts.to_text, "of NULL, a whole number or a truth value: written alike"),
    "BOOLEAN": Construct(casts.to_truth, "of NULL"),
}


def _sorted(value: Value) -> str:
    if value.kind in (ValueKind.HUGE, ValueKind.DECIMAL) and not values.fits(value):
        raise Unanswered("an order by a number this large")
    return value.sql


def _listed(rows: str, names: str) -> str:
    return f"(WITH listed({names}) AS (VALUES {rows}) SELECT * FROM listed)"  # noqa: S608 - our own


def _total(value: str, over: str) -> str:
    return f"dp_total(sum({value} >> 32){over}, sum({value} & 4294967295){over})"


def dialect(reads: Mapping[str, Mapping[str, Value]]) -> Dialect:
    """SQLite with these tables. LIMIT has columns read once for each row, and not in each place that names one."""

    def table(database: str, name: str) -> str:
        if database or name not in reads:
            raise Unanswered("this table")
        shown = ", ".join(
            f"{read.under(quoted(column)).sql} AS {quoted(column)}" for column, read in reads[name].items()
        )
        return f"(SELECT {shown} FROM main.{quoted(name)} LIMIT -1)"  # noqa: S608 - our own

    return Dialect(
        ENGINE, quoted, table, _sorted, EXPRESSIONS, OPERATORS, FUNCTIONS, CASTS, total=_total, listed=_listed
    )
