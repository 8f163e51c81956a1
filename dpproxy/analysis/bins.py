"""What calendars show of a moment: ``date_bin('5 minutes', t, origin)``, and ``to_char(t, 'YYYY-MM')``."""

import re
from datetime import UTC, datetime, timedelta
from functools import reduce

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck, instants
from dpproxy.analysis.dates import starts, to_timestamp, truncated, unbounded
from dpproxy.analysis.intervals import read_interval
from dpproxy.analysis.literals import from_value, settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.values.days import MICROSECOND, micros, midnight
from dpproxy.values.errors import (
    InvalidParameter,
    NumberOutOfRange,
    UndefinedFunction,
    Unsupported,
)
from dpproxy.values.pgtypes import DATE, TEXT, TIMESTAMP, TIMESTAMPTZ, UNKNOWN
from dpproxy.wire.intervals import Interval

# --- date_bin


def date_bin(node: exp.DateBin, arguments: list[Typed], scope: Scope) -> Typed:
    """The start of the bin that a moment is in: bins of one length, one of which starts at the origin."""
    stride, origin = _stride(node), _origin(node, scope)
    value = settle(arguments[0], TIMESTAMP, scope, node)
    if instants.is_instant(value):
        shown = _binned(node, instants.to_local(value, UTC, node, scope), stride, origin, scope)
        return instants.to_instant(shown, UTC, node, scope)
    return _binned(node, _timestamp(value, "date_bin"), stride, origin, scope)


