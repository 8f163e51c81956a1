"""The constructs of the exact stage that PostgreSQL computes alike, row by row: one line each, with the reason.

Whole numbers are bigint or numeric: PostgreSQL's overflow raises where DuckDB's does, which the planner has excluded.
Texts are compared by their bytes, as in DuckDB: equality is that in every deterministic collation, order is told.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from dpproxy.algebra import nodes
from dpproxy.backends.postgres import casts, documents, doubles, functions, logic, numbers
from dpproxy.backends.postgres.texts import folded
from dpproxy.backends.servers.dialect import Construct, Dialect, Unanswered, Value, ValueKind
from dpproxy.backends.servers.standard import (
    DOUBLES,
    EVERY,
    IN_UTC,
    MOMENTS,
    NUMBERS,
    TEXTS,
    WHOLES,
    arithmetic,
    constructs,
    of,
    rounded,
    spans,
    whole_digits,
)
from dpproxy.sql.quoting import quoted

_SAME = "the same in both engines: total, NULL of NULL"
_ORDER = "values of one type; NaN stands above all numbers in both engines, texts are compared by their bytes"
_RANGE = "exact in both engines, in a type at least as wide"
_IEEE = "correctly rounded in both engines; where PostgreSQL would raise it is guarded or refused"
_LIBRARY = "the C library's in both engines; where PostgreSQL would raise it is guarded or refused"

_MOMENTS = (*MOMENTS, ValueKind.INSTANT)

EXPRESSIONS: Mapping[type[nodes.Expr], Construct] = {
    **constructs(),
    nodes.Number: Construct(logic.number, "DOUBLE by its shortest text, others by their digits"),
    nodes.Text: Construct(logic.text, "by its characters"),
    nodes.InList: Construct(logic.is_one_of, _ORDER),
    nodes.Case: Construct(
        logic.case, "the first branch that is true; what it guards is not computed otherwise"
    ),
    nodes.Formula: Construct(documents.field, "NULL of what is none, or has another form, in both engines"),
    nodes.Negative: Construct(of(numbers.negative, NUMBERS), "exact"),
}

OPERATORS: Mapping[str, Construct] = {
    **{sign: Construct(logic.comparison(sign), _ORDER) for sign in nodes.COMPARISONS},
    **arithmetic(
        numbers.of_doubles, numbers.of_exact, numbers.of_time, f"whole numbers {_RANGE}; DOUBLE {_IEEE}"
    ),
    **functions.OF_TEXTS.likes(functions.like, lambda sql: folded(sql, "lower")),
    "/": Construct(of(doubles.divided, DOUBLES, DOUBLES), _IEEE),
    "//": Construct(of(numbers.whole_quotient("/", "div"), WHOLES, WHOLES), "towards zero in both engines"),
    "%": Construct(
        of(numbers.whole_quotient("%", "mod"), WHOLES, WHOLES),
        "with the sign of the dividend in both engines",
    ),
    "||": Construct(functions.OF_TEXTS.rule("({} || {})"), _SAME),
}


def _of_double(rule: Callable[[Value], Value], reason: str) -> Construct:
    return Construct(of(rule, DOUBLES), reason)


_CALENDAR = "of the proleptic Gregorian calendar in both engines"

FUNCTIONS: Mapping[str, Construct] = {
    **EVERY,
    "count": Construct(numbers.counted, "64 bits in both engines"),
    "sum": Construct(numbers.summed, "of whole numbers, in any number of digits"),
    "max": Construct(numbers.end("max"), _ORDER),
    "min": Construct(numbers.end("min"), _ORDER),
    "hash": Construct(
        functions.hashed, "another keyed hash: any will do that follows from the row's content"
    ),
    "nullif": Construct(logic.nullif, _SAME),
    "coalesce": Construct(logic.coalesce, _SAME),
    "greatest": Construct(logic.extreme("greatest"), "NULLs are passed over in both engines"),
    "least": Construct(logic.extreme("least"), "NULLs are passed over in both engines"),
    "abs": Construct(of(numbers.absolute, NUMBERS), "exact"),
    "sign": Construct(of(numbers.signum, NUMBERS), "0 of NaN in both engines"),
    "floor": _of_double(doubles.whole("floor"), "exact"),
    "ceil": _of_double(doubles.whole("ceil"), "exact"),
    "trunc": _of_double(doubles.whole("trunc"), "exact"),
    "round": Construct(rounded(doubles.rounded_to), "by what is behind the point, which is exact"),
    "round_even": Construct(
        whole_digits(of(doubles.whole("round"), DOUBLES)), "rint of the C library in both engines"
    ),
    "sqrt": _of_double(doubles.root, "correctly rounded; NaN below zero is guarded"),
    "ln": _of_double(doubles.logarithm("ln"), _LIBRARY),
    "log": _of_double(doubles.logarithm("log"), _LIBRARY),
    "exp": _of_double(doubles.exponential, _LIBRARY),
    "power": Construct(
        of(doubles.power, (ValueKind.DOUBLE,), (ValueKind.DOUBLE,)),
        f"{_LIBRARY}; what is nearer to zero than its power has digits for is zero",
    ),
    "lower": Construct(of(functions.changed("lower"), TEXTS), "by DuckDB's own table of letters"),
    "upper": Construct(of(functions.changed("upper"), TEXTS), "by DuckDB's own table of letters"),
    **functions.OF_TEXTS.functions(
        {
            "trim": "btrim({all})",
            "length": "length({})::bigint",
            "substring": "substr({all})",
            "strpos": "strpos({all})::bigint",
            **{
                name: f"{name}({{all}})"
                for name in ("ltrim", "rtrim", "left", "right", "starts_with", "replace")
            },
            **{name: f"{name}({{all}})" for name in ("translate", "split_part", "concat")},
        }
    ),
    "date_part": Construct(of(functions.date_part, TEXTS, MOMENTS), _CALENDAR),
    "date_trunc": Construct(of(functions.date_trunc, TEXTS, MOMENTS), _CALENDAR),
    "epoch_us": Construct(of(functions.epoch, _MOMENTS), "exact: numeric seconds have six digits"),
    "make_timestamp": Construct(
        of(functions.make_timestamp, (ValueKind.WHOLE,)), "exact: whole days, and microseconds of one day"
    ),
    "timezone": IN_UTC,
    **spans(
        functions.span("make_interval(months => ({})::int)"),
        functions.span("make_interval(days => ({})::int)"),
        functions.span("(({})::bigint * interval '1 microsecond')"),
    ),
}

CASTS: Mapping[str, Construct] = {
    "BIGINT": Construct(
        casts.to_bigint, "of a whole number, or of a rounded DOUBLE known to be inside 63 bits"
    ),
    "INT128": Construct(casts.to_huge, "numeric has room for 128 bits"),
    "DOUBLE": Construct(casts.to_double, "the nearest DOUBLE in both engines"),
    "DECIMAL": Construct(casts.to_decimal, "widened only"),
    "TIMESTAMP": Construct(casts.to_moment("timestamp", ValueKind.TIMESTAMP), "of a day, its midnight"),
    "TIMESTAMPTZ": Construct(casts.to_instant, "a literal of ours, in UTC"),
    "DATE": Construct(casts.to_moment("date", ValueKind.DATE), "the day of a moment"),
    "TEXT": Construct(
        casts.to("text", ValueKind.TEXT, ValueKind.WHOLE, ValueKind.HUGE, ValueKind.TRUTH),
        "of NULL, a whole number or a truth value: written alike",
    ),
    "BOOLEAN": Construct(casts.to("boolean", ValueKind.TRUTH), "of NULL"),
}


def _table(schema: str, places: Mapping[str, tuple[str, str]]) -> Callable[[str, str], str]:
    def table(database: str, name: str) -> str:
        if database:
            raise Unanswered("this table")
        return ".".join(map(quoted, places.get(name, (schema, name))))

    return table


def _sorted(value: Value) -> str:
    return f'{value.sql} COLLATE "C"' if value.kind is ValueKind.TEXT else value.sql


def dialect(schema: str, places: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> Dialect:
    """PostgreSQL with the data in one schema, but for the tables of others, each in its own place."""
    return Dialect(
        logic.ENGINE, quoted, _table(schema, places), _sorted, EXPRESSIONS, OPERATORS, FUNCTIONS, CASTS,
        total="sum({}::numeric){}".format,
    )  # fmt: skip
