"""Moments with a time zone, ``timestamptz``, beside rows: the time in UTC, and clocks of zones as arithmetic on it.

Beside rows a moment is a TIMESTAMP in UTC inside its bounds. A zone's changes between the bounds are written into the
statement as constants, so that every engine computes alike; none is asked for a zone of its own.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import dates, duck, spans
from dpproxy.analysis.clocks import MOST_CHANGES, Change, changes, fixed_offset, local_of, offset_at, utc_of
from dpproxy.analysis.intervals import moved_sql
from dpproxy.analysis.literals import constant_moment, from_value, settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.values.days import MICROSECOND, midnight
from dpproxy.values.errors import InvalidParameter, NumberOutOfRange, TooComplex, Unsupported
from dpproxy.values.pgtypes import DATE, TIMESTAMP, TIMESTAMPTZ
from dpproxy.wire.intervals import Interval
from dpproxy.wire.zones import zone as zone_of

_ABBREVIATIONS = {"CET": 1, "MET": 1, "EET": 2, "WET": 0}
"""Hours east of what PostgreSQL takes for a fixed offset, and the tz database for a zone."""


def named_zone(name: str) -> tzinfo:
    """The zone of a name. Raises ``InvalidParameter``."""
    try:
        if name.upper() in _ABBREVIATIONS:
            return zone_of(str(_ABBREVIATIONS[name.upper()]))
        return zone_of(name)
    except ValueError:
        raise InvalidParameter(
            "the time zone is not recognized", hint="Write a name such as 'UTC' or 'Europe/Berlin'."
        ) from None


def is_instant(value: Typed) -> bool:
    """A moment with a time zone."""
    return value.type.oid == TIMESTAMPTZ.oid


def is_usable(value: Typed) -> bool:
    """Whether a moment is in the form of this module: beside rows, everything with bounds is."""
    return is_instant(value) and value.first is not None and value.last is not None


def instant(moment: datetime, scope: Scope) -> Typed:
    """A constant moment, given in UTC."""
    return constant_moment(moment, scope)


def _at_level(utc: Typed, scope: Scope) -> Typed:
    """What is held as a TIMESTAMP in UTC, as a moment."""
    if utc.is_constant and isinstance(utc.constant, datetime):
        return constant_moment(utc.constant, scope)
    sql = utc.sql if scope.level is ExpressionLevel.ROW else duck.call("timezone", _utc(), utc.sql)
    return replace(utc, sql=sql, type=TIMESTAMPTZ)


def in_utc(value: Typed, scope: Scope) -> Typed:
    """A moment as the TIMESTAMP of it in UTC."""
    if value.is_constant and isinstance(value.constant, datetime):
        return from_value(value.constant, TIMESTAMP)
    if scope.level is ExpressionLevel.ROW and not is_usable(value):
        raise Unsupported("moments without bounds are not computed with beside protected rows")
    sql = value.sql if scope.level is ExpressionLevel.ROW else duck.call("timezone", _utc(), value.sql)
    return replace(value, sql=sql, type=TIMESTAMP)


def _utc() -> nodes.Expr:
    return nodes.Text("UTC")


def to_local(value: Typed, zone: tzinfo, node: exp.Expr, scope: Scope) -> Typed:
    """What a clock of the zone shows at a moment: a timestamp."""
    utc = in_utc(value, scope)
    if utc.is_constant or fixed_offset(zone) is not None or scope.level is ExpressionLevel.ROW:
        return _shifted(utc, zone, node, scope, _Clock(local_of, lambda c: c.at, east=True))
    name = nodes.Text(str(zone))  # of the tz database: others are fixed
    first, last = _local_bounds(utc, zone)
    return replace(utc, sql=duck.call("timezone", name, value.sql), first=first, last=last)


def _local_bounds(utc: Typed, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    """Between what a clock of the zone shows at moments in UTC: no clock is changed by a day."""
    if utc.first is None or utc.last is None:
        return None, None
    try:
        ends = local_of(midnight(utc.first), zone), local_of(midnight(utc.last), zone)
        return ends[0] - timedelta(days=1), ends[1] + timedelta(days=1)
    except OverflowError:
        return None, None


def to_instant(value: Typed, zone: tzinfo, node: exp.Expr, scope: Scope) -> Typed:
    """The moment when a clock of the zone shows a timestamp, or midnight of a day."""
    if value.type.oid == DATE.oid:
        if value.opaque:
            raise dates.unbounded()
        value = dates.to_timestamp(value)
    clock = _Clock(utc_of, lambda c: c.at + c.after, east=False)
    return _at_level(_shifted(value, zone, node, scope, clock), scope)


class _Clock(Struct, frozen=True):
    """One of the two ways between a zone's clock and UTC: of a constant, and where in its time the clock changes."""

    moved: Callable[[datetime, tzinfo], datetime]
    place: Callable[[Change], datetime]
    east: bool


