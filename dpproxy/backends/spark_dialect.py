"""The constructs of the exact stage that Spark computes alike, row by row: one line each, with the reason."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from dpproxy.backends import spark_functions as functions
from dpproxy.backends import spark_numbers as numbers
from dpproxy.backends import spark_values as values
from dpproxy.backends.dialect import Construct, Dialect, Kind
from dpproxy.backends.spark_texts import ENGINE, literal, quoted
from dpproxy.backends.spark_values import grouped, one_form
from dpproxy.backends.standard import constructs, in_utc

_SAME = "the same in both engines: total, NULL of NULL"
_ORDER = "values of one type; NaN stands above all numbers, texts are compared by their bytes"
_RANGE = "exact in both engines, in a type at least as wide"
_IEEE = "correctly rounded in both engines, without a limit"
_CALENDAR = "of the proleptic Gregorian calendar in both engines"
_CHARACTERS = "characters in both engines"

MOST_CALLS = 4_000
"""Functions in one statement: Spark analyses 1,000 in half a second and plans them in two; neither is ever stopped."""
EXPRESSIONS: Mapping[type[exp.Expr], Construct] = {
    **constructs(ENGINE, grouped),
    exp.Literal: Construct(values.literal_of, "DOUBLE by its shortest text, others by their digits"),
    exp.EQ: Construct(values.sign("="), _ORDER),
    exp.NEQ: Construct(values.sign("<>"), _ORDER),
    exp.LT: Construct(values.sign("<"), _ORDER),
    exp.LTE: Construct(values.sign("<="), _ORDER),
    exp.GT: Construct(values.sign(">"), _ORDER),
    exp.GTE: Construct(values.sign(">="), _ORDER),
    exp.NullSafeEQ: Construct(values.sign("<=>"), _ORDER),
    exp.NullSafeNEQ: Construct(values.distinct, _ORDER),
    exp.In: Construct(values.in_of, _ORDER),
    exp.Case: Construct(values.case, "the first branch that is true; all branches are total"),
    exp.Like: Construct(functions.like(fold=False), "by characters; a backslash is doubled"),
    exp.ILike: Construct(functions.like(fold=True), "by characters in small letters; a backslash is doubled"),
    exp.Add: Construct(numbers.arithmetic("+"), f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    exp.Sub: Construct(numbers.arithmetic("-"), f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    exp.Mul: Construct(numbers.arithmetic("*"), f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    exp.Neg: Construct(numbers.negative, "exact"),
    exp.Div: Construct(numbers.quotient, f"{_IEEE}; the divisor is never 0"),
    exp.IntDiv: Construct(numbers.whole_quotient("div"), "towards zero in both engines"),
    exp.Mod: Construct(numbers.whole_quotient("%"), "with the sign of the dividend in both engines"),
    exp.DPipe: Construct(functions.texts(grouped("{} || {}")), _SAME),
    exp.Count: Construct(numbers.count_of, "64 bits in both engines"),
    exp.Sum: Construct(numbers.sum_of, "of whole numbers, in 38 digits, which no number of rows fills"),
    exp.Max: Construct(numbers.end("max"), _ORDER),
    exp.Min: Construct(numbers.end("min"), _ORDER),
}

FUNCTIONS: Mapping[str, Construct] = {
    "hash": Construct(
        functions.hash_of, "another keyed hash: any will do that follows from the row's content"
    ),
    "nullif": Construct(values.nullif, _SAME),
    "coalesce": Construct(values.coalesce, _SAME),
    "greatest": Construct(values.extreme("greatest"), "NULLs are passed over in both engines"),
    "least": Construct(values.extreme("least"), "NULLs are passed over in both engines"),
    "abs": Construct(numbers.abs_of, "exact"),
    "sign": Construct(numbers.signum, "by comparisons; 0 of NaN"),
    "floor": Construct(numbers.of_doubles(numbers.FLOOR), "exact where there is something behind the point"),
    "ceil": Construct(numbers.of_doubles(numbers.CEIL), "exact where there is something behind the point"),
    "trunc": Construct(numbers.of_doubles(numbers.TRUNC), "exact where there is something behind the point"),
    "round": Construct(numbers.round_of, "halves away from zero in both engines"),
    "round_even": Construct(
        lambda node, parts: numbers.of_doubles(numbers.EVEN)(node, parts[:1]),
        "by what is behind the point, which is exact",
    ),
    "sqrt": Construct(numbers.of_doubles("sqrt({0})"), "correctly rounded; NaN below zero in both engines"),
    "lower": Construct(functions.folded_of("lower"), "by DuckDB's own table of letters"),
    "upper": Construct(functions.folded_of("upper"), "by DuckDB's own table of letters"),
    "trim": Construct(functions.trim, "of each of the characters that are told, in both engines"),
    "length": Construct(functions.texts("char_length({})::BIGINT", Kind.WHOLE), _CHARACTERS),
    "substring": Construct(functions.texts("`substring`({all})", further=2), _CHARACTERS),
    "left": Construct(functions.texts("left({all})", further=1), _CHARACTERS),
    "right": Construct(functions.texts("right({all})", further=1), _CHARACTERS),
    "strpos": Construct(functions.texts("instr({all})::BIGINT", Kind.WHOLE), _CHARACTERS),
    "starts_with": Construct(functions.texts("startswith({all})", Kind.TRUTH), _SAME),
    "replace": Construct(functions.texts("replace({all})"), "an empty part changes nothing in both engines"),
    "concat": Construct(functions.texts("concat_ws('', {all})"), "NULLs are left out in both engines"),
    "date_part": Construct(functions.date_part, _CALENDAR),
    "date_trunc": Construct(functions.date_trunc, _CALENDAR),
    "epoch_us": Construct(functions.epoch, "exact; the session's time zone is UTC"),
    "make_timestamp": Construct(functions.make_timestamp, "exact; the session's time zone is UTC"),
    "timezone": Construct(in_utc(ENGINE), "moments are held in UTC"),
    "to_months": Construct(
        functions.span("make_interval(0, {})", constant=True), "the last day of a shorter month in both"
    ),
    "to_days": Construct(functions.span("make_dt_interval({}::INT)", constant=False), "whole days in both"),
    "to_microseconds": Construct(
        functions.span("INTERVAL '{}' MICROSECOND", constant=True), "exact in both engines"
    ),
}

CASTS: Mapping[str, Construct] = {
    "BIGINT": Construct(
        numbers.to_bigint, "of a whole number; of a rounded DOUBLE inside 63 bits, and NULL of any other"
    ),
    "INT128": Construct(numbers.to_huge, "38 digits: the planner's limit is one less"),
    "DOUBLE": Construct(numbers.to_double, "the nearest DOUBLE in both engines"),
    "DECIMAL": Construct(numbers.to_decimal, "widened only"),
    "TIMESTAMPNTZ": Construct(numbers.to(Kind.TIMESTAMP, Kind.DATE), "of a day, its midnight"),
    "TIMESTAMP": Construct(numbers.to(Kind.TIMESTAMP, Kind.DATE), "of a day, its midnight"),
    "TIMESTAMPTZ": Construct(numbers.to_instant, "a literal of ours, in UTC"),
    "DATE": Construct(numbers.to(Kind.DATE, Kind.TIMESTAMP), "the day of a moment"),
    "TEXT": Construct(
        numbers.to(Kind.TEXT, Kind.WHOLE, Kind.HUGE, Kind.TRUTH),
        "of NULL, a whole number or a truth value: written alike",
    ),
    "VARCHAR": Construct(numbers.to(Kind.TEXT), "of NULL"),
    "BOOLEAN": Construct(numbers.to(Kind.TRUTH), "of NULL"),
}


def dialect(table: Callable[[str, str], str]) -> Dialect:
    """Spark; ``table`` gives the name under which a table is read there."""
    return Dialect(ENGINE, quoted, table, one_form, EXPRESSIONS, FUNCTIONS, CASTS, grouped, MOST_CALLS)


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
