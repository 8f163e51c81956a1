"""MIN, MAX, MEDIAN and PERCENTILE: one draw of the exponential mechanism from the histogram of the argument.

The argument is put on a lattice of at most 2^16 cells over its declared bounds: a wider one loses the last digits. The
error is one of rank: how many rows stand between what is released and the quantile asked for.
"""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct
from sqlglot import exp

from dpproxy.aggregates.argument import Argument, argument
from dpproxy.aggregates.calls import AggregateFunction, OpenCall, PersonCall, PrivateCall, name_of, one_of
from dpproxy.aggregates.filter import kept
from dpproxy.aggregates.model import Ends, Measure, Noise
from dpproxy.aggregates.operands import number, plain_operand
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.values.days import micros, midnight
from dpproxy.values.errors import (
    BoundsMissing,
    InvalidParameter,
    TypeMismatch,
    UndefinedFunction,
    Unsupported,
)
from dpproxy.values.pgtypes import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT8,
    JSON,
    NUMERIC,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    SqlType,
    array_of,
)
from udfs.mechanisms.quantile import Quantile

CELL_BITS = 16
LARGEST_DENOMINATOR = 1000


class OrderStatistic(Struct, frozen=True):
    """The quantile ``numerator / denominator`` of an argument; ``is_double`` where it is shown as a DOUBLE."""

    name: str
    argument: Argument
    numerator: int
    denominator: int
    is_double: bool

    @property
    def shift(self) -> int:
        """A cell is 2^shift steps wide."""
        return max(0, (self.argument.high - self.argument.low).bit_length() - CELL_BITS)

    @property
    def last(self) -> int:
        """The number of the last cell; the first is 0."""
        return (self.argument.high - self.argument.low) >> self.shift

    @property
    def cell(self) -> nodes.Expr:
        """The row's cell, NULL where the argument is NULL."""
        steps = duck.binary("-", self.argument.sql, duck.integer(self.argument.low))
        return steps if not self.shift else duck.binary("//", steps, duck.integer(1 << self.shift))

    def mechanism(self, nano: int) -> Quantile:
        """The choice among cells, for one row."""
        if self.is_extreme:
            return Quantile.inner(0, self.last, self.numerator // self.denominator, 1, nano)
        return Quantile(0, self.last, self.numerator, self.denominator, 1, nano)

    @property
    def measures(self) -> tuple[Measure, ...]:
        return ()

    @property
    def type(self) -> SqlType:
        return FLOAT8 if self.is_double else self.argument.typed.type

    @property
    def is_extreme(self) -> bool:
        """Whether it is a minimum or a maximum."""
        return self.numerator in (0, self.denominator)

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        return self._shown(columns[0], (1 << self.shift) // 2)  # the middle of the cell

    def has_ends(self, columns: Sequence[nodes.Expr]) -> bool:
        """Whether bounds were released with it."""
        return len(columns) > 1

    def ends(self, columns: Sequence[nodes.Expr]) -> tuple[Typed, Typed]:
        """What it lies between, of its type: from a lower cell's first value to a higher one's last."""
        shown, low, high = columns
        return (
            self._shown(duck.call("least", low, shown), 0),
            self._shown(duck.call("greatest", high, shown), (1 << self.shift) - 1),
        )

    def _shown(self, cell: nodes.Expr, within: int) -> Typed:
        """The value so many steps behind the first one of a cell."""
        steps = duck.cast(cell, "HUGEINT")
        if self.shift:
            steps = duck.binary("*", steps, duck.integer(1 << self.shift))
            steps = duck.binary("+", steps, duck.integer(within))
        steps = duck.binary("+", steps, duck.integer(self.argument.low))
        top = duck.integer(self.argument.high)
        inside = duck.cast(duck.call("least", steps, duck.cast(top, "HUGEINT")), "HUGEINT")
        first = self.argument.typed.first
        if first is not None and self.type.oid == DATE.oid:
            days = duck.cast(inside, "INTEGER")
            return Typed(duck.binary("+", duck.constant(midnight(first).date()), days), DATE, nullable=False)
        if first is not None and self.type.oid == TIMESTAMP.oid:
            since = duck.binary("+", inside, duck.integer(micros(first)))
            return Typed(duck.call("make_timestamp", duck.cast(since, "BIGINT")), TIMESTAMP, nullable=False)
        if first is not None and self.type.oid == TIMESTAMPTZ.oid:
            since = duck.binary("+", inside, duck.integer(micros(first)))
            moment = duck.call("make_timestamp", duck.cast(since, "BIGINT"))
            return Typed(duck.call("timezone", nodes.Text("UTC"), moment), TIMESTAMPTZ, nullable=False)
        scale = self.argument.typed.scale
        if not self.is_double and scale is not None:
            return Typed(inside, self.type, scale, nullable=False)
        unit = duck.double(float(self.argument.unit))
        value = duck.binary("*", duck.cast(inside, "DOUBLE"), unit)
        return Typed(value, self.type, None, nullable=False)

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:
        del columns, noise
        raise self._rank("noise_sd")

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        del noise, confidence  # the bounds were released for it
        if self.argument.typed.first is not None:
            raise Unsupported(
                f"dp.ci_low of {self.name}() is not answered: its bound is no number",
                hint=f"With dp.intervals = columns {self.name}() has its bounds beside it.",
            )
        if not self.has_ends(columns):
            raise self._rank("ci_low")
        low, high = self.ends(columns)
        return as_double(low), as_double(high)

    def _rank(self, function: str) -> Unsupported:
        return Unsupported(
            f"dp.{function} of {self.name}() is not answered: its error is one of rank",
            hint="EXPLAIN (PRIVACY) tells within how many rows of the quantile the answer is.",
        )

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        [rows] = noise.half_width(confidence)
        return Error("1 row of rank", None, None, f"{rows} rows of rank", rows=float(rows))


def fraction_of(node: exp.Expr, scope: Scope) -> Fraction:
    """The constant of a percentile. Raises ``Unsupported``."""
    value = compile_expression(node, scope)
    if value.parameter is not None:
        return Fraction(1, 2)
    if not isinstance(value.constant, int | Fraction) or isinstance(value.constant, bool):
        raise Unsupported("a percentile is a constant between 0 and 1", position=position(node))
    fraction = Fraction(value.constant)
    if not 0 <= fraction <= 1 or fraction.denominator > LARGEST_DENOMINATOR:
        raise Unsupported("a percentile is a constant between 0 and 1, as in 0.25", position=position(node))
    return fraction


def _operand(call: PrivateCall, node: exp.Expr, operand: exp.Expr, *, dates: bool) -> Argument:
    """The argument on a lattice: of dates, days or microseconds from the first one that is declared."""
    typed = kept(number(plain_operand(node, operand), call.scope), call.condition)
    if typed.type.oid not in (DATE.oid, TIMESTAMP.oid, TIMESTAMPTZ.oid):
        return argument(operand, typed)
    if not dates:
        raise TypeMismatch(
            f"{name_of(node)} of a {typed.type.shown} is not answered",
            hint="percentile_disc(0.5) WITHIN GROUP (ORDER BY x) is, and so are min(x) and max(x).",
            position=position(node),
        )
    if typed.first is None or typed.last is None:
        raise BoundsMissing(
            "the argument of the aggregate has no bounds",
            hint="An administrator declares them with DOMAIN BETWEEN.",
            position=position(node),
        )
    if typed.type.oid == DATE.oid:
        steps = duck.cast(duck.binary("-", typed.sql, duck.constant(midnight(typed.first).date())), "BIGINT")
        high = (midnight(typed.last).date() - midnight(typed.first).date()).days
    else:
        steps = duck.binary("-", duck.call("epoch_us", typed.sql), duck.integer(micros(typed.first)))
        high = micros(typed.last) - micros(typed.first)
    inside = duck.clamp(steps, duck.integer(0), duck.integer(high))
    return Argument(nodes.Paren(inside), Fraction(1), 0, high, typed)


def _extreme(name: str, *, top: bool) -> AggregateFunction:
    def private(call: PrivateCall) -> OrderStatistic:
        found = _operand(call, call.node, call.node.this, dates=True)
        return OrderStatistic(call.name, found, int(top), 1, found.typed.scale is None)

    def opened(call: OpenCall) -> Typed:
        value = call.value()
        if value.type.oid in _UNORDERED:
            raise UndefinedFunction(
                f"function {call.name}({value.type.shown}) does not exist",
                hint="Use bool_and or bool_or." if value.type.oid == BOOL.oid else None,
            )
        return one_of(value, call.made(name, value.sql))

    def person(call: PersonCall) -> Typed:
        typed = call.value()
        return one_of(typed, call.made(name, typed.sql), nullable=call.may_miss(typed))

    return AggregateFunction(private=private, open=opened, person=person, windowed=True)


_UNORDERED = frozenset({BOOL.oid, UUID.oid, BYTEA.oid, JSON.oid, array_of(JSON).oid})
"""Types without a least and a greatest value."""


def _private_median(call: PrivateCall) -> OrderStatistic:
    found = _operand(call, call.node, call.node.this, dates=False)
    return OrderStatistic("median", found, 1, 2, is_double=True)


def _open_median(call: OpenCall) -> Typed:
    return Typed(call.finish(duck.call("median", as_double(call.number()))), FLOAT8, None)


def misplaced(node: exp.Expr) -> UndefinedFunction:
    """WITHIN GROUP behind something else, or of something else."""
    return UndefinedFunction(
        "WITHIN GROUP stands after percentile_cont or percentile_disc, with one ORDER BY expression",
        position=position(node),
    )


def _percentile(*, continuous: bool) -> AggregateFunction:
    def private(call: PrivateCall) -> OrderStatistic:
        named, entries = call.node.this, call.node.expression.expressions
        if len(entries) != 1:
            raise misplaced(call.node)
        fraction = fraction_of(named.this, call.scope)
        if entries[0].args.get("desc"):
            fraction = 1 - fraction
        found = _operand(call, named, entries[0].this, dates=not continuous)
        is_double = continuous or found.typed.scale is None
        return OrderStatistic(name_of(named), found, fraction.numerator, fraction.denominator, is_double)

    def opened(call: OpenCall) -> Typed:
        [entry] = call.node.expression.expressions
        place = duck.double(float(_open_fraction(call.node.this.this, call.scope)))
        value, order = call.operand(entry.this), bool(entry.args.get("desc"))
        if continuous:
            number = call.double(entry.this)
            found = nodes.Call("quantile_cont", (number, place), order=(nodes.Ordered(number, order),))
            return Typed(call.finish(found), FLOAT8, None)
        found = nodes.Call("quantile_disc", (value.sql, place), order=(nodes.Ordered(value.sql, order),))
        return one_of(value, call.finish(found))

    return AggregateFunction(private=private, open=opened, ordered=True)


def _open_fraction(node: exp.Expr, scope: Scope) -> Fraction:
    value = settle(compile_expression(node, scope), NUMERIC, scope, node)
    if value.parameter is not None:
        return Fraction(1, 2)
    if isinstance(value.constant, bool) or not isinstance(value.constant, int | Fraction):
        raise Unsupported("a percentile is a constant between 0 and 1", position=position(node))
    if not 0 <= value.constant <= 1:
        raise InvalidParameter("a percentile is between 0 and 1", position=position(node))
    return Fraction(value.constant)


MIN = _extreme("min", top=False)
MAX = _extreme("max", top=True)
MEDIAN = AggregateFunction(
    private=_private_median, open=_open_median, added=((FLOAT8, FLOAT8), (FLOAT8, NUMERIC))
)
PERCENTILE_CONT = _percentile(continuous=True)
"""PERCENTILE_CONT(fraction) WITHIN GROUP (ORDER BY x)."""
PERCENTILE_DISC = _percentile(continuous=False)