def _shifted(value: Typed, zone: tzinfo, node: exp.Expr, scope: Scope, clock: _Clock) -> Typed:
    """A timestamp by the offset of the zone at that time."""
    fixed = fixed_offset(zone)
    if value.is_null or fixed == timedelta():
        return value
    try:
        ends = [
            None if end is None else clock.moved(midnight(end), zone) for end in (value.first, value.last)
        ]
    except OverflowError:
        raise NumberOutOfRange("a date could go out of range", position=position(node)) from None
    if value.is_constant and ends[0] is not None:
        return from_value(ends[0], TIMESTAMP)
    sign = 1 if clock.east else -1
    if fixed is not None:
        if scope.level is ExpressionLevel.ROW and None in ends:
            raise dates.unbounded()
        return replace(value, sql=_by(value.sql, sign * fixed), first=ends[0], last=ends[1])
    if value.first is None or value.last is None:
        raise dates.unbounded()
    found = changes(zone, midnight(value.first), midnight(value.last))
    if found is None:
        raise TooComplex(
            f"the time zone changes its clock more than {MOST_CHANGES} times between the bounds of the column",
            hint="Name a zone without such changes: AT TIME ZONE 'UTC'; or SET TimeZone = 'UTC'.",
            position=position(node),
        )
    branches = [
        (nodes.Binary("<", value.sql, duck.constant(clock.place(c))), _by(value.sql, sign * c.before))
        for c in found
    ]
    last = _by(value.sql, sign * (found[-1].after if found else offset_at(zone, midnight(value.first))))
    sql = nodes.Paren(duck.case(branches, last)) if found else last
    inside = [c for c in found if midnight(value.first) <= clock.place(c) <= midnight(value.last)]
    jumps = [clock.place(c) + sign * offset for c in inside for offset in (c.before, c.after)]
    known = [*(end for end in ends if end is not None), *jumps]
    return replace(value, sql=sql, first=min(known), last=max(known))


