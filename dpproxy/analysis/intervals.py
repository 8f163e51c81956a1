"""Constant intervals, and how they move a date: months, then days, then microseconds, as PostgreSQL adds them."""

import calendar
import re
from datetime import datetime, timedelta

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.values.errors import InvalidText, NumberOutOfRange, Unsupported
from dpproxy.wire.intervals import Interval

_PAIR = re.compile(r"\s*([+-]?\d{1,18})\s*([a-z]+)\s*", re.ASCII)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_MONTHS = {"month": 1, "mon": 1, "year": 12, "decade": 120}
_DAYS = {"day": 1, "week": 7}
_MICROSECONDS = {
    "microsecond": 1, "millisecond": 1_000, "second": _SECOND, "sec": _SECOND, "minute": 60 * _SECOND,
    "min": 60 * _SECOND, "hour": 3_600 * _SECOND,
}  # fmt: skip
MOST_DAYS = 4_000_000
"""More than from the first date to the last."""


def read_interval(node: exp.Interval) -> Interval:
    """``INTERVAL '90' day`` or ``INTERVAL '1 year 2 months'``: whole numbers and units.

    Errors: ``InvalidText``; ``Unsupported`` for one that is no literal; ``NumberOutOfRange``.
    """
    this, unit = node.this, node.args.get("unit")
    if not isinstance(this, exp.Literal) or not (unit is None or isinstance(unit, exp.Var)):
        raise Unsupported(
            "an interval is a constant", hint="Write INTERVAL '3 months'.", position=position(node)
        )
    text = f"{this.this} {unit.name if unit is not None else ''}".strip().lower()
    parts = _PAIR.findall(text)
    if not parts or _PAIR.sub("", text):
        raise InvalidText(
            "an interval is whole numbers and units",
            hint="Write INTERVAL '3 months'.",
            position=position(node),
        )
    total = Interval()
    for count, name in parts:
        total += _part(int(count), name, node)
    reach = abs(total.months) * 31 + abs(total.days) + abs(total.microseconds) // _DAY
    if reach > MOST_DAYS:
        raise NumberOutOfRange("interval out of range", position=position(node))
    return total


def times(node: exp.Interval, count: int) -> exp.Interval:
    """So many times an interval. Raises as ``read_interval``."""
    one = read_interval(node)
    text = f"{one.months * count} months {one.days * count} days {one.microseconds * count} microseconds"
    made = exp.Interval(this=exp.Literal.string(text))
    made.meta.update(node.meta)
    return made


def _part(count: int, name: str, node: exp.Expr) -> Interval:
    unit = name if name in _MONTHS or name in _DAYS or name in _MICROSECONDS else name.removesuffix("s")
    if unit in _MONTHS:
        return Interval(months=count * _MONTHS[unit])
    if unit in _DAYS:
        return Interval(days=count * _DAYS[unit])
    if unit in _MICROSECONDS:
        return Interval(microseconds=count * _MICROSECONDS[unit])
    raise InvalidText(
        "unknown unit of an interval",
        hint="The units: year, month, week, day, hour, minute, second, millisecond, microsecond.",
        position=position(node),
    )


def moved(moment: datetime, by: Interval) -> datetime:
    """A timestamp moved by an interval; a day past the end of a month becomes its last.

    Errors: ``OverflowError`` outside the years 1 to 9999.
    """
    year, month = divmod(moment.year * 12 + moment.month - 1 + by.months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError("date out of range")
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    start = moment.replace(year=year, month=month + 1, day=day)
    return start + timedelta(days=by.days) + timedelta(microseconds=by.microseconds)


def moved_sql(timestamp: nodes.Expr, by: Interval) -> nodes.Expr:
    """The same in the engine."""
    sql = timestamp
    for name, count in (
        ("to_months", by.months),
        ("to_days", by.days),
        ("to_microseconds", by.microseconds),
    ):
        if count:
            sql = duck.binary("+", sql, duck.call(name, duck.integer(count)))
    return sql
