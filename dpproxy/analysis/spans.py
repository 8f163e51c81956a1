"""Spans of time (``interval``) and times of day, where nothing is private: the engine's, with PostgreSQL's types.

Beside rows of people there are none: a moment is moved by a constant there, and seconds between two are a number.
"""

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.dates import FIELDS
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.values.errors import DivisionByZero, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import DATE, INTERVAL, NUMERIC, TIME, TIMESTAMP, TIMESTAMPTZ, UNKNOWN

_TIMES = frozenset({INTERVAL.oid, TIME.oid})
_MOMENTS = frozenset({DATE.oid, TIMESTAMP.oid, TIMESTAMPTZ.oid})
SUMS = {
    (DATE.oid, INTERVAL.oid): TIMESTAMP,
    (DATE.oid, TIME.oid): TIMESTAMP,
    (TIMESTAMP.oid, INTERVAL.oid): TIMESTAMP,
    (TIME.oid, INTERVAL.oid): TIME,
    (INTERVAL.oid, INTERVAL.oid): INTERVAL,
}
"""Types of ``a + b``, in either order."""
_BETWEEN = (
    (DATE.oid, TIMESTAMP.oid),
    (TIMESTAMP.oid, DATE.oid),
    (TIMESTAMP.oid, TIMESTAMP.oid),
    (TIMESTAMPTZ.oid, TIMESTAMPTZ.oid),
    (TIME.oid, TIME.oid),
)
DIFFERENCES = {
    **{pair: kind for pair, kind in SUMS.items() if pair[1] == INTERVAL.oid},
    **dict.fromkeys(_BETWEEN, INTERVAL),
}
"""Types of ``a - b``."""
_NOT_OF_SPANS = frozenset({"WEEK", "DOY", "DOW", "ISODOW", "ISOYEAR"})


def covers(node: exp.Expr, a: Typed, b: Typed, scope: Scope) -> bool:
    """Whether an operator over two values is computed here."""
    if scope.level is ExpressionLevel.ROW:
        return False
    oids = {a.type.oid, b.type.oid}
    is_difference = isinstance(node, exp.Sub) and oids <= {*_MOMENTS, UNKNOWN.oid} and oids != {UNKNOWN.oid}
    return bool(oids & _TIMES) or (is_difference and oids - {DATE.oid, UNKNOWN.oid} != set())


def arithmetic(node: exp.Binary, a: Typed, b: Typed, scope: Scope) -> Typed:
    """``+ - * /`` of spans, times and moments. Raises ``UndefinedFunction`` for pairs that PostgreSQL has not."""
    if isinstance(node, exp.Mul | exp.Div):
        return _scaled(node, a, b, scope)
    a, b = settle(a, b.type, scope, node), settle(b, a.type, scope, node)
    if isinstance(node, exp.Add) and (b.type.oid, a.type.oid) in SUMS:
        a, b = b, a
    kind = (SUMS if isinstance(node, exp.Add) else DIFFERENCES).get((a.type.oid, b.type.oid))
    if kind is None:
        raise undefined(node, a, b)
    sides = [duck.cast(v.sql, "TIMESTAMP") if v.type.oid == DATE.oid else v.sql for v in (a, b)]
    if (a.type.oid, b.type.oid) == (DATE.oid, TIME.oid):
        sides[0] = a.sql
    if (a.type.oid, b.type.oid) == (TIME.oid, TIME.oid):  # the engine has no difference of them
        sides = [duck.call("to_microseconds", duck.call("epoch_us", side)) for side in sides]
    return Typed(duck.binary(duck.OPERATORS[type(node)], *sides), kind, nullable=a.nullable or b.nullable)


def _scaled(node: exp.Binary, a: Typed, b: Typed, scope: Scope) -> Typed:
    """So many times a span."""
    if isinstance(node, exp.Mul) and b.type.oid == INTERVAL.oid:
        a, b = b, a
    b = settle(b, NUMERIC, scope, node)
    if a.type.oid != INTERVAL.oid or not b.is_number:
        raise undefined(node, a, b)
    if isinstance(node, exp.Div):
        if not b.is_constant:
            raise Unsupported("a span of time is divided by constants", position=position(node))
        if b.constant == 0:
            raise DivisionByZero("division by zero")
    factor = duck.double(1 / float(b.low or 1)) if isinstance(node, exp.Div) else as_double(b)
    return Typed(duck.binary("*", a.sql, factor), INTERVAL, nullable=a.nullable or b.nullable)


def negated(value: Typed) -> Typed:
    """``-interval '1 day'``."""
    return Typed(nodes.Paren(nodes.Negative(value.sql)), INTERVAL, nullable=value.nullable)


def part(node: exp.Extract, value: Typed) -> Typed:
    """EXTRACT(field FROM x) of a span or a time of day, a numeric."""
    name = node.this.name.upper()
    field = FIELDS.get(name)
    is_time = value.type.oid == TIME.oid
    if field is None or (name in _NOT_OF_SPANS or (is_time and not (field.of_time or name == "EPOCH"))):
        raise Unsupported(f"this field of a {value.type.shown} is not answered")
    found = duck.call("date_part", nodes.Text("epoch" if name == "EPOCH" else field.part), value.sql)
    if name == "EPOCH":
        found = duck.call("round", duck.binary("*", found, duck.double(1e6)))
    return Typed(duck.cast(found, "BIGINT"), NUMERIC, field.scale, nullable=value.nullable)


def is_span(value: Typed) -> bool:
    """A span of time or a time of day."""
    return value.type.oid in _TIMES


def to_time(value: Typed) -> Typed:
    """The time of day of a timestamp."""
    return Typed(duck.cast(value.sql, "TIME"), TIME, nullable=value.nullable, presence=value.presence)


def undefined(node: exp.Expr, a: Typed, b: Typed) -> UndefinedFunction:
    """The refusal of an operator that PostgreSQL does not have of these types."""
    sign = duck.OPERATORS[type(node)]
    return UndefinedFunction(f"operator does not exist: {a.type.shown} {sign} {b.type.shown}")
