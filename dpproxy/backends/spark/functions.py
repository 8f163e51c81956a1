"""What Spark computes like DuckDB, third part: texts and dates."""

from collections.abc import Callable, Sequence

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Unanswered, Value, ValueKind
from dpproxy.backends.servers.standard import Texts
from dpproxy.backends.spark.texts import folded, literal
from dpproxy.backends.spark.values import cast, grouped, one_form

OF_TEXTS = Texts()


def trim(side: str) -> Callable[[Value, Value], Value]:
    """TRIM of characters, at either end or both."""
    return lambda value, characters: Value(f"trim({side} {characters.sql} FROM {value.sql})", ValueKind.TEXT)


def like(text: str, word: str, pattern: str) -> str:
    """LIKE, whose escape character is a backslash there."""
    return grouped(f"{text} {word} {pattern}")


def pattern(value: Value) -> str:
    """A pattern in which no character is an escape."""
    return literal((value.constant or "").replace("\\", "\\\\"))


def folded_of(name: str) -> Callable[[Value], Value]:
    """LOWER and UPPER."""
    return lambda a: Value(folded(a.sql, name), ValueKind.TEXT)


_FIELDS = {
    "year": "year({})",
    "quarter": "quarter({})",
    "month": "month({})",
    "day": "day({})",
    "doy": "dayofyear({})",
    "dow": grouped("dayofweek({}) - 1"),
    "isodow": grouped(grouped("dayofweek({}) + 5") + " % 7 + 1"),
    "week": "weekofyear({})",
    "hour": "hour({}::TIMESTAMP_NTZ)",
    "minute": "minute({}::TIMESTAMP_NTZ)",
}


def date_part(field: Value, value: Value) -> Value:
    """A field of a date."""
    template = _FIELDS.get(field.constant or "")
    if template is None:
        raise Unanswered("this field of a date")
    return Value(cast(template.format(value.sql), ValueKind.WHOLE), ValueKind.WHOLE)


_DAYS = {
    "year": "make_date(year({0}), 1, 1)",
    "quarter": "make_date(year({0}), 3 * quarter({0}) - 2, 1)",
    "month": "make_date(year({0}), month({0}), 1)",
    "week": f"date_sub({{0}}, {grouped('dayofweek({0}) + 5')} % 7)",
}
_TIMES = ("day", "hour", "minute", "second")


def date_trunc(unit: Value, value: Value) -> Value:
    """By days where the unit is longer than one: a server may cut moments of a few centuries only."""
    name = (unit.constant or "").lower()
    if name not in _DAYS and name not in _TIMES:
        raise Unanswered("this unit of date_trunc")
    day, moment = cast(value.sql, ValueKind.DATE), cast(value.sql, ValueKind.TIMESTAMP)
    cut = _DAYS[name].format(day) if name in _DAYS else f"date_trunc('{name}', {moment})"
    return Value(cast(cut, ValueKind.TIMESTAMP), ValueKind.TIMESTAMP)


def epoch(a: Value) -> Value:
    """Microseconds since 1970."""
    return Value(f"unix_micros({cast(a.sql, ValueKind.TIMESTAMP)}::TIMESTAMP)", ValueKind.WHOLE)


def make_timestamp(a: Value) -> Value:
    """The timestamp so many microseconds after 1970."""
    return Value(cast(f"timestamp_micros({a.sql})", ValueKind.TIMESTAMP), ValueKind.TIMESTAMP)


def span(template: str, *, constant: bool) -> Callable[[Value], Value]:
    """A length of time."""

    def apply(a: Value) -> Value:
        if constant and a.constant is None:
            raise Unanswered("a length of time of this type")
        return Value(template.format(a.constant if constant else a.sql), ValueKind.SPAN)

    return apply


def hash_of(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """Not DuckDB's: which rows of a unit are kept is as random, and as fixed, but another choice."""
    return Value(f"xxhash64({', '.join(one_form(p) for p in parts)})", ValueKind.WHOLE)
