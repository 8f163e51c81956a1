"""Dates and timestamps: total at row level, since the declared bounds keep every value in the years 1 to 9999."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction

from msgspec import Struct
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.intervals import MOST_DAYS, moved, moved_sql, read_interval
from dpproxy.analysis.literals import from_value, settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed, null
from dpproxy.values.days import micros, midnight
from dpproxy.values.errors import BoundsMissing, NumberOutOfRange, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import DATE, INT4, NUMERIC, TIMESTAMP, TIMESTAMPTZ
from dpproxy.wire.intervals import Interval

_OF_INSTANTS = (
    "Of a public one there is extract(epoch FROM x), and so floor(extract(epoch FROM x) / 3600) * 3600."
)


class DateField(Struct, frozen=True):
    """A field of EXTRACT: the engine's name for it, its range, and what a step of it is worth.

    ``rising`` tells the field of a value where the field never falls as time passes: then it is bounded by the ends.
    """

    part: str
    low: int = 0
    high: int = 0
    scale: int = 0
    of_time: bool = False
    rising: Callable[[datetime], int] | None = None


FIELDS: dict[str, DateField] = {
    "MILLENNIUM": DateField("millennium", rising=lambda d: (d.year - 1) // 1000 + 1),
    "CENTURY": DateField("century", rising=lambda d: (d.year - 1) // 100 + 1),
    "DECADE": DateField("decade", rising=lambda d: d.year // 10),
    "YEAR": DateField("year", rising=lambda d: d.year),
    "ISOYEAR": DateField("isoyear", rising=lambda d: d.isocalendar().year),
    "QUARTER": DateField("quarter", 1, 4),
    "MONTH": DateField("month", 1, 12),
    "WEEK": DateField("week", 1, 53),
    "DAY": DateField("day", 1, 31),
    "DOY": DateField("doy", 1, 366),
    "DOW": DateField("dow", 0, 6),
    "ISODOW": DateField("isodow", 1, 7),
    "HOUR": DateField("hour", 0, 23, of_time=True),
    "MINUTE": DateField("minute", 0, 59, of_time=True),
    "SECOND": DateField("microseconds", 0, 59_999_999, 6, of_time=True),
    "MILLISECONDS": DateField("microseconds", 0, 59_999_999, 3, of_time=True),
    "MICROSECONDS": DateField("microseconds", 0, 59_999_999, of_time=True),
    "EPOCH": DateField("epoch_us", 0, 0, 6, rising=micros),
}
"""What EXTRACT answers: each a whole number of steps of ``10**-scale``."""

UNITS = ("DECADE", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
"""What DATE_TRUNC truncates to: the first moment of it."""


def epoch(value: Typed) -> Typed:
    """EXTRACT(epoch FROM x) of a moment with a time zone."""
    return Typed(duck.call("epoch_us", value.sql), NUMERIC, FIELDS["EPOCH"].scale, nullable=value.nullable)


def extract(node: exp.Extract, given: Typed) -> Typed:
    """EXTRACT(field FROM x) of a date or a timestamp, a numeric."""
    name = node.this.name.upper()
    value = _moment("extract", given)
    field = FIELDS.get(name)
    if field is None or (field.of_time and value.type.oid == DATE.oid):
        raise Unsupported(
            f"this field of a {value.type.shown} is not answered",
            hint=f"Fields: {', '.join(f for f, d in FIELDS.items() if not d.of_time).lower()}; "
            "of a timestamp also hour, minute, second, milliseconds, microseconds.",
        )
    scale, low, high = Fraction(1, 10**field.scale), field.low, field.high
    if name == "EPOCH":
        sql: nodes.Expr = duck.call("epoch_us", value.sql)
    else:
        sql = duck.call("date_part", nodes.Text(field.part), value.sql)
        if not any(value.sql.find_all(nodes.ColumnRef)):  # the part of a constant NULL would be a DOUBLE
            sql = duck.cast(sql, "BIGINT")
    bounds: list[Fraction | None] = [low * scale, high * scale]
    if field.rising is not None:
        bounds = [
            None if end is None else field.rising(midnight(end)) * scale for end in (value.first, value.last)
        ]
    return Typed(sql, NUMERIC, field.scale, bounds[0], bounds[1], value.nullable, presence=value.presence)


def truncate(node: exp.TimestampTrunc, given: Typed, scope: Scope) -> Typed:
    """DATE_TRUNC('unit', x) of a date or a timestamp, a timestamp."""
    value = _moment("date_trunc", given)
    unit = unit_of(node)
    ends = [
        None if end is None else truncated(midnight(end), unit, node) for end in (value.first, value.last)
    ]
    _require_bounds(scope, *ends)
    if value.is_constant and ends[0] is not None and not value.is_null:
        return from_value(ends[0], TIMESTAMP)
    sql = duck.call("date_trunc", nodes.Text(unit.lower()), value.sql)
    return Typed(
        sql, TIMESTAMP, nullable=value.nullable, presence=value.presence, first=ends[0], last=ends[1]
    )


def unit_of(node: exp.TimestampTrunc) -> str:
    """The unit in capitals. Raises ``Unsupported``."""
    unit = str(node.args["unit"].name).upper()
    if unit not in UNITS:
        raise Unsupported("date_trunc does not take this unit", hint=f"Units: {', '.join(UNITS).lower()}.")
    return unit


_STARTS: dict[str, Callable[[datetime], datetime]] = {
    "DECADE": lambda d: d.replace(year=d.year - d.year % 10, month=1, day=1),
    "YEAR": lambda d: d.replace(month=1, day=1),
    "QUARTER": lambda d: d.replace(month=d.month - (d.month - 1) % 3, day=1),
    "MONTH": lambda d: d.replace(day=1),
    "WEEK": lambda d: d - timedelta(days=d.weekday()),
    "DAY": lambda d: d,
}


def truncated(moment: datetime, unit: str, node: exp.Expr | None) -> datetime:
    """The first moment of the unit. Raises ``NumberOutOfRange`` before the year 1."""
    if unit in _STARTS:
        try:
            return _STARTS[unit](moment.replace(hour=0, minute=0, second=0, microsecond=0))
        except ValueError:
            raise _out_of_range(node) from None
    kept = {"HOUR": 1, "MINUTE": 2, "SECOND": 3}[unit]
    parts = dict.fromkeys(("hour", "minute", "second", "microsecond")[kept:], 0)
    return moment.replace(**parts)  # type: ignore[arg-type]


_STEPS = {"DECADE": Interval(120), "YEAR": Interval(12), "QUARTER": Interval(3), "MONTH": Interval(1),
          "WEEK": Interval(days=7), "DAY": Interval(days=1), "HOUR": Interval(microseconds=3_600_000_000),
          "MINUTE": Interval(microseconds=60_000_000), "SECOND": Interval(microseconds=1_000_000)}  # fmt: skip


def starts(first: datetime, last: datetime, unit: str, most: int) -> list[datetime] | None:
    """Every start of a unit from one truncated moment to another; None for more than ``most``."""
    step = _STEPS[unit]
    longest = timedelta(days=31 * step.months + step.days, microseconds=step.microseconds)
    if (last - first) / longest > most:
        return None
    found = [first]
    while found[-1] < last:
        if len(found) == most:
            return None
        found.append(moved(found[-1], step))
    return found


def add_interval(node: exp.Binary, value: Typed, by: exp.Interval, scope: Scope) -> Typed:
    """A date or timestamp plus or minus a constant interval, a timestamp."""
    value = _moment(f"{'-' if isinstance(node, exp.Sub) else '+'} interval", value)
    return moved_by(node, value, signed(node, by), scope)


def signed(node: exp.Binary, by: exp.Interval) -> Interval:
    """The interval that is added."""
    interval = read_interval(by)
    return -interval if isinstance(node, exp.Sub) else interval


def moved_by(node: exp.Expr, value: Typed, by: Interval, scope: Scope) -> Typed:
    """A date or timestamp that much later, a timestamp. Raises ``NumberOutOfRange``."""
    kind, ends = TIMESTAMP, []
    for end in (value.first, value.last):
        try:
            ends.append(None if end is None else moved(midnight(end), by))
        except OverflowError:
            raise _out_of_range(node) from None
    _require_bounds(scope, *ends)
    if value.is_null:
        return null(kind)
    if value.is_constant and ends[0] is not None:
        return from_value(ends[0], kind)
    start = value.sql if value.type.oid == TIMESTAMP.oid else duck.cast(value.sql, "TIMESTAMP")
    return Typed(
        moved_sql(start, by), kind, nullable=value.nullable, presence=value.presence,
        first=ends[0], last=ends[1],
    )  # fmt: skip


def arithmetic(node: exp.Binary, a: Typed, b: Typed, scope: Scope) -> Typed:
    """Date plus or minus whole days, a date; date minus date, whole days."""
    if isinstance(node, exp.Sub) and a.type.oid == DATE.oid:
        other = settle(b, DATE, scope, node.expression) if not b.is_number else b
        if other.type.oid == DATE.oid:
            return _difference(a, other)
    if isinstance(node, exp.Add) and b.type.oid == DATE.oid:
        a, b = b, a
    days = settle(b, INT4, scope, node)
    if a.type.oid != DATE.oid or not days.is_integer:
        sign = "-" if isinstance(node, exp.Sub) else "+"
        raise UndefinedFunction(
            f"operator does not exist: {a.type.shown} {sign} {b.type.shown}",
            hint="Dates: d + INTERVAL '3 months', d + 7, d1 - d2; seconds between timestamps: "
            "EXTRACT(epoch FROM a - b).",
        )
    return _plus_days(node, a, days, scope)


def _difference(a: Typed, b: Typed) -> Typed:
    low = None if a.first is None or b.last is None else Fraction((a.first - b.last).days)
    high = None if a.last is None or b.first is None else Fraction((a.last - b.first).days)
    sql = duck.binary("-", a.sql, b.sql)
    return Typed(sql, INT4, 0, low, high, a.nullable or b.nullable)


def _plus_days(node: exp.Binary, a: Typed, days: Typed, scope: Scope) -> Typed:
    low, high = days.low, days.high
    sql = days.sql
    if isinstance(node, exp.Sub):
        low, high = None if high is None else -high, None if low is None else -low
        sql = duck.binary("-", duck.integer(0), duck.cast(sql, "BIGINT"))
    try:
        first, last = _day_after(a.first, low), _day_after(a.last, high)
    except OverflowError:
        raise _out_of_range(node) from None
    _require_bounds(scope, first, last)
    if a.is_null or days.is_null:
        return null(DATE)
    if a.is_constant and days.is_constant and first is not None and first == last:
        return from_value(first, DATE)
    moved_on = duck.binary("+", a.sql, duck.call("to_days", duck.cast(sql, "BIGINT")))
    return Typed(
        duck.cast(moved_on, "DATE"), DATE, nullable=a.nullable or days.nullable, first=first, last=last
    )


def _day_after(day: date | None, days: Fraction | None) -> date | None:
    if day is None or days is None:
        return None
    if abs(days) > MOST_DAYS:
        raise OverflowError
    return day + timedelta(days=int(days))


def to_timestamp(value: Typed) -> Typed:
    """A date as the timestamp of its midnight."""
    if value.is_constant and isinstance(value.constant, date):
        return from_value(midnight(value.constant), TIMESTAMP)
    first, last = (None if end is None else midnight(end) for end in (value.first, value.last))
    sql = duck.cast(value.sql, "TIMESTAMP")
    return Typed(
        sql, TIMESTAMP, nullable=value.nullable, presence=value.presence, first=first, last=last,
        opaque=value.opaque,
    )  # fmt: skip


def to_date(value: Typed) -> Typed:
    """The day of a timestamp."""
    if value.is_constant and isinstance(value.constant, datetime):
        return from_value(value.constant.date(), DATE)
    first, last = (None if end is None else midnight(end).date() for end in (value.first, value.last))
    sql = duck.cast(value.sql, "DATE")
    return Typed(sql, DATE, nullable=value.nullable, presence=value.presence, first=first, last=last)


def _moment(name: str, value: Typed) -> Typed:
    if not value.is_moment:
        raise UndefinedFunction(
            f"{name} does not take a value of type {value.type.shown}",
            hint=_OF_INSTANTS if value.type.oid == TIMESTAMPTZ.oid else "It takes a date or a timestamp.",
        )
    return value


def unbounded() -> BoundsMissing:
    """The refusal of dates that may be anything: a row could leave the engine's range."""
    return BoundsMissing(
        "the dates have no declared bounds", hint="An administrator declares them with DOMAIN BETWEEN."
    )


def _require_bounds(scope: Scope, *ends: date | None) -> None:
    """Over rows, bounds must be known; NULL has none."""
    if scope.level is ExpressionLevel.ROW and None in ends:
        raise unbounded()


def _out_of_range(node: exp.Expr | None) -> NumberOutOfRange:
    return NumberOutOfRange(
        "a date could go out of range by the declared bounds",
        hint="Dates stay in the years 1 to 9999: use a smaller interval, or declare narrower bounds.",
        position=position(node),
    )
