"""The present, ``now()`` and its kin: constants of a statement, computed with until they are constants of their own.

No engine is asked for the time. What is computed from the present alone is written as its value, so that a statement
of the same value finds what was released.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck, instants
from dpproxy.analysis.clocks import local_of
from dpproxy.analysis.image import image
from dpproxy.analysis.literals import from_value
from dpproxy.analysis.scopes import Scope, StatementClock
from dpproxy.analysis.typed import Typed
from dpproxy.config.settings import PRESENT as BESIDE
from dpproxy.config.settings import moments
from dpproxy.values.errors import InvalidParameter, Unsupported
from dpproxy.values.pgtypes import DATE, TEXT, TIMESTAMP
from dpproxy.wire.zones import zone

PRESENT = (exp.CurrentTimestamp, exp.CurrentDate, exp.Localtimestamp)
"""The nodes that mean it, once `write_present` was there."""
_CALLS: dict[str, str | None] = {
    "now": None,
    "transaction_timestamp": None,
    "clock_timestamp": None,
    "statement_timestamp": "arrived",
    "timeofday": "text",
}
"""Functions without arguments, and what is marked on the node of one that is not the transaction's start."""
_KIND = "present"
_MOST_DIGITS = 6
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def write_present(tree: exp.Expr) -> exp.Expr:
    """The tree with one kind of node for all that mean the present, and one for zones, in place."""
    for node in list(tree.find_all(exp.Anonymous)):
        name = str(node.this).lower()
        if name == "timezone" and len(node.expressions) == 2:
            there = exp.AtTimeZone(this=node.expressions[1], zone=node.expressions[0])
            there.meta.update(node.meta)
            node.replace(there)
        if name in _CALLS and not node.expressions:
            made = exp.CurrentTimestamp()
            made.meta.update({"name": name, **node.meta, _KIND: _CALLS[name]})
            tree = made if node is tree else tree
            node.replace(made)
    return tree


def present_of(settings: Mapping[str, str]) -> StatementClock:
    """What a statement takes for now; the clock's own time where nobody says."""
    told = settings.get(BESIDE) or moments(datetime.now(UTC), datetime.now(UTC))
    began, arrived = (datetime.fromisoformat(text) for text in told.split(" "))
    return StatementClock(began, arrived, zone(settings.get("timezone", "UTC")))


def mentions(tree: exp.Expr) -> bool:
    """Whether a statement's answer depends on when it is asked."""
    calls = (str(node.this).lower() in _CALLS for node in tree.find_all(exp.Anonymous))
    return tree.find(*PRESENT) is not None or any(calls)


def row_of(tree: exp.Expr, settings: Mapping[str, str]) -> tuple[datetime | date | str, ...] | None:
    """The row of a statement of nothing but the present, as pools ask; None of any other."""
    if any(type(node) not in _ALONE for node in tree.walk()):
        return None
    present = present_of(settings)
    row = ((item.unalias(), value_of(item.unalias(), present)) for item in tree.expressions)
    return tuple(
        value.replace(tzinfo=UTC)
        if isinstance(value, datetime) and type(node) is exp.CurrentTimestamp
        else value
        for node, value in row
    )


_ALONE = frozenset((exp.Select, exp.Alias, exp.Identifier, *PRESENT))


def now(node: exp.Expr, scope: Scope) -> Typed:
    """``now()``, ``current_timestamp(3)``, ``localtimestamp``, ``current_date``, ``timeofday()``."""
    present = scope.parameters.present
    if present is None:
        raise Unsupported(
            "the present is not known where a query is kept: it would be another one each time",
            hint="Write the moment as a constant: date '2024-01-31', timestamp '2024-01-31 12:00:00'.",
        )
    value = value_of(node, present)
    if isinstance(value, str):
        return from_value(value, TEXT)
    if not isinstance(value, datetime):
        return from_value(value, DATE)
    if type(node) is exp.Localtimestamp:
        return from_value(value, TIMESTAMP)
    return instants.instant(value, scope)


def value_of(node: exp.Expr, present: StatementClock) -> datetime | date | str:
    """What a node of ``PRESENT`` means: a moment is in UTC, and ``localtimestamp`` is what the clock shows."""
    kind = node.meta.get(_KIND)
    moment = present.arrived if kind == "arrived" else present.began
    shown = local_of(moment, present.zone)
    if kind == "text":
        return _of_day(moment, present)
    if type(node) is exp.CurrentDate:
        return shown.date()
    return _rounded(shown if type(node) is exp.Localtimestamp else moment, node)


def _of_day(moment: datetime, present: StatementClock) -> str:
    shown = local_of(moment, present.zone)
    zone = moment.replace(tzinfo=present.zone).tzname() or ""
    return f"{_DAYS[shown.weekday()]} {_MONTHS[shown.month - 1]} {shown:%d %H:%M:%S.%f %Y} {zone}"


def _rounded(moment: datetime, node: exp.Expr) -> datetime:
    """To the number of digits that are asked for."""
    digits = node.this
    if digits is None:
        return moment
    if not isinstance(digits, exp.Literal) or digits.is_string or not digits.name.isdecimal():
        raise InvalidParameter("the precision of the present is a number from 0 to 6")
    step = 10 ** max(0, _MOST_DIGITS - int(digits.name[:3]))
    rest = moment.microsecond % step
    return moment + timedelta(microseconds=step - rest if rest * 2 >= step else -rest)


def folded(node: exp.Expr, value: Typed, scope: Scope) -> Typed:
    """A number that is computed from the present alone, as that number."""
    present = scope.parameters.present
    if present is None or value.is_constant or not value.is_number or value.parameter is not None:
        return value
    if (
        node.find(*PRESENT) is None
        or node.find(*_OPEN) is not None
        or any(value.sql.find_all(nodes.ColumnRef))
    ):
        return value
    [found] = image(duck.text(value.sql), ())
    if isinstance(found, str | date) or found is None:
        return value
    if value.scale is None:
        bound = Fraction(float(found))
        sql = duck.double(float(found))
    else:
        bound = Fraction(int(found), 10**value.scale)
        sql = duck.integer(int(found))
    held = int(bound) if bound.denominator == 1 else bound
    return replace(
        value,
        sql=sql,
        low=bound,
        high=bound,
        nullable=False,
        is_constant=True,
        constant=held,
        presence=None,
        steps=None,
    )


_OPEN = (exp.Column, exp.Parameter, exp.AggFunc, exp.Query, exp.Window)

RULES: dict[type[exp.Expr], Callable[[exp.Expr, Scope], Typed]] = dict.fromkeys(PRESENT, now)