def _by(sql: nodes.Expr, offset: timedelta) -> nodes.Expr:
    return moved_sql(sql, Interval(microseconds=offset // MICROSECOND))


# --- what is computed


def at_zone(node: exp.AtTimeZone, value: Typed, scope: Scope) -> Typed:
    """``x AT TIME ZONE 'UTC'``: of a moment the time there, of a time there the moment."""
    named = node.args["zone"]
    if not isinstance(named, exp.Literal) or not named.is_string:
        raise Unsupported(
            "AT TIME ZONE takes the name of a zone as a constant", hint="Write x AT TIME ZONE 'UTC'."
        )
    zone = named_zone(named.name)
    value = settle(value, TIMESTAMPTZ, scope, node)
    if value.type.oid == DATE.oid:
        value = to_instant(value, scope.parameters.zone, node, scope)
    if is_instant(value):
        return to_local(value, zone, node, scope)
    if value.type.oid != TIMESTAMP.oid:
        raise Unsupported("AT TIME ZONE takes a date or a timestamp", position=position(node))
    return to_instant(value, zone, node, scope)


def add_interval(node: exp.Expr, value: Typed, by: Interval, scope: Scope) -> Typed:
    """A moment plus an interval: months and days by the session's clock, the rest as it passes."""
    zone = scope.parameters.zone
    if by.months or by.days:
        shown = to_local(value, zone, node, scope)
        shown = dates.moved_by(node, shown, Interval(by.months, by.days), scope)
        value = to_instant(shown, zone, node, scope)
    rest = Interval(microseconds=by.microseconds)
    return _at_level(dates.moved_by(node, in_utc(value, scope), rest, scope), scope)


def truncate(node: exp.TimestampTrunc, arguments: list[Typed], scope: Scope) -> Typed:
    """DATE_TRUNC('unit', x), of a moment by the session's clock or that of a zone: a moment again."""
    value = settle(arguments[0], TIMESTAMP, scope, node)
    named = node.args.get("zone")
    if not is_instant(value) and named is None:
        return dates.truncate(node, value, scope)
    zone = zone_in(node, scope)
    value = value if is_instant(value) else to_instant(value, scope.parameters.zone, node, scope)
    if dates.unit_of(node) in _SHORT and not value.is_constant and fixed_offset(zone) is None:
        zone = _hours_of(zone, value.first, value.last, node)
    return to_instant(dates.truncate(node, to_local(value, zone, node, scope), scope), zone, node, scope)


def _hours_of(zone: tzinfo, first: date | None, last: date | None, node: exp.TimestampTrunc) -> tzinfo:
    """A zone that never changes its clock, whose hours begin when those of another one do between two moments."""
    if dates.unit_of(node) != "HOUR":
        return UTC  # minutes begin alike everywhere
    known = None if first is None or last is None else changes(zone, midnight(first), midnight(last))
    if known is not None and first is not None:
        offsets = {offset_at(zone, midnight(first)), *(o for c in known for o in (c.before, c.after))}
        past = {offset % timedelta(hours=1) for offset in offsets}
        if len(past) == 1:
            return timezone(past.pop())
    raise Unsupported(
        "hours of a zone that changes its clock by less than an hour, or without bounds, are not answered",
        hint="Take the hours of UTC: date_trunc('hour', x AT TIME ZONE 'UTC').",
    )


def zone_in(node: exp.TimestampTrunc, scope: Scope) -> tzinfo:
    """The zone by whose clock DATE_TRUNC truncates a moment."""
    named = node.args.get("zone")
    if named is None:
        return scope.parameters.zone
    if not isinstance(named, exp.Literal) or not named.is_string:
        raise Unsupported("the zone of date_trunc is a constant", position=position(node))
    return named_zone(named.name)


_SHORT = ("HOUR", "MINUTE", "SECOND")


def extract(node: exp.Extract, arguments: list[Typed], scope: Scope) -> Typed:
    """EXTRACT(field FROM x), of a moment by the session's clock."""
    value = settle(arguments[0], TIMESTAMP, scope, node)
    if spans.is_span(value):
        return spans.part(node, value)
    if is_instant(value):
        is_epoch = node.this.name.upper() == "EPOCH"
        if is_epoch and scope.level is ExpressionLevel.RELEASED and not value.is_constant:
            return dates.epoch(value)
        zone = UTC if is_epoch else scope.parameters.zone
        value = in_utc(value, scope) if is_epoch else to_local(value, zone, node, scope)
    return dates.extract(node, value)


def starts(
    first: datetime, last: datetime, node: exp.TimestampTrunc, most: int, scope: Scope
) -> list[datetime] | None:
    """Every start of a unit of a zone's clock between two of them, as moments of UTC."""
    zone, unit = zone_in(node, scope), dates.unit_of(node)
    if unit in _SHORT and fixed_offset(zone) is None:
        zone = _hours_of(zone, first, last, node)
    found = dates.starts(local_of(first, zone), local_of(last, zone), unit, most)
    return None if found is None else list(dict.fromkeys(utc_of(moment, zone) for moment in found))
