"""Means, variances and a covariance from released sums, with intervals, and how noise reaches what is made of them.

Everything is in steps of the sides (``Side``), counted from their centres: at most 2^31 or so, whatever the unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.side import Side
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from udfs.mechanisms.linear import Linear

COUNT, X, Y, XX, YY, XY = "n", "x", "y", "xx", "yy", "xy"
"""The sums: of 1, of each argument, of their squares and of their products."""


@dataclass(frozen=True, slots=True)
class JointMoments:
    """What sums of the noise with weights are within; ``names`` are the sums'.

    ``means`` bounds, for each side, the sum of the noises of its sum and of the count with weights: all of these hold
    together but for a small part of what may be missed.
    """

    names: tuple[str, ...]
    linear: Linear
    means: Mapping[str, Linear]

    def reach(self, sizes: Mapping[str, float | nodes.Expr]) -> nodes.Expr:
        """For absolute values of weights; those that are not named are 0."""
        return f.reach(self.linear, [sizes.get(name, 0.0) for name in self.names])

    def alone(self, name: str) -> float:
        """For the weight 1 of one sum."""
        return self.linear.reach([float(n == name) for n in self.names])


@dataclass(frozen=True, slots=True)
class Moments:
    """``sums`` by name: released integers. ``halves`` are the half-widths of the intervals they lie in together.

    Where there is a ``joint`` law, variances and covariances are bounded by it. With x, y and p the means of the sums
    X, Y and P, c the covariance, n the count, and primes for all of these before noise,

        n (c - c') = T - n (x - x') (y - y'),  T = (P - p' n) - y' (X - x' n) - x' (Y - y' n)

    T is the noise of P, X, Y and n with the weights 1, -y', -x' and x' y' - c', of which the bound is a norm N. With a
    norm M for the noise of X and n, n abs(x - x') = abs(X - x' n) <= M(1, x') <= M(1, x) + abs(x - x') M(n), so that
    abs(x - x') is at most d_x = M(1, x) / (n - M(n)), where n is above M(n); likewise for y. So the weights that are
    released, 1, -y, -x and x y - c, are off by d_y, d_x and abs(x) d_y + abs(y) d_x + d_x d_y + abs(c - c'), and

        (n - N(n)) abs(c - c') <= N(1, -y, -x, x y - c) + N(x) d_y + N(y) d_x
                                  + N(n) (abs(x) d_y + abs(y) d_x + d_x d_y) + n d_x d_y

    where n is above N(n). A variance is the covariance of a side with itself. Its squares are counted from a middle m,
    so that P - p' n does not change where p' is that of what is counted, and x' y' - c' becomes 2 x' y' - p'.
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
        return f.inside(self._second(side, side), 0.0, self.sides[side].radius ** 2)

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
        return f.inside(self._second(X, Y), -self._most, self._most)

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
        far = {s: f.size(self.mean(s)) for s in (x, y)}
        off = {s: self._off(joint, s) for s in (x, y)}
        number, both = joint.alone(COUNT), f.times(off[x], off[y])
        crossed = f.plus(f.times(far[x], off[y]), f.times(far[y], off[x]), both)
        turned = f.minus(f.times(duck.double(2.0), self.mean(x), self.mean(y)), self._product(x, y))
        sizes: dict[str, float | nodes.Expr] = {x + y: 1.0, COUNT: f.size(turned)}
        sizes |= {x: f.scaled(far[x], 2.0)} if x == y else {x: far[y], y: far[x]}
        above = f.plus(
            joint.reach(sizes),
            f.scaled(off[y], joint.alone(x)),
            f.scaled(off[x], joint.alone(y)),
            f.scaled(crossed, number),
            f.times(self.count, both),
        )
        least = max(number, *(joint.means[s].reach((0.0, 1.0)) for s in (x, y)))
        is_many = nodes.Binary(">", self.count, duck.double(least))
        left = f.minus(self.count, duck.double(number))
        half = duck.case([(is_many, f.over(above, left))], duck.double(widest))
        limits = (0.0, widest) if x == y else (-self._most, self._most)
        return f.clipped((f.minus(value, half), f.plus(value, half)), *limits)

    def slopes(self, most: float) -> f.Interval:
        """Of c / v, the covariance over the variance of x, which ``most`` bounds before noise.

        With b = c / v and b' = c' / v', v (b - b') = (c - c') - b' (v - v'), and with a = y - b x, a' = y' - b' x'

            n ((c - c') - b' (v - v')) = T - n (x - x') (y - y') + b' n (x - x')^2,

        T the noise of P, Q, X, Y and n with the weights 1, -b', -(a' - b' x'), -x' and x' a' - b' m, where Q adds up
        squares from the middle m. With D = abs(b - b') and r = abs(x) + d_x, a is off by at most
        d_y + abs(b) d_x + D r. So the weights that are released are off by D, d_y + 2 abs(b) d_x + 2 D r, d_x and
        abs(a) d_x + r (d_y + abs(b) d_x + D r) + D abs(m), and, where the bracket is above zero,

            D (n v - N(Q) - 2 r N(X) - (r^2 + abs(m)) N(n) - n d_x^2) <= N(1, b, a - b x, x, x a - b m)
                + N(X) (d_y + 2 abs(b) d_x) + N(Y) d_x + N(n) (abs(a) d_x + r (d_y + abs(b) d_x))
                + n d_x d_y + abs(b) n d_x^2
        """
        joint = self.joint
        if joint is None:
            low, high = self.variances(X)
            return f.clipped(f.quotient(self.covariances(), (f.positive(low), f.positive(high))), -most, most)
        off = {s: self._off(joint, s) for s in (X, Y)}
        x, y, variance = self.mean(X), self.mean(Y), self._second(X, X)
        slope = f.over(self._second(X, Y), variance)
        level, middle = f.minus(y, f.times(slope, x)), float(self.sides[X].middle)
        reach, tilted = f.plus(f.size(x), off[X]), f.times(f.size(slope), off[X])
        alone = {name: joint.alone(name) for name in (COUNT, X, Y, XX)}
        sizes: dict[str, float | nodes.Expr] = {
            XY: 1.0,
            XX: f.size(slope),
            X: f.size(f.minus(level, f.times(slope, x))),
            Y: f.size(x),
            COUNT: f.size(f.minus(f.times(x, level), f.scaled(slope, middle))),
        }
        above = f.plus(
            joint.reach(sizes),
            f.scaled(f.plus(off[Y], f.scaled(tilted, 2.0)), alone[X]),
            f.scaled(off[X], alone[Y]),
            f.scaled(
                f.plus(f.times(f.size(level), off[X]), f.times(reach, f.plus(off[Y], tilted))), alone[COUNT]
            ),
            f.times(self.count, off[X], f.plus(off[Y], tilted)),
        )
        below = f.minus(
            f.times(self.count, f.minus(variance, f.square(off[X]))),
            f.plus(
                duck.double(alone[XX] + abs(middle) * alone[COUNT]),
                f.scaled(reach, 2 * alone[X]),
                f.scaled(f.square(reach), alone[COUNT]),
            ),
        )
        zero, least = duck.double(0.0), max(joint.means[s].reach((0.0, 1.0)) for s in (X, Y))
        known = nodes.And(
            (
                nodes.Binary(">", self.count, duck.double(least)),
                nodes.Binary(">", variance, zero),
                nodes.Binary(">", below, zero),
            )
        )
        half = duck.case([(known, f.over(above, below))], duck.double(2 * most))
        value = f.inside(f.over(self._second(X, Y), f.positive(variance)), -most, most)
        return f.clipped((f.minus(value, half), f.plus(value, half)), -most, most)

    def _off(self, joint: JointMoments, side: str) -> nodes.Expr:
        """How far off a mean is, where there are enough rows."""
        means = joint.means[side]
        left = f.minus(self.count, duck.double(means.reach((0.0, 1.0))))
        return f.over(f.reach(means, (1.0, f.size(self.mean(side)))), left)

    def _second(self, x: str, y: str) -> nodes.Expr:
        """A variance or covariance as it was drawn, not kept within its limits."""
        middle = (self._middle(x),) if x == y else ()
        return f.minus(f.plus(self._product(x, y), *middle), f.times(self.mean(x), self.mean(y)))

    def _product(self, x: str, y: str) -> nodes.Expr:
        """The mean of products, or of squares from their middle."""
        return f.over(self._double(x + y), self.count)

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
                change = f.minus(self._product(side, side), f.times(two, f.square(self.mean(side))))
                terms.append(f.times(weights[side * 2], change))
        if XY in weights:
            change = f.minus(self._product(X, Y), f.times(two, self.mean(X), self.mean(Y)))
            terms.append(f.times(weights[XY], change))
        return f.scaled(_total(terms), sd)

    @property
    def _most(self) -> float:
        return self.sides[X].radius * self.sides[Y].radius

    def _double(self, name: str) -> nodes.Expr:
        return duck.cast(self.sums[name], "DOUBLE")

    def _middle(self, side: str) -> nodes.Expr:
        return duck.double(float(self.sides[side].middle))

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
