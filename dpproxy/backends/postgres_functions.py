"""Texts and dates in PostgreSQL: by characters and by the proleptic Gregorian calendar, as in DuckDB."""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.backends.dialect import Kind, Rule, Value
from dpproxy.backends.postgres_logic import no
from dpproxy.backends.postgres_texts import folded
from dpproxy.backends.standard import MOMENTS

_DAY = 86_400_000_000
"""Microseconds."""
LONGEST_IN_ROW = 100_000
"""Bytes: 1,600 columns of that are far below the gigabyte that a row may have."""


def of_texts(template: str, kind: Kind = Kind.TEXT, *, further: int = 0) -> Rule:
    """A function of texts; the last ``further`` arguments are whole numbers."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        split = len(parts) - further
        if any(p.kind is not Kind.TEXT for p in parts[:split]):
            raise no("a function of this type")
        if any(p.kind is not Kind.WHOLE or p.constant is None for p in parts[split:]):
            raise no("a function of texts without constant places")
        held = [p.sql for p in parts[:split]] + [f"{p.sql}::int" for p in parts[split:]]
        return Value(template.format(*held, all=", ".join(held)), kind)

    return apply


_SIDES = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def trimmed(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """TRIM, LTRIM and RTRIM: of spaces, or of the characters that are told."""
    side = str(node.args.get("position") or "").upper()
    return of_texts(f"{_SIDES.get(side, 'btrim')}({{all}})")(node, parts)


def like(*, fold: bool) -> Rule:
    """LIKE without an escape character, which PostgreSQL has unless it is told none."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        value, pattern = parts
        if value.kind is not Kind.TEXT or pattern.constant is None:
            raise no("LIKE of a pattern that is no constant")
        held, of = (
            (folded(value.sql, "lower"), folded(pattern.sql, "lower")) if fold else (value.sql, pattern.sql)
        )
        return Value(f"({held} LIKE {of} ESCAPE '')", Kind.TRUTH)

    return apply


def changed(name: str) -> Rule:
    """LOWER and UPPER."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        if parts[0].kind is not Kind.TEXT:
            raise no("a function of this type")
        return Value(folded(parts[0].sql, name), Kind.TEXT)

    return apply


_FIELDS = frozenset(
    [
        "millennium",
        "century",
        "decade",
        "year",
        "isoyear",
        "quarter",
        "month",
        "week",
        "day",
        "doy",
        "dow",
        "isodow",
        "hour",
        "minute",
        "microseconds",
    ]
)


def date_part(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """EXTRACT of a field."""
    field, value = parts
    if field.constant not in _FIELDS or value.kind not in MOMENTS:
        raise no("this field of a date")
    part = f"extract({field.constant} FROM {value.sql})::bigint"  # of what is infinite it would be too
    return Value(f"(CASE WHEN isfinite({value.sql}) THEN {part} END)", Kind.WHOLE)


def date_trunc(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """The first moment of a unit."""
    unit = str(node.args["unit"].name).lower()
    if unit not in ("decade", "year", "quarter", "month", "week", "day", "hour", "minute", "second"):
        raise no("this unit of date_trunc")
    value = parts[-1]  # of a day the parser writes the unit first, as a text
    if value.kind not in MOMENTS:
        raise no("date_trunc of this type")
    return Value(f"date_trunc('{unit}', {value.sql}::timestamp)", Kind.TIMESTAMP)


def epoch(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """Microseconds since 1970."""
    if parts[0].kind not in (*MOMENTS, Kind.INSTANT):
        raise no("epoch_us of this type")
    micros = f"(extract(epoch FROM {parts[0].sql}) * 1000000)"
    most = 2**63 - 1
    clamped = (
        f"CASE WHEN {micros} > {most} THEN {most} WHEN {micros} < -{most} THEN -{most} ELSE {micros} END"
    )
    return Value(f"(CASE WHEN isfinite({parts[0].sql}) THEN ({clamped})::bigint END)", Kind.WHOLE)


def make_timestamp(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """The timestamp so many microseconds after 1970: by days and the rest of one, which an interval holds exactly."""
    micros = parts[0]
    if micros.kind is not Kind.WHOLE:
        raise no("make_timestamp of this type")
    days = f"({micros.sql} / {_DAY})::int * interval '1 day'"
    rest = f"({micros.sql} % {_DAY}) * interval '1 microsecond'"
    return Value(f"('1970-01-01'::timestamp + {days} + {rest})", Kind.TIMESTAMP)


def span(template: str) -> Rule:
    """A length of time from a whole number of units."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        if parts[0].kind is not Kind.WHOLE:
            raise no("a length of time of this type")
        return Value(template.format(parts[0].sql), Kind.SPAN)

    return apply


def _short(value: Value) -> str:
    """A value in a row: of a long text its digest, or a row of many would be longer than a row can be, and raise."""
    if value.kind is not Kind.TEXT:
        return value.sql
    return (
        f"(CASE WHEN octet_length({value.sql}) > {LONGEST_IN_ROW} THEN md5({value.sql}) ELSE {value.sql} END)"
    )


def hashed(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """Not DuckDB's: which rows of a unit are kept is as random, and as fixed, but another choice.

    The first is the truncation secret, 32 bytes in hexadecimal: the first eight seed the hash, all are in it.
    """
    seed = f"('x' || left({parts[0].sql}::text, 16))::bit(64)::bigint"
    row = ", ".join([f"{parts[0].sql}::text", *(_short(p) for p in parts[1:])])
    return Value(f"hash_record_extended(ROW({row}), {seed})", Kind.WHOLE)
