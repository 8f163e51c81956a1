"""Texts and dates in PostgreSQL: by characters and by the proleptic Gregorian calendar, as in DuckDB."""

from collections.abc import Callable, Sequence

from dpproxy.algebra import nodes
from dpproxy.backends.postgres.texts import folded
from dpproxy.backends.servers.dialect import Unanswered, Value, ValueKind
from dpproxy.backends.servers.standard import Texts

_DAY = 86_400_000_000
"""Microseconds."""
LONGEST_IN_ROW = 100_000
"""Bytes: 1,600 columns of that are far below the gigabyte that a row may have."""


OF_TEXTS = Texts(lambda value: f"{value.sql}::int")


def like(text: str, word: str, pattern: str) -> str:
    """LIKE without an escape character, which PostgreSQL has unless it is told none."""
    return f"({text} {word} {pattern} ESCAPE '')"


def changed(name: str) -> Callable[[Value], Value]:
    """LOWER and UPPER."""
    return lambda a: Value(folded(a.sql, name), ValueKind.TEXT)


_FIELDS = frozenset({
    "millennium", "century", "decade", "year", "isoyear", "quarter", "month", "week", "day", "doy", "dow", "isodow",
    "hour", "minute", "microseconds",
})  # fmt: skip


def date_part(field: Value, value: Value) -> Value:
    """EXTRACT of a field."""
    if field.constant not in _FIELDS:
        raise Unanswered("this field of a date")
    part = f"extract({field.constant} FROM {value.sql})::bigint"  # of what is infinite it would be too
    return Value(f"(CASE WHEN isfinite({value.sql}) THEN {part} END)", ValueKind.WHOLE)


_UNITS = ("decade", "year", "quarter", "month", "week", "day", "hour", "minute", "second")


def date_trunc(unit: Value, value: Value) -> Value:
    """The first moment of a unit."""
    name = (unit.constant or "").lower()
    if name not in _UNITS:
        raise Unanswered("this unit of date_trunc")
    return Value(f"date_trunc('{name}', {value.sql}::timestamp)", ValueKind.TIMESTAMP)


def epoch(a: Value) -> Value:
    """Microseconds since 1970."""
    micros = f"(extract(epoch FROM {a.sql}) * 1000000)"
    most = 2**63 - 1
    clamped = (
        f"CASE WHEN {micros} > {most} THEN {most} WHEN {micros} < -{most} THEN -{most} ELSE {micros} END"
    )
    return Value(f"(CASE WHEN isfinite({a.sql}) THEN ({clamped})::bigint END)", ValueKind.WHOLE)


def make_timestamp(micros: Value) -> Value:
    """The timestamp so many microseconds after 1970: by days and the rest of one, which an interval holds exactly."""
    days = f"({micros.sql} / {_DAY})::int * interval '1 day'"
    rest = f"({micros.sql} % {_DAY}) * interval '1 microsecond'"
    return Value(f"('1970-01-01'::timestamp + {days} + {rest})", ValueKind.TIMESTAMP)


def span(template: str) -> Callable[[Value], Value]:
    """A length of time from a whole number of units."""
    return lambda a: Value(template.format(a.sql), ValueKind.SPAN)


def _short(value: Value) -> str:
    """A value in a row: of a long text its digest, or a row of many would be longer than a row can be, and raise."""
    if value.kind is not ValueKind.TEXT:
        return value.sql
    return (
        f"(CASE WHEN octet_length({value.sql}) > {LONGEST_IN_ROW} THEN md5({value.sql}) ELSE {value.sql} END)"
    )


def hashed(_: nodes.Expr, parts: Sequence[Value]) -> Value:
    """Not DuckDB's: which rows of a unit are kept is as random, and as fixed, but another choice.

    The first is the truncation secret, 32 bytes in hexadecimal: the first eight seed the hash, all are in it.
    """
    seed = f"('x' || left({parts[0].sql}::text, 16))::bit(64)::bigint"
    row = ", ".join([f"{parts[0].sql}::text", *(_short(p) for p in parts[1:])])
    return Value(f"hash_record_extended(ROW({row}), {seed})", ValueKind.WHOLE)
