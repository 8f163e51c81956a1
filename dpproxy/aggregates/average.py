"""AVG(x) = clamp(mid + S / max(n, 1)), S the sum of distances from the middle: never NULL, never outside."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.argument import Argument
from dpproxy.aggregates.calls import AggregateFunction, OpenCall, PersonCall
from dpproxy.aggregates.model import Drawn, Ends, Measure, Noise
from dpproxy.aggregates.operands import multiple
from dpproxy.aggregates.sum import centred_measure, number_measure, steps_to_value
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.values.pgtypes import FLOAT8, FLOATS, NUMERIC, SqlType
from udfs.mechanisms.averaged import Draw
from udfs.mechanisms.linear import Linear


def mean_type(kind: SqlType) -> SqlType:
    """PostgreSQL's type of avg(kind), and of what is computed from averages."""
    return FLOAT8 if kind.oid in FLOATS else NUMERIC


class _Off(Struct, frozen=True):
    """What a sum of distances from a ``middle`` and their number are off, which make an average together.

    ``farthest`` is the most that a value's distance can be. Let S and n be released, d = S / n their quotient, and
    S' = d' n' the same before noise. Then n (d - d') = (S - S') + d' (n' - n), so that abs(d - d') n <= above(d').
    With abs(d') <= farthest that is one bound; with above(d') <= above(d) + abs(d - d') count, where n is above
    ``count``, it is another: abs(d - d') <= above(d) / (n - count). Both hold where n is taken as 1 for less, as the
    average does, and of a d that is kept within the bounds of d', which is between d and d'. Both are no farther than
    ``farthest`` from the middle, which is a third bound.

    ``above`` is by half-widths ``total`` and ``count`` that hold together or, where there is a ``linear`` law, by that
    of S and n with the weights ``unit`` and d; ``count`` then is that of n with the weight 1.
    """

    total: float
    count: float
    middle: float
    farthest: float
    linear: Linear | None = None
    unit: float = 1.0

    def above(self, distance: float) -> float:
        """What the sum is off together with the number, times a distance."""
        if self.linear is None:
            return self.total + distance * self.count
        return self.linear.reach((self.unit, distance))


