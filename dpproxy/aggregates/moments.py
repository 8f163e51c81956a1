"""Means, variances and a covariance from released sums, with intervals, and how noise reaches what is made of them.

Everything is in steps of the sides (``Side``), counted from their centres: at most 2^31 or so, whatever the unit.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.joint import COUNT, XX, XY, YY, Ball, Known, Law, X, Y, half_width
from dpproxy.aggregates.side import Side
from dpproxy.algebra import nodes
from dpproxy.analysis import duck


class Moments(Struct, frozen=True):
    """``sums`` by name: released integers. ``halves`` are the half-widths of the intervals they lie in together.

    Where there is a ``joint`` law, what is made of variances and covariances is bounded by it.
    """

    sums: Mapping[str, nodes.Expr]
    sides: Mapping[str, Side]
    halves: Mapping[str, int]
    joint: Law | None = None

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
        return f.inside(self.drawn(side, side), 0.0, self.sides[side].radius ** 2)

    def variances(self, side: str) -> f.Interval:
        """Its interval."""
        taken = self.sides[side]
        if self.joint is not None:
            most, name = taken.radius**2, side * 2
            return self.around(
                self.variance(side), (0.0, most), (), lambda known: known.second(name, known.law.near)
            )
        middled = f.clipped(
            self._quotients(side * 2), -float(taken.middle), float(taken.reach**2 - taken.middle)
        )
        middle = self._middle(side)
        second = f.plus(middled[0], middle), f.plus(middled[1], middle)
        return f.clipped(f.difference(second, f.squares(self.means(side))), 0.0, taken.radius**2)

    def covariance(self) -> nodes.Expr:
        """Mean product minus product of means, at most the product of the radii."""
        return f.inside(self.drawn(X, Y), -self._most, self._most)

    def covariances(self) -> f.Interval:
        """Its interval."""
        if self.joint is not None:
            limits = (-self._most, self._most)
            return self.around(self.covariance(), limits, (), lambda known: known.second(XY, known.law.near))
        reach = float(self.sides[X].reach * self.sides[Y].reach)
        mean = f.clipped(self._quotients(XY), -reach, reach)
        raw = f.difference(mean, f.product(self.means(X), self.means(Y)))
        return f.clipped(raw, -self._most, self._most)

    def around(
        self,
        value: nodes.Expr,
        limits: tuple[float, float],
        second: Sequence[str],
        below: Callable[[Known], nodes.Expr],
        above: Callable[[Known], nodes.Expr] | None = None,
        drawn: nodes.Expr | None = None,
    ) -> f.Interval:
        """By the joint law; what is kept within limits is no farther from what keeps to them.

        Both ends are as far as one is where nothing else is said of the second. A quotient of moments that are kept
        within theirs may be farther than that of those ``drawn``, of which alone the law says how far they are.
        """
        if self.joint is None:
            raise AssertionError("there is a joint law")
        sides = list(self.sides)
        of = {side: self.mean(side) for side in sides}
        of |= {name: self.drawn(name[0], name[1]) for name in self.sums if len(name) == 2}
        known = Known(
            self.joint,
            {name: Ball(value) for name, value in ({COUNT: self._double(COUNT)} | of).items()},
            {side: float(self.sides[side].middle) for side in sides},
            duck.double(limits[1] - limits[0]),
        )
        kept = f.inside(value, *limits)
        low, high = (half_width(known, second, made) for made in (below, above or below))
        if drawn is None:
            return f.clipped((f.minus(kept, low), f.plus(kept, high)), *limits)
        both = kept, drawn
        return f.clipped(
            (
                f.named("v", both, lambda named: f.minus(f.least(*named), low)),
                f.named("v", both, lambda named: f.plus(f.greatest(*named), high)),
            ),
            *limits,
        )

    def drawn(self, x: str, y: str) -> nodes.Expr:
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
