"""AVG(x) = clamp(mid + S / max(n, 1)), S the sum of distances from the middle: never NULL, never outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from dpproxy.aggregates.argument import Argument
from dpproxy.aggregates.model import Drawn, Error, Measure, Noise
from dpproxy.aggregates.sum import centred_measure, number_measure, steps_to_value
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import FLOAT8, FLOATS, NUMERIC, SqlType


def mean_type(kind: SqlType) -> SqlType:
    """PostgreSQL's type of avg(kind), and of what is computed from averages."""
    return FLOAT8 if kind.oid in FLOATS else NUMERIC


@dataclass(frozen=True, slots=True)
class Average:
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

    def _clamp(self, distance: exp.Expr) -> exp.Expr:
        """The middle plus a distance, inside the declared bounds."""
        typed = self.argument.typed
        low, high = float(typed.low or 0), float(typed.high or 0)
        moved = duck.binary(exp.Add, duck.double(self.middle), distance)
        return duck.call("least", duck.call("greatest", moved, duck.double(low)), duck.double(high))

    def value(self, columns: Sequence[exp.Expr]) -> Typed:
        total, count = self._parts(columns)
        return Typed(self._clamp(duck.binary(exp.Div, total, count)), self.type, None, nullable=False)

    def _parts(self, columns: Sequence[exp.Expr]) -> tuple[exp.Expr, exp.Expr]:
        total = steps_to_value(columns[0], self.argument.unit)
        return total, duck.call("greatest", duck.cast(columns[1], "DOUBLE"), duck.double(1.0))

    def drawn(self, columns: Sequence[exp.Expr], noise: Noise) -> Drawn:
        """The draw outside of the bounds, too, and its law, as DOUBLEs: the count's noise counts from the middle on."""
        total, count = self._parts(columns)
        fixed = duck.double(noise.sd[0] * float(self.argument.unit))
        value = duck.binary(exp.Add, duck.double(self.middle), duck.binary(exp.Div, total, count))
        slope = duck.binary(exp.Div, duck.double(noise.sd[1]), count)
        return value, duck.binary(exp.Div, fixed, count), slope, duck.double(self.middle)

    def noise_sd(self, columns: Sequence[exp.Expr], noise: Noise) -> exp.Expr:
        """To first order: sqrt(var S + (mean - mid)^2 var n) / n."""
        total, count = self._parts(columns)
        unit = float(self.argument.unit)
        distance = duck.binary(exp.Div, total, count)
        from_count = duck.binary(exp.Mul, distance, duck.double(noise.sd[1]))
        squares = duck.binary(
            exp.Add,
            duck.double((noise.sd[0] * unit) ** 2),
            duck.binary(exp.Mul, from_count, from_count),
        )
        return duck.binary(exp.Div, duck.call("sqrt", squares), count)

    def interval(
        self, columns: Sequence[exp.Expr], noise: Noise, confidence: Fraction
    ) -> tuple[exp.Expr, exp.Expr]:
        """Both measures lie in their intervals together (union bound); the quotient's extremes follow."""
        halves = noise.half_width((1 + confidence) / 2)
        total, count = self._parts(columns)
        reach, slack = duck.double(halves[0] * float(self.argument.unit)), duck.double(float(halves[1]))
        few = duck.call("greatest", duck.binary(exp.Sub, count, slack), duck.double(1.0))
        many = duck.binary(exp.Add, count, slack)
        low, high = duck.binary(exp.Sub, total, reach), duck.binary(exp.Add, total, reach)
        zero = duck.double(0.0)
        low_mean = duck.binary(exp.Div, low, duck.case([(exp.GTE(this=low, expression=zero), many)], few))
        high_mean = duck.binary(
            exp.Div,
            high,
            duck.case([(exp.GTE(this=high, expression=zero), few)], many),
        )
        return self._clamp(low_mean), self._clamp(high_mean)

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        halves = noise.half_width((1 + confidence) / 2)
        unit = float(self.argument.unit)
        top = halves[0] * unit + self.argument.centred_width * unit * halves[1]
        width = float(self.argument.centred_width * self.argument.unit * noise.rows)
        return Error(f"({width:.15g}, {noise.rows})", None, None, f"about {top:.6g} / count", top)
