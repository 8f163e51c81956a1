"""Means, variances and a covariance from released sums, with intervals, and how noise reaches what is made of them.

Everything is in steps of the sides (``Side``), counted from their centres: at most 2^31 or so, whatever the unit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.side import Side
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from udfs.mechanisms.linear import Linear

COUNT, X, Y, XX, YY, XY = "n", "x", "y", "xx", "yy", "xy"
"""The sums: of 1, of each argument, of their squares and of their products."""


@dataclass(frozen=True, slots=True)
class JointMoments:
    """What sums of the noise with weights are within, each by itself with this confidence; ``names`` are the sums'."""

    names: tuple[str, ...]
    linear: Linear
    confidence: Fraction

    def reach(self, sizes: Mapping[str, float | nodes.Expr]) -> nodes.Expr:
        """For absolute values of weights; those that are not named are 0."""
        return f.reach(self._of(sizes), list(sizes.values()), self.confidence)

    def alone(self, name: str) -> float:
        """For the weight 1 of one sum."""
        return self._of([name]).reach((1.0,), self.confidence)

    def _of(self, names: Iterable[str]) -> Linear:
        components = (self.linear.components[self.names.index(n)] for n in names)
        return Linear(self.linear.mechanism, tuple(components))


@dataclass(frozen=True, slots=True)
class Moments:
    """``sums`` by name: released integers. ``halves`` are the half-widths of the intervals they lie in together.

    Where there is a ``joint`` law, variances and covariances are bounded by it. With m and m' the means of two sides, c
    their covariance, P, X, Y and n the sums, and primes for all of these before noise,

        n (c - c') = T - (X - x' n) (Y - y' n) / n,  T = (P - p' n) - y' (X - x' n) - x' (Y - y' n)

    where x, y and p are the means of X, Y and P. T is the noise of P, X, Y and n with the weights 1, -y', -x' and
    2 x' y' - p', of which the bound is a norm N. As abs(x') is at most the reach of its side, abs(X - x' n) is at most
    K_x = half of X + reach_x half of n: so the weights that are released, 1, -y, -x and 2 x y - p, are off by K_y / n,
    K_x / n and by reach_x K_y / n + reach_y K_x / n + K_x K_y / n^2 + abs(c - c'). Hence, for n > N(n),

        (n - N(n)) abs(c - c') <= N(1, -y, -x, 2 x y - p) + N(n) K_x K_y / n^2
                                  + (N(x) K_y + N(y) K_x + N(n) (reach_x K_y + reach_y K_x) + K_x K_y) / n

    A variance is the covariance of a side with itself; that its squares are counted from a middle changes P and p
    alike.
    """

    sums: Mapping[str, nodes.Expr]
    sides: Mapping[str, Side]
    halves: Mapping[str, int]
    joint: JointMoments | None = None

    @property
    def count(self) -> nodes.Expr:
        """At least 1."""
        return f.greatest(self._double(COUNT), duck.double(1.0))

    @property
    def _counts(self) -> f.Interval:
        slack = duck.double(float(self.halves[COUNT]))
        return f.greatest(f.minus(self.count, slack), duck.double(1.0)), f.plus(self.count, slack)

    @property
    def correction(self) -> nodes.Expr:
        """The factor n / (n - 1), of at least two rows: falls with n."""
        count = f.greatest(self._double(COUNT), duck.double(2.0))
        return f.over(count, f.minus(count, duck.double(1.0)))

    @property
    def corrections(self) -> f.Interval:
        """The interval of ``correction``."""
        two, one = duck.double(2.0), duck.double(1.0)
        few, many = (f.greatest(end, two) for end in self._counts)
        return f.over(many, f.minus(many, one)), f.over(few, f.minus(few, one))

    def mean(self, side: str) -> nodes.Expr:
        """The mean's distance from the centre."""
        return f.over(self._double(side), self.count)

    def means(self, side: str) -> f.Interval:
        """Its interval: the extremes of a quotient by a count."""
        reach = float(self.sides[side].reach)
        return f.clipped(self._quotients(side), -reach, reach)

    def variance(self, side: str) -> nodes.Expr:
        """Mean square minus squared mean, between 0 and the squared radius."""
        raw = f.minus(f.plus(self._middled(side), self._middle(side)), f.square(self.mean(side)))
        return f.inside(raw, 0.0, self.sides[side].radius ** 2)

    def variances(self, side: str) -> f.Interval:
        """Its interval."""
        taken = self.sides[side]
        if self.joint is not None:
            return self._around(self.variance(side), self.joint, side, side, taken.radius**2)
        middled = f.clipped(
            self._quotients(side * 2), -float(taken.middle), float(taken.reach**2 - taken.middle)
        )
        middle = self._middle(side)
        second = f.plus(middled[0], middle), f.plus(middled[1], middle)
        return f.clipped(f.difference(second, f.squares(self.means(side))), 0.0, taken.radius**2)

    def covariance(self) -> nodes.Expr:
        """Mean product minus product of means, at most the product of the radii."""
        raw = f.minus(self._mean_product(), f.times(self.mean(X), self.mean(Y)))
        return f.inside(raw, -self._most, self._most)

    def covariances(self) -> f.Interval:
        """Its interval."""
        if self.joint is not None:
            return self._around(self.covariance(), self.joint, X, Y, 2 * self._most)
        reach = float(self.sides[X].reach * self.sides[Y].reach)
        mean = f.clipped(self._quotients(XY), -reach, reach)
        raw = f.difference(mean, f.product(self.means(X), self.means(Y)))
        return f.clipped(raw, -self._most, self._most)

    def _around(self, value: nodes.Expr, joint: JointMoments, x: str, y: str, widest: float) -> f.Interval:
        """By the joint law; what is kept within limits is no farther from what keeps to them."""
        mean = {s: self.mean(s) for s in (x, y)}
        sizes: dict[str, float | nodes.Expr] = {x + y: 1.0}
        if x == y:
            sizes[x] = f.scaled(f.size(mean[x]), 2.0)
        else:
            sizes |= {x: f.size(mean[y]), y: f.size(mean[x])}
        product = f.over(self._double(x + y), self.count)
        sizes[COUNT] = f.size(f.minus(f.scaled(f.times(mean[x], mean[y]), 2.0), product))
        number, (far_x, far_y) = joint.alone(COUNT), (float(self.sides[s].reach) for s in (x, y))
        off_x, off_y = (
            self.halves[x] + far_x * self.halves[COUNT],
            self.halves[y] + far_y * self.halves[COUNT],
        )
        more = joint.alone(x) * off_y + joint.alone(y) * off_x + number * (far_x * off_y + far_y * off_x)
        both = off_x * off_y
        crossed = f.plus(duck.double(more + both), f.over(duck.double(number * both), self.count))
        above = f.plus(joint.reach(sizes), f.over(crossed, self.count))
        left = f.minus(self.count, duck.double(number))
        half = duck.case(
            [(nodes.Binary(">", left, duck.double(0.0)), f.over(above, left))], duck.double(widest)
        )
        limits = (0.0, widest) if x == y else (-self._most, self._most)
        return f.clipped((f.minus(value, half), f.plus(value, half)), *limits)

    def deviation(self, weights: Mapping[str, nodes.Expr], sd: Mapping[str, float]) -> nodes.Expr:
        """The noise's standard deviation, to first order, of what changes by ``weights`` with each moment.

        ``weights`` has the keys of the sums: X for the mean of x, XX for its variance, XY for the covariance. With
        m the means, each sum S over the count n moves the moments by dS / n, and n itself by what is in _by_count.
        """
        parts = [self._by_count(weights, sd[COUNT])]
        parts += [f.scaled(weights[name], sd[name]) for name in (XX, YY, XY) if name in weights]
        for side, square, other in ((X, XX, Y), (Y, YY, X)):
            moved = self._by_sum(weights, side, square, other)
            if moved is not None:
                parts.append(f.scaled(moved, sd[side]))
        total = f.square(parts[0])
        for part in parts[1:]:
            total = f.plus(total, f.square(part))
        return f.over(f.root(total), self.count)

    def _by_sum(
        self, weights: Mapping[str, nodes.Expr], side: str, square: str, other: str
    ) -> nodes.Expr | None:
        """Times the count: 1 for the mean, -2 m for the variance, -m' for the covariance."""
        terms = [weights[side]] if side in weights else []
        if square in weights:
            terms.append(f.times(duck.double(-2.0), weights[square], self.mean(side)))
        if XY in weights:
            terms.append(f.times(duck.double(-1.0), weights[XY], self.mean(other)))
        return _total(terms) if terms else None

    def _by_count(self, weights: Mapping[str, nodes.Expr], sd: float) -> nodes.Expr:
        """Times the count: m for the mean, q - 2 m^2 for the variance, p - 2 m m' for the covariance (q, p over n)."""
        two = duck.double(2.0)
        terms = [f.times(weights[side], self.mean(side)) for side in (X, Y) if side in weights]
        for side in (X, Y):
            if side * 2 in weights:
                change = f.minus(self._middled(side), f.times(two, f.square(self.mean(side))))
                terms.append(f.times(weights[side * 2], change))
        if XY in weights:
            change = f.minus(self._mean_product(), f.times(two, self.mean(X), self.mean(Y)))
            terms.append(f.times(weights[XY], change))
        return f.scaled(_total(terms), sd)

    @property
    def _most(self) -> float:
        return self.sides[X].radius * self.sides[Y].radius

    def _double(self, name: str) -> nodes.Expr:
        return duck.cast(self.sums[name], "DOUBLE")

    def _middle(self, side: str) -> nodes.Expr:
        return duck.double(float(self.sides[side].middle))

    def _middled(self, side: str) -> nodes.Expr:
        """The mean of squares, from their middle."""
        return f.over(self._double(side * 2), self.count)

    def _mean_product(self) -> nodes.Expr:
        return f.over(self._double(XY), self.count)

    def _quotients(self, name: str) -> f.Interval:
        slack = duck.double(float(self.halves[name]))
        return f.quotient(
            (f.minus(self._double(name), slack), f.plus(self._double(name), slack)), self._counts
        )


def _total(terms: list[nodes.Expr]) -> nodes.Expr:
    result = terms[0]
    for term in terms[1:]:
        result = f.plus(result, term)
    return result
