"""Constant intervals, and how they move a date: months, then days, then microseconds, as PostgreSQL adds them."""

import calendar
from datetime import datetime, timedelta

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.values.errors import InvalidMoment, NumberOutOfRange, Unsupported
from dpproxy.wire.intervals import Interval, read_text

_DAY = 86_400_000_000
"""Microseconds."""
MOST_DAYS = 4_000_000
"""More than from the first date to the last."""


def read_interval(node: exp.Interval) -> Interval:
    """``INTERVAL '90' day`` or ``INTERVAL '1 year 02:30'``, as PostgreSQL reads a text.

    Errors: ``InvalidMoment``; ``Unsupported`` for one that is no literal; ``NumberOutOfRange``.
    """
    this, unit = node.this, node.args.get("unit")
    if not isinstance(this, exp.Literal) or not (unit is None or isinstance(unit, exp.Var)):
        raise Unsupported(
            "an interval is a constant", hint="Write INTERVAL '3 months'.", position=position(node)
        )
    try:
        total = read_text(f"{this.this} {unit.name if unit is not None else ''}".encode())
    except OverflowError:
        raise _out_of_range(node) from None
    except ValueError:
        raise InvalidMoment(
            "invalid input syntax for type interval",
            hint="Write INTERVAL '3 months', INTERVAL '1 day 02:30'.",
            position=position(node),
        ) from None
    if abs(total.months) * 31 + abs(total.days) + abs(total.microseconds) // _DAY > MOST_DAYS:
        raise _out_of_range(node)
    return total


def _out_of_range(node: exp.Interval) -> NumberOutOfRange:
    return NumberOutOfRange("interval out of range", position=position(node))


def times(node: exp.Interval, count: int) -> exp.Interval:
    """So many times an interval. Raises as ``read_interval``."""
    one = read_interval(node)
    text = f"{one.months * count} months {one.days * count} days {one.microseconds * count} microseconds"
    made = exp.Interval(this=exp.Literal.string(text))
    made.meta.update(node.meta)
    return made


def seconds(node: exp.Interval) -> exp.Expr:
    """How long it is where it is compared: a month has 30 days, a day 24 hours. Raises as ``read_interval``."""
    one = read_interval(node)
    whole, part = divmod(abs(total := (one.months * 30 + one.days) * _DAY + one.microseconds), 10**6)
    literal = exp.Literal.number(f"{whole}.{part:06d}" if part else str(whole))
    return exp.Neg(this=literal) if total < 0 else literal


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