class Average(Struct, frozen=True):
    """An average; of one side of a pair with the pair's own ``count``, and in double precision."""

    argument: Argument
    count: Measure | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        return centred_measure(self.argument), self.count or number_measure(self.argument)

    @property
    def type(self) -> SqlType:
        return FLOAT8 if self.count else mean_type(self.argument.typed.type)

    @property
    def middle(self) -> float:
        """Of the argument's bounds."""
        return float(self.argument.centre * self.argument.unit)

    @property
    def unit(self) -> float:
        """What a step of the sum is worth."""
        return float(self.argument.unit)

    @property
    def farthest(self) -> float:
        """From the middle, a value can be."""
        return self.argument.centred_width * self.unit

    def _clamp(self, distance: nodes.Expr) -> nodes.Expr:
        """The middle plus a distance, inside the declared bounds."""
        return self._clamped(duck.binary("+", duck.double(self.middle), distance))

    @property
    def limits(self) -> tuple[float, float]:
        """The declared bounds."""
        typed = self.argument.typed
        return float(typed.low or 0), float(typed.high or 0)

    def _clamped(self, value: nodes.Expr) -> nodes.Expr:
        """Inside the declared bounds."""
        return f.inside(value, *self.limits)

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        total, count = self._parts(columns)
        return Typed(self._clamp(duck.binary("/", total, count)), self.type, None, nullable=False)

    def _parts(self, columns: Sequence[nodes.Expr]) -> tuple[nodes.Expr, nodes.Expr]:
        total = steps_to_value(columns[0], self.argument.unit)
        return total, duck.call("greatest", duck.cast(columns[1], "DOUBLE"), duck.double(1.0))

    def apart(self, columns: Sequence[nodes.Expr]) -> tuple[nodes.Expr, nodes.Expr]:
        """The distance from the middle as it was drawn, also outside of the bounds, and the number of rows."""
        total, count = self._parts(columns)
        return duck.binary("/", total, count), count

    def drawn(self, columns: Sequence[nodes.Expr], noise: Noise) -> Drawn:
        """The draw outside of the bounds, too, and its law, as DOUBLEs: the count's noise counts from the middle on."""
        total, count = self._parts(columns)
        fixed, shift = self._apart(noise)
        value = duck.binary("+", duck.double(self.middle), duck.binary("/", total, count))
        slope = duck.binary("/", duck.double(noise.sd[1]), count)
        return value, duck.binary("/", duck.double(fixed), count), slope, duck.double(self.middle + shift)

    def _apart(self, noise: Noise) -> tuple[float, float]:
        """The noise of S without what it has in common with that of n, which is ``shift`` times that.

        So S - d n has the variance of this and of (d - shift) n together, for every d.
        """
        unit, (total, number) = self.unit, noise.sd
        shift = noise.covariances.get((0, 1), 0.0) / number**2 if number else 0.0
        return unit * math.sqrt(max(0.0, total**2 - (shift * number) ** 2)), unit * shift

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:
        """To first order: sqrt(var S + (mean - mid)^2 var n) / n, where both are independent."""
        total, count = self._parts(columns)
        fixed, shift = self._apart(noise)
        distance = duck.binary("/", total, count)
        if shift:
            distance = duck.binary("-", distance, duck.double(shift))
        from_count = duck.binary("*", distance, duck.double(noise.sd[1]))
        squares = duck.binary("+", duck.double(fixed**2), duck.binary("*", from_count, from_count))
        return duck.binary("/", duck.call("sqrt", squares), count)

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        """By the joint law of both measures; where there is none, both lie in their intervals together."""
        if self._off(noise, confidence).linear is not None:
            value, reach = self.value(columns).sql, self.distance(columns, noise, confidence)
            return self._clamped(f.minus(value, reach)), self._clamped(f.plus(value, reach))
        halves = noise.half_width((1 + confidence) / 2)
        total, count = self._parts(columns)
        reach, slack = duck.double(halves[0] * self.unit), duck.double(float(halves[1]))
        few = duck.call("greatest", duck.binary("-", count, slack), duck.double(1.0))
        many = duck.binary("+", count, slack)
        low, high = duck.binary("-", total, reach), duck.binary("+", total, reach)
        zero = duck.double(0.0)
        low_mean = duck.binary("/", low, duck.case([(nodes.Binary(">=", low, zero), many)], few))
        high_mean = duck.binary("/", high, duck.case([(nodes.Binary(">=", high, zero), few)], many))
        return self._clamp(low_mean), self._clamp(high_mean)

    def _off(self, noise: Noise, confidence: Fraction) -> _Off:
        """How far off both released numbers are together: by their joint law, else by the union bound."""
        unit, farthest, linear = self.unit, self.farthest, Linear.of(noise.draws, confidence)
        if linear is not None:
            total, number = linear.reach((unit, 0.0)), linear.reach((0.0, 1.0))
            return _Off(total, number, self.middle, farthest, linear, unit)
        total, number = noise.half_width((1 + confidence) / 2)
        return _Off(total * unit, float(number), self.middle, farthest)

    def distance(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> nodes.Expr:
        """How far the average is off, as ``_Off`` has it."""
        error = self._off(noise, confidence)
        number = f.greatest(duck.cast(columns[1], "DOUBLE"), duck.double(1.0))
        most = f.over(duck.double(error.above(error.farthest)), number)
        distance = f.size(f.minus(as_double(self.value(columns)), duck.double(error.middle)))
        if error.linear is None:
            near = f.plus(duck.double(error.total), f.scaled(distance, error.count))
        else:
            near = f.reach(error.linear, (error.unit, distance))
        is_many = nodes.Binary(">", number, duck.double(error.count))
        left = f.minus(number, duck.double(error.count))
        apart = f.plus(distance, duck.double(error.farthest))
        return f.least(
            most, apart, duck.case([(is_many, f.over(near, left))], None)
        )  # LEAST passes over NULL

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        found = self._off(noise, confidence)
        top = found.above(found.farthest)
        width = float(self.argument.centred_width * self.argument.unit * noise.rows)
        low, high = self.limits
        words = f"about {top:.6g} / count"
        return Error(f"({width:.15g}, {noise.rows})", None, None, words, top, span=high - low)


class ReleasedAverage(Struct, frozen=True):
    """An average in the rows of a relation: its sum and its number are released ``columns``, one draw in each row."""

    average: Average
    columns: tuple[nodes.Expr, ...]
    noise: Noise
    draws: tuple[Draw, Draw]

    def of(self, table: str) -> "ReleasedAverage":
        """In a relation of this name."""
        named = (replace(c, table=table) for c in self.columns if isinstance(c, nodes.ColumnRef))
        return replace(self, columns=tuple(named))


def of_number(name: str) -> Callable[[OpenCall], Typed]:
    """An aggregate of the engine that has the type of an average."""

    def apply(call: OpenCall) -> Typed:
        value = call.number()
        return Typed(call.made(name, as_double(value)), mean_type(value.type), None)

    return apply


def _person(call: PersonCall) -> Typed:
    found = call.steps()
    total, count = (duck.cast(call.made(name, found.sql), "DOUBLE") for name in ("sum", "count"))
    mean = duck.binary("/", total, duck.call("nullif", count, duck.double(0.0)))
    low, high = found.low * found.unit, found.high * found.unit
    value = duck.binary("*", mean, duck.double(float(found.unit)))
    inside = duck.clamp(value, duck.double(float(low)), duck.double(float(high)))
    kind = mean_type(found.typed.type)
    return Typed(nodes.Paren(inside), kind, None, low, high, call.may_miss(found.typed))


AVG = AggregateFunction(
    private=lambda call: Average(multiple(call)),
    open=of_number("avg"),
    person=_person,
    windowed=True,
    averages=True,
)
