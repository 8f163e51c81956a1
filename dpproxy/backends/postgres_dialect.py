"""The constructs of the exact stage that PostgreSQL computes alike, row by row: one line each, with the reason.

Whole numbers are bigint or numeric: PostgreSQL's overflow raises where DuckDB's does, which the planner has excluded.
Texts are compared by their bytes, as in DuckDB: equality is that in every deterministic collation, order is told.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

from dpproxy.backends import postgres_casts as casts
from dpproxy.backends import postgres_doubles as doubles
from dpproxy.backends import postgres_functions as functions
from dpproxy.backends import postgres_logic as logic
from dpproxy.backends import postgres_numbers as numbers
from dpproxy.backends.dialect import Construct, Dialect, Kind, Value
from dpproxy.backends.postgres_logic import no
from dpproxy.backends.standard import constructs, in_utc
from dpproxy.sql.quoting import quoted

_SAME = "the same in both engines: total, NULL of NULL"
_ORDER = "values of one type; NaN stands above all numbers in both engines, texts are compared by their bytes"
_RANGE = "exact in both engines, in a type at least as wide"
_IEEE = "correctly rounded in both engines; where PostgreSQL would raise it is guarded or refused"
_LIBRARY = "the C library's in both engines; where PostgreSQL would raise it is guarded or refused"

EXPRESSIONS: Mapping[type[exp.Expr], Construct] = {
    **constructs(logic.ENGINE),
    exp.Literal: Construct(logic.number_or_text, "DOUBLE by its shortest text, others by their digits"),
    exp.EQ: Construct(logic.comparison("="), _ORDER),
    exp.NEQ: Construct(logic.comparison("<>"), _ORDER),
    exp.LT: Construct(logic.comparison("<"), _ORDER),
    exp.LTE: Construct(logic.comparison("<="), _ORDER),
    exp.GT: Construct(logic.comparison(">"), _ORDER),
    exp.GTE: Construct(logic.comparison(">="), _ORDER),
    exp.NullSafeEQ: Construct(logic.comparison("IS NOT DISTINCT FROM"), _ORDER),
    exp.NullSafeNEQ: Construct(logic.comparison("IS DISTINCT FROM"), _ORDER),
    exp.In: Construct(logic.is_one_of, _ORDER),
    exp.Case: Construct(
        logic.case, "the first branch that is true; what it guards is not computed otherwise"
    ),
    exp.Like: Construct(functions.like(fold=False), "by characters, without an escape"),
    exp.ILike: Construct(functions.like(fold=True), "by characters in small letters, without an escape"),
    exp.Add: Construct(numbers.arithmetic("+"), f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    exp.Sub: Construct(numbers.arithmetic("-"), f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    exp.Mul: Construct(numbers.arithmetic("*"), f"whole numbers {_RANGE}; DOUBLE {_IEEE}"),
    exp.Neg: Construct(numbers.negative, "exact"),
    exp.Div: Construct(numbers.quotient, _IEEE),
    exp.IntDiv: Construct(numbers.whole_quotient("/", "div"), "towards zero in both engines"),
    exp.Mod: Construct(numbers.whole_quotient("%", "mod"), "with the sign of the dividend in both engines"),
    exp.DPipe: Construct(functions.of_texts("({} || {})"), _SAME),
    exp.Count: Construct(numbers.counted, "64 bits in both engines"),
    exp.Sum: Construct(numbers.summed, "of whole numbers, in any number of digits"),
    exp.Max: Construct(numbers.end("max"), _ORDER),
    exp.Min: Construct(numbers.end("min"), _ORDER),
}

FUNCTIONS: Mapping[str, Construct] = {
    "hash": Construct(
        functions.hashed, "another keyed hash: any will do that follows from the row's content"
    ),
    "nullif": Construct(logic.nullif, _SAME),
    "coalesce": Construct(logic.coalesce, _SAME),
    "greatest": Construct(logic.extreme("greatest"), "NULLs are passed over in both engines"),
    "least": Construct(logic.extreme("least"), "NULLs are passed over in both engines"),
    "abs": Construct(numbers.absolute, "exact"),
    "sign": Construct(numbers.signum, "0 of NaN in both engines"),
    "floor": Construct(numbers.of_doubles(doubles.whole("floor")), "exact"),
    "ceil": Construct(numbers.of_doubles(doubles.whole("ceil")), "exact"),
    "trunc": Construct(numbers.of_doubles(doubles.whole("trunc")), "exact"),
    "round": Construct(numbers.rounded, "by what is behind the point, which is exact"),
    "round_even": Construct(
        numbers.of_doubles(doubles.whole("round")), "rint of the C library in both engines"
    ),
    "sqrt": Construct(numbers.of_doubles(doubles.root), "correctly rounded; NaN below zero is guarded"),
    "ln": Construct(numbers.of_doubles(doubles.logarithm("ln")), _LIBRARY),
    "log": Construct(numbers.of_doubles(doubles.logarithm("log")), _LIBRARY),
    "exp": Construct(numbers.of_doubles(doubles.exponential), _LIBRARY),
    "power": Construct(
        numbers.power, f"{_LIBRARY}; what is nearer to zero than its power has digits for is zero"
    ),
    "lower": Construct(functions.changed("lower"), "by DuckDB's own table of letters"),
    "upper": Construct(functions.changed("upper"), "by DuckDB's own table of letters"),
    "trim": Construct(functions.trimmed, "of each of the characters that are told, in both engines"),
    "length": Construct(functions.of_texts("length({})::bigint", Kind.WHOLE), "characters in both engines"),
    "substring": Construct(
        functions.of_texts("substr({all})", further=2), "from the first character on, in both engines"
    ),
    "left": Construct(
        functions.of_texts("left({all})", further=1), "all but so many below zero, in both engines"
    ),
    "right": Construct(
        functions.of_texts("right({all})", further=1), "all but so many below zero, in both engines"
    ),
    "strpos": Construct(
        functions.of_texts("strpos({all})::bigint", Kind.WHOLE), "characters in both engines"
    ),
    "starts_with": Construct(functions.of_texts("starts_with({all})", Kind.TRUTH), _SAME),
    "replace": Construct(
        functions.of_texts("replace({all})"), "an empty part changes nothing in both engines"
    ),
    "concat": Construct(functions.of_texts("concat({all})"), "NULLs are left out in both engines"),
    "date_part": Construct(functions.date_part, "of the proleptic Gregorian calendar in both engines"),
    "date_trunc": Construct(functions.date_trunc, "of the proleptic Gregorian calendar in both engines"),
    "epoch_us": Construct(functions.epoch, "exact: numeric seconds have six digits"),
    "make_timestamp": Construct(functions.make_timestamp, "exact: whole days, and microseconds of one day"),
    "timezone": Construct(in_utc(logic.ENGINE), "moments are held in UTC"),
    "to_months": Construct(
        functions.span("make_interval(months => ({})::int)"), "the last day of a shorter month in both"
    ),
    "to_days": Construct(functions.span("make_interval(days => ({})::int)"), "whole days in both engines"),
    "to_microseconds": Construct(
        functions.span("(({})::bigint * interval '1 microsecond')"), "exact in both engines"
    ),
}

CASTS: Mapping[str, Construct] = {
    "BIGINT": Construct(
        casts.to_bigint, "of a whole number, or of a rounded DOUBLE known to be inside 63 bits"
    ),
    "INT128": Construct(casts.to_huge, "numeric has room for 128 bits"),
    "DOUBLE": Construct(casts.to_double, "the nearest DOUBLE in both engines"),
    "DECIMAL": Construct(casts.to_decimal, "widened only"),
    "TIMESTAMPNTZ": Construct(casts.to_moment("timestamp", Kind.TIMESTAMP), "of a day, its midnight"),
    "TIMESTAMP": Construct(casts.to_moment("timestamp", Kind.TIMESTAMP), "of a day, its midnight"),
    "TIMESTAMPTZ": Construct(casts.to_instant, "a literal of ours, in UTC"),
    "DATE": Construct(casts.to_moment("date", Kind.DATE), "the day of a moment"),
    "TEXT": Construct(casts.to_text, "of NULL, a whole number or a truth value: written alike"),
    "VARCHAR": Construct(casts.to_null("text", Kind.TEXT), "of NULL"),
    "BOOLEAN": Construct(casts.to_null("boolean", Kind.TRUTH), "of NULL"),
}


def _table(schema: str) -> Callable[[str, str], str]:
    def table(database: str, name: str) -> str:
        if database:
            raise no("this table")
        return f"{quoted(schema)}.{quoted(name)}"

    return table


def _sorted(value: Value) -> str:
    return f'{value.sql} COLLATE "C"' if value.kind is Kind.TEXT else value.sql


def dialect(schema: str) -> Dialect:
    """PostgreSQL with the data in one schema."""
    return Dialect(logic.ENGINE, quoted, _table(schema), _sorted, EXPRESSIONS, FUNCTIONS, CASTS)
