"""A function of means, variances and a covariance as an aggregate: one joint release of the sums that it needs.

Never NULL, as the NULL pattern must not follow from the rows: a count below what PostgreSQL answers NULL for is taken
as the least count with a value, a variance of zero divides as the smallest number above it. The value, the ends of
its interval and so every answer stay inside the function's own range.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.joint import COUNT, Law
from dpproxy.aggregates.model import Ends, Measure, Noise
from dpproxy.aggregates.moments import Moments
from dpproxy.aggregates.side import Side
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import SqlType
from udfs.mechanisms.linear import Linear

Sides = Mapping[str, Side]
SIDES = Fraction(1, 128)
"""Of what an interval may miss, the share of each bound on which it hardly depends."""


class MomentFunction(Struct, frozen=True):
    """A function of moments, in steps of the sides.

    ``weights`` are its derivatives: what it changes by with the mean (X, Y), the variance (XX, YY) and the
    covariance (XY). ``limits`` hold every value, ``unit`` is what a step of the result is worth. ``formula`` takes
    first-order half-widths of the moments times the count, as values, and says that of the result.
    """

    parts: tuple[str, ...]
    value: Callable[[Moments], nodes.Expr]
    interval: Callable[[Moments], f.Interval]
    weights: Callable[[Moments], Mapping[str, nodes.Expr]]
    limits: Callable[[Sides], tuple[float, float]]
    unit: Callable[[Sides], Fraction]
    formula: Callable[[Mapping[str, float]], str]


class Statistic(Struct, frozen=True):
    """A call. ``named`` are its measures under the names of the sums."""

    function: MomentFunction
    sides: Sides
    named: Mapping[str, Measure]
    type: SqlType

    @property
    def measures(self) -> tuple[Measure, ...]:
        return tuple(self.named[part] for part in self.function.parts)

    def _moments(
        self, columns: Sequence[nodes.Expr], halves: Sequence[int] = (), joint: Law | None = None
    ) -> Moments:
        parts = self.function.parts
        return Moments(
            dict(zip(parts, columns, strict=True)), self.sides, dict(zip(parts, halves, strict=False)), joint
        )

    def _shown(self, value: nodes.Expr) -> nodes.Expr:
        limited = f.inside(value, *self.function.limits(self.sides))
        return f.scaled(limited, float(self.function.unit(self.sides)))

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        return Typed(
            self._shown(self.function.value(self._moments(columns))), self.type, None, nullable=False
        )

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:
        """To first order; at most half the range, which no variable on it passes.

        Of numbers that have noise in common it is at most sqrt(k) times that of k independent ones.
        """
        moments, parts = self._moments(columns), self.function.parts
        times = math.sqrt(len(parts)) if noise.covariances else 1.0
        sd = dict(zip(parts, (times * one for one in noise.sd), strict=True))
        low, high = self.function.limits(self.sides)
        found = moments.deviation(self.function.weights(moments), sd)
        limited = f.least(found, duck.double((high - low) / 2))
        return f.scaled(limited, float(self.function.unit(self.sides)))

    def _halves(self, noise: Noise, confidence: Fraction) -> tuple[int, ...]:
        """Half-widths that hold together, by the union bound."""
        return noise.half_width(1 - (1 - confidence) / len(self.function.parts))

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        """All sums lie in their intervals together; interval arithmetic holds every value they can make.

        Where the joint law of the noise bounds variances and covariances, little is left for the sums by themselves.
        """
        joint = self._joint(noise, confidence)
        if joint is not None:
            confidence = 1 - (1 - confidence) * SIDES
        low, high = self.function.interval(self._moments(columns, self._halves(noise, confidence), joint))
        return self._shown(low), self._shown(high)

    def _joint(self, noise: Noise, confidence: Fraction) -> Law | None:
        """The bounds of sums with weights.

        Means, variances, slopes, what is left of rows, both sums of a product, and all together miss ``SIDES`` each.
        """
        parts, missed = self.function.parts, 1 - confidence
        near = 1 - missed * (1 - SIDES * (len(parts) + 2))
        if Linear.of(noise.draws, near) is None:
            return None
        return Law(dict(zip(parts, noise.draws, strict=True)), near, 1 - missed * SIDES)

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        widths = [self.named[p].width * self._worth(p) * noise.rows for p in self.function.parts]
        words = self.function.formula(self._first_order(noise, confidence))
        return Error(f"({', '.join(f'{width:.15g}' for width in widths)})", None, None, words)

    def _worth(self, part: str) -> float:
        """One step of a sum, as a value."""
        if part in self.sides:
            return float(self.sides[part].unit)
        if part == COUNT:
            return 1.0
        return float(self.sides[part[0]].unit * self.sides[part[1]].unit)

    def _first_order(self, noise: Noise, confidence: Fraction) -> dict[str, float]:
        """The most each moment's error can be, to first order, times the count: every mean at its farthest.

        The weight of the count is the most that x' y' - c', or x'^2 + middle - v', can be where no row is farther.
        """
        far, joint = (
            {name: float(side.reach) for name, side in self.sides.items()},
            self._joint(noise, confidence),
        )
        halves = self._halves(noise, confidence)
        found = {}
        for part in self.function.parts:
            weights = dict.fromkeys(self.function.parts, 0.0) | {part: 1.0}
            if part in self.sides:
                weights[COUNT] = far[part]
            elif part != COUNT:
                a, b = part[0], part[1]
                weights[a] += far[b]
                weights[b] += far[a]
                weights[COUNT] = far[a] * far[b] + (float(self.sides[a].middle) if a == b else 0.0)
            sizes = [*weights.values()]
            if joint is None:
                reach = sum(h * w for h, w in zip(halves, sizes, strict=True))
            else:
                reach = joint.norm(joint.near, weights).reach(sizes)
            found[part] = reach * self._worth(part)
        return found
