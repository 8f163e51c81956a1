"""The constructs of the exact stage that Spark computes alike, row by row: one line each, with the reason."""

from collections.abc import Callable, Mapping

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Construct, Dialect, ValueKind
from dpproxy.backends.servers.standard import (
    EVERY,
    IN_UTC,
    MOMENTS,
    NUMBERS,
    TEXTS,
    arithmetic,
    constructs,
    of,
    spans,
    whole_digits,
)
from dpproxy.backends.spark import functions, numbers, values
from dpproxy.backends.spark.texts import ENGINE, folded, literal, quoted
from dpproxy.backends.spark.values import grouped, one_form

_SAME = "the same in both engines: total, NULL of NULL"
_ORDER = "values of one type; NaN stands above all numbers, texts are compared by their bytes"
_RANGE = "exact in both engines, in a type at least as wide"
_IEEE = "correctly rounded in both engines, without a limit"
_CALENDAR = "of the proleptic Gregorian calendar in both engines"
_BEHIND = "exact where there is something behind the point"
_TRIMMED = "of each of the characters that are told, in both engines"
_UTC = "the session's time zone is UTC"

MOST_CALLS = 4_000
"""Functions in one statement: Spark analyses 1,000 in half a second and plans them in two; neither is ever stopped."""
EXPRESSIONS: Mapping[type[nodes.Expr], Construct] = {
    **constructs(grouped),
    nodes.Number: Construct(values.number, "DOUBLE by its shortest text, others by their digits"),
    nodes.Text: Construct(values.text, "by its characters"),
    nodes.InList: Construct(values.in_of, _ORDER),
    nodes.Case: Construct(values.case, "the first branch that is true; all branches are total"),
    nodes.Negative: Construct(of(numbers.negative, NUMBERS), "exact"),
}

OPERATORS: Mapping[str, Construct] = {
    **{sign: Construct(values.sign(sign), _ORDER) for sign in ("=", "<>", "<", "<=", ">", ">=")},
    "IS NOT DISTINCT FROM": Construct(values.sign("<=>"), _ORDER),
    "IS DISTINCT FROM": Construct(values.distinct, _ORDER),
    **arithmetic(
        numbers.of_doubles, numbers.of_exact, numbers.of_time, f"whole numbers {_RANGE}; DOUBLE {_IEEE}"
    ),
    **functions.OF_TEXTS.likes(functions.like, lambda sql: folded(sql, "lower"), functions.pattern),
    "/": Construct(numbers.quotient, f"{_IEEE}; the divisor is never 0"),
    "//": Construct(numbers.whole_quotient("div"), "towards zero in both engines"),
    "%": Construct(numbers.whole_quotient("%"), "with the sign of the dividend in both engines"),
    "||": Construct(functions.OF_TEXTS.rule(grouped("{} || {}")), _SAME),
}

FUNCTIONS: Mapping[str, Construct] = {
    **EVERY,
    "count": Construct(numbers.count_of, "64 bits in both engines"),
    "sum": Construct(numbers.sum_of, "of whole numbers, in 38 digits, which no number of rows fills"),
    "max": Construct(numbers.end("max"), _ORDER),
    "min": Construct(numbers.end("min"), _ORDER),
    "hash": Construct(
        functions.hash_of, "another keyed hash: any will do that follows from the row's content"
    ),
    "nullif": Construct(values.nullif, _SAME),
    "coalesce": Construct(values.coalesce, _SAME),
    "greatest": Construct(values.extreme("greatest"), "NULLs are passed over in both engines"),
    "least": Construct(values.extreme("least"), "NULLs are passed over in both engines"),
    "abs": Construct(of(numbers.absolute, NUMBERS), "exact"),
    "sign": Construct(of(numbers.signum, NUMBERS), "by comparisons; 0 of NaN"),
    "floor": Construct(numbers.of_double(numbers.FLOOR), _BEHIND),
    "ceil": Construct(numbers.of_double(numbers.CEIL), _BEHIND),
    "trunc": Construct(numbers.of_double(numbers.TRUNC), _BEHIND),
    "round": Construct(
        whole_digits(numbers.of_double("round({0})")), "halves away from zero in both engines"
    ),
    "round_even": Construct(
        whole_digits(numbers.of_double(numbers.EVEN)), "by what is behind the point, which is exact"
    ),
    "sqrt": Construct(numbers.of_double("sqrt({0})"), "correctly rounded; NaN below zero in both engines"),
    "lower": Construct(of(functions.folded_of("lower"), TEXTS), "by DuckDB's own table of letters"),
    "upper": Construct(of(functions.folded_of("upper"), TEXTS), "by DuckDB's own table of letters"),
    "trim": Construct(of(functions.trim("BOTH"), TEXTS, TEXTS), _TRIMMED),
    "ltrim": Construct(of(functions.trim("LEADING"), TEXTS, TEXTS), _TRIMMED),
    "rtrim": Construct(of(functions.trim("TRAILING"), TEXTS, TEXTS), _TRIMMED),
    **functions.OF_TEXTS.functions(
        {
            "length": "char_length({})::BIGINT",
            "substring": "`substring`({all})",
            "strpos": "instr({all})::BIGINT",
            "starts_with": "startswith({all})",
            "concat": "concat_ws('', {all})",
            **{name: f"{name}({{all}})" for name in ("left", "right", "replace")},
        },
        from_first=("substring", "left", "right"),
    ),
    "date_part": Construct(of(functions.date_part, TEXTS, MOMENTS), _CALENDAR),
    "date_trunc": Construct(of(functions.date_trunc, TEXTS, MOMENTS), _CALENDAR),
    "epoch_us": Construct(of(functions.epoch, (*MOMENTS, ValueKind.INSTANT)), f"exact; {_UTC}"),
    "make_timestamp": Construct(of(functions.make_timestamp, (ValueKind.WHOLE,)), f"exact; {_UTC}"),
    "timezone": IN_UTC,
    **spans(
        functions.span("make_interval(0, {})", constant=True),
        functions.span("make_dt_interval({}::INT)", constant=False),
        functions.span("INTERVAL '{}' MICROSECOND", constant=True),
    ),
}

