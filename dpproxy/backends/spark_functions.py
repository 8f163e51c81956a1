"""What Spark computes like DuckDB, third part: texts and dates."""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.backends.dialect import Kind, Rule, Value
from dpproxy.backends.spark_texts import folded, literal
from dpproxy.backends.spark_values import cast, grouped, no, one_form
from dpproxy.backends.standard import MOMENTS

# --- texts and dates ------------------------------------------------------------------------------


def texts(template: str, kind: Kind = Kind.TEXT, *, further: int = 0) -> Rule:
    """A function of texts; the last ``further`` arguments are places, from 0 on."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        split = len(parts) - further
        if any(p.kind is not Kind.TEXT for p in parts[:split]):
            raise no("a function of this type")
        places = [int(p.constant or -1) for p in parts[split:] if p.kind is Kind.WHOLE]
        if len(places) < len(parts) - split or any(place < 0 for place in places):
            raise no("a function of texts without constant places")
        held = [*(p.sql for p in parts[:split]), *map(str, places)]
        return Value(template.format(*held, all=", ".join(held)), kind)

    return apply


_SIDES = {"LEADING": "LEADING", "TRAILING": "TRAILING"}


def trim(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """TRIM of characters, at either end or both."""
    value, *characters = parts
    side = _SIDES.get(str(node.args.get("position") or "").upper(), "BOTH")
    if len(characters) != 1 or any(p.kind is not Kind.TEXT for p in parts):
        raise no("a function of this type")
    return Value(f"trim({side} {characters[0].sql} FROM {value.sql})", Kind.TEXT)


def like(*, fold: bool) -> Rule:
    """LIKE without an escape character, which is a backslash there."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        value, pattern = parts
        if value.kind is not Kind.TEXT or pattern.constant is None:
            raise no("LIKE of a pattern that is no constant")
        held, of = value.sql, literal(pattern.constant.replace("\\", "\\\\"))
        if fold:
            held, of = folded(held, "lower"), folded(of, "lower")
        return Value(grouped(f"{held} LIKE {of}"), Kind.TRUTH)

    return apply


def folded_of(name: str) -> Rule:
    """LOWER and UPPER."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        if parts[0].kind is not Kind.TEXT:
            raise no("a function of this type")
        return Value(folded(parts[0].sql, name), Kind.TEXT)

    return apply


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


def date_part(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """A field of a date."""
    field, value = parts
    template = _FIELDS.get(field.constant or "")
    if template is None or value.kind not in MOMENTS:
        raise no("this field of a date")
    return Value(cast(template.format(value.sql), Kind.WHOLE), Kind.WHOLE)


_DAYS = {
    "year": "make_date(year({0}), 1, 1)",
    "quarter": "make_date(year({0}), 3 * quarter({0}) - 2, 1)",
    "month": "make_date(year({0}), month({0}), 1)",
    "week": f"date_sub({{0}}, {grouped('dayofweek({0}) + 5')} % 7)",
}
_TIMES = ("day", "hour", "minute", "second")


def date_trunc(node: exp.Expr, parts: Sequence[Value]) -> Value:
    """By days where the unit is longer than one: a server may cut moments of a few centuries only."""
    unit = str(node.args["unit"].name).lower()
    value = parts[-1]  # of a day the parser writes the unit first, as a text
    if (unit not in _DAYS and unit not in _TIMES) or value.kind not in MOMENTS:
        raise no("this unit of date_trunc")
    day, moment = cast(value.sql, Kind.DATE), cast(value.sql, Kind.TIMESTAMP)
    cut = _DAYS[unit].format(day) if unit in _DAYS else f"date_trunc('{unit}', {moment})"
    return Value(cast(cut, Kind.TIMESTAMP), Kind.TIMESTAMP)


def epoch(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """Microseconds since 1970."""
    if parts[0].kind not in (*MOMENTS, Kind.INSTANT):
        raise no("epoch_us of this type")
    return Value(f"unix_micros({cast(parts[0].sql, Kind.TIMESTAMP)}::TIMESTAMP)", Kind.WHOLE)


def make_timestamp(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """The timestamp so many microseconds after 1970."""
    if parts[0].kind is not Kind.WHOLE:
        raise no("make_timestamp of this type")
    return Value(cast(f"timestamp_micros({parts[0].sql})", Kind.TIMESTAMP), Kind.TIMESTAMP)


def span(template: str, *, constant: bool) -> Rule:
    """A length of time."""

    def apply(_: exp.Expr, parts: Sequence[Value]) -> Value:
        [a] = parts
        if a.kind is not Kind.WHOLE or (constant and a.constant is None):
            raise no("a length of time of this type")
        return Value(template.format(a.constant if constant else a.sql), Kind.SPAN)

    return apply


def hash_of(_: exp.Expr, parts: Sequence[Value]) -> Value:
    """Not DuckDB's: which rows of a unit are kept is as random, and as fixed, but another choice."""
    return Value(f"xxhash64({', '.join(one_form(p) for p in parts)})", Kind.WHOLE)