def _binned(node: exp.Expr, value: Typed, stride: timedelta, origin: datetime, scope: Scope) -> Typed:
    if value.is_null:
        return value
    ends: tuple[datetime | None, datetime | None] = (None, None)
    if value.first is None or value.last is None:
        if scope.level is ExpressionLevel.ROW:
            raise unbounded()
        first = datetime(1, 1, 1) + stride  # noqa: DTZ001 - the type has no time zone
    else:
        first, last = midnight(value.first), midnight(value.last)
        ends = (_bin(first, stride, origin, node), _bin(last, stride, origin, node))
    if value.is_constant:
        return from_value(ends[0], TIMESTAMP)
    base = _bin(first, stride, origin, node)
    since = duck.binary("-", duck.call("epoch_us", value.sql), duck.integer(micros(base)))
    rest = duck.binary("%", since, duck.integer(stride // MICROSECOND))
    back = duck.call("to_microseconds", duck.binary("-", duck.integer(0), rest))
    return replace(value, sql=duck.binary("+", value.sql, back), first=ends[0], last=ends[1])


def _bin(moment: datetime, stride: timedelta, origin: datetime, node: exp.Expr) -> datetime:
    try:
        return origin + (moment - origin) // stride * stride
    except OverflowError:
        raise NumberOutOfRange("a bin begins before the first date", position=position(node)) from None


def bins(node: exp.DateBin, first: datetime, last: datetime, most: int) -> list[datetime] | None:
    """Every start of a bin from one to another; None for more than ``most``."""
    stride = _stride(node)
    count = (last - first) // stride + 1
    return [first + n * stride for n in range(count)] if count <= most else None


def _stride(node: exp.DateBin) -> timedelta:
    given = node.this.unnest()
    given = given.this.unnest() if isinstance(given, exp.Cast) else given
    if isinstance(given, exp.Literal) and given.is_string:
        text = given
        given = exp.Interval(this=exp.Literal.string(text.name))
        given.meta.update(text.meta)
    if not isinstance(given, exp.Interval):
        raise Unsupported(
            "the length of a bin is a constant",
            hint="Write date_bin('5 minutes', x, origin).",
            position=position(node),
        )
    length: Interval = read_interval(given)
    stride = timedelta(days=length.days, microseconds=length.microseconds)
    if length.months or stride <= timedelta():
        raise InvalidParameter(
            "bins are some days, hours, minutes or seconds long, without months",
            hint="Months are date_trunc('month', x).",
        )
    return stride


def _origin(node: exp.DateBin, scope: Scope) -> datetime:
    given = node.args["unit"].unnest()
    text = given.this if isinstance(given, exp.Cast) else given
    if not isinstance(text, exp.Literal | exp.Var) or not text.name[:1].isdigit():
        raise Unsupported(
            "the origin of bins is a constant", hint="Write date_bin('5 minutes', x, timestamp '2001-01-01')."
        )
    is_zoned = isinstance(given, exp.Cast) and given.to.this == exp.DType.TIMESTAMPTZ
    literal = Typed(nodes.Null(), UNKNOWN, is_constant=True, constant=text.name)
    kind = TIMESTAMPTZ if is_zoned else TIMESTAMP
    found = settle(literal, kind, scope, node).constant
    if not isinstance(found, datetime):
        raise InvalidParameter("the origin of bins is a moment", position=position(node))
    return found


# --- to_char

_TEMPLATE = re.compile(r"(?:%[YmdHMS]|[-/.,:; _0-9])+", re.ASCII)
"""The parser's writing of YYYY, MM, DD, HH24, MI and SS, with what may stand between them."""
_FIELDS = {
    "Y": ("year", 4),
    "m": ("month", 2),
    "d": ("day", 2),
    "H": ("hour", 2),
    "M": ("minute", 2),
    "S": ("second", 2),
}
_UNITS = {"S": "SECOND", "M": "MINUTE", "H": "HOUR", "d": "DAY", "m": "MONTH", "Y": "YEAR"}
"""From the finest on."""


def to_char(node: exp.TimeToStr, arguments: list[Typed], scope: Scope) -> Typed:
    """``to_char(x, 'YYYY-MM-DD HH24:MI:SS')``: fields of a moment in digits."""
    template, value = _template(node), shown(node, arguments[0], scope)
    if value.is_null:
        return from_value(None, TEXT)
    if value.is_constant and isinstance(value.constant, datetime):
        return from_value(_written(value.constant, template), TEXT)
    pieces = [_piece(part, value.sql) for part in re.findall(r"%.|[^%]+", template)]
    sql = reduce(lambda a, b: duck.binary("||", a, b), pieces)
    longest = sum(
        _FIELDS[part[1]][1] if part[0] == "%" else len(part) for part in re.findall(r"%.|[^%]+", template)
    )
    return Typed(sql, TEXT, nullable=value.nullable, presence=value.presence, longest=longest)


def shown(node: exp.TimeToStr, given: Typed, scope: Scope) -> Typed:
    """What a calendar shows of it: a timestamp, of a moment by the session's clock."""
    value = settle(given, TIMESTAMP, scope, node)
    if instants.is_instant(value):
        value = instants.to_local(value, scope.parameters.zone, node, scope)
    value = _timestamp(value, "to_char")
    if (
        scope.level is ExpressionLevel.ROW
        and not value.is_null
        and (value.first is None or value.last is None)
    ):
        raise unbounded()
    return value


def texts(node: exp.TimeToStr, value: Typed, most: int) -> list[str] | None:
    """What the template shows of every moment between its bounds; None for more than ``most``."""
    if value.first is None or value.last is None:
        return None
    template = _template(node)
    unit = next(name for field, name in _UNITS.items() if f"%{field}" in template)
    low, high = (truncated(midnight(end), unit, node) for end in (value.first, value.last))
    found = starts(low, high, unit, most)
    return None if found is None else list(dict.fromkeys(_written(moment, template) for moment in found))


def _template(node: exp.TimeToStr) -> str:
    given = node.args["format"]
    template = given.name if isinstance(given, exp.Literal) and given.is_string else ""
    if not _TEMPLATE.fullmatch(template) or "%" not in template:
        raise Unsupported(
            "to_char() takes a template of YYYY, MM, DD, HH24, MI and SS",
            hint="Write to_char(x, 'YYYY-MM-DD HH24:MI:SS'), or extract(month FROM x).",
        )
    return template


def _written(moment: datetime, template: str) -> str:
    fields = {"Y": f"{moment.year:04}", **{f: f"{moment:%{f}}" for f in "mdHMS"}}
    return re.sub(r"%(.)", lambda found: fields[found[1]], template)


def _piece(part: str, sql: nodes.Expr) -> nodes.Expr:
    if part[0] != "%":
        return nodes.Text(part)
    name, digits = _FIELDS[part[1]]
    number = duck.cast(duck.call("date_part", nodes.Text(name), sql), "VARCHAR")
    padded = duck.binary("||", nodes.Text("0" * (digits - 1)), number)
    return duck.call("right", padded, duck.integer(digits))


def _timestamp(value: Typed, name: str) -> Typed:
    if value.type.oid == DATE.oid and not value.opaque:
        value = to_timestamp(value)
    if value.type.oid != TIMESTAMP.oid:
        raise UndefinedFunction(
            f"{name} does not take a value of type {value.type.shown}", hint="It takes a date or a timestamp."
        )
    return value