CASTS: Mapping[str, Construct] = {
    "BIGINT": Construct(
        numbers.to_bigint, "of a whole number; of a rounded DOUBLE inside 63 bits, and NULL of any other"
    ),
    "INT128": Construct(numbers.to_huge, "38 digits: the planner's limit is one less"),
    "DOUBLE": Construct(numbers.to_double, "the nearest DOUBLE in both engines"),
    "DECIMAL": Construct(numbers.to_decimal, "widened only"),
    "TIMESTAMP": Construct(numbers.to(ValueKind.TIMESTAMP, ValueKind.DATE), "of a day, its midnight"),
    "TIMESTAMPTZ": Construct(numbers.to_instant, "a literal of ours, in UTC"),
    "DATE": Construct(numbers.to(ValueKind.DATE, ValueKind.TIMESTAMP), "the day of a moment"),
    "TEXT": Construct(
        numbers.to(ValueKind.TEXT, ValueKind.WHOLE, ValueKind.HUGE, ValueKind.TRUTH),
        "of NULL, a whole number or a truth value: written alike",
    ),
    "BOOLEAN": Construct(numbers.to(ValueKind.TRUTH), "of NULL"),
}


def dialect(table: Callable[[str, str], str]) -> Dialect:
    """Spark; ``table`` gives the name under which a table is read there."""
    return Dialect(
        ENGINE, quoted, table, one_form, EXPRESSIONS, OPERATORS, FUNCTIONS, CASTS, grouped, MOST_CALLS,
        asks_in_keys=False,
    )  # fmt: skip


_SIGNS = "it's\\$"
_NAN = values.NAN
_KNOWN = {
    "texts": f"{literal(_SIGNS)} = concat('it', chr(39), 's', chr(92), chr(36)) AND char_length({literal('😀')}) = 1",
    "order": f"({literal('a')} > {literal('B')} AND {literal('😀')} > {literal(chr(0xFFFD))} AND 'a' <> 'a ')",
    "LIKE": f"({literal('a' + chr(92) + '_b')} LIKE {literal('a' + chr(92) * 2 + '_b')} AND NOT 'xb' LIKE '__b')",
    "letters": "translate('aB', 'B', 'b') = 'ab'",
    "NaN": f"nanvl(sqrt(-1D) + 0D, {_NAN}) > {values.INFINITY} AND nanvl(-{_NAN} + 0D, {_NAN}) = {_NAN}",
    "zero": f"nanvl(-0D + 0D, {_NAN}) = 0D AND nullif(nanvl(-0D + 0D, {_NAN}), 0D) IS NULL",
    "rounding": "round(2.5D) = 3D AND round(-2.5D) = -3D AND round(0.49999999999999994D) = 0D",
    "division": "(-7L) div 2L = -3L AND (-7L) % 2L = -1L",
    "digits": "CAST(1.25BD AS DECIMAL(18,2)) * 100L = 125L",
    "NULLs": "greatest(1L, NULL) = 1L AND concat_ws('', 'a', NULL) = 'a' AND NULL <=> NULL",
    "time": "unix_micros(CAST(TIMESTAMP_NTZ'2020-07-01 00:00:00' AS TIMESTAMP)) = 1593561600000000L",
    "calendar": "dayofweek(DATE'2020-05-17') = 1 AND weekofyear(DATE'2021-01-03') = 53",
}
PROBES = "SELECT " + ", ".join(f"({sql}) AS `{name}`" for name, sql in _KNOWN.items())
"""Whether a server computes as is told above, where servers or their settings differ: all shall be true."""
