"""Means, variances and a covariance from released sums, with intervals, and how noise reaches what is made of them.

Everything is in steps of the sides (``Side``), counted from their centres: at most 2^31 or so, whatever the unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.side import Side
from dpproxy.algebra import nodes
from dpproxy.analysis import duck

COUNT, X, Y, XX, YY, XY = "n", "x", "y", "xx", "yy", "xy"
"""The sums: of 1, of each argument, of their squares and of their products."""


@dataclass(frozen=True, slots=True)
class Moments:
    """``sums`` by name: released integers. ``halves`` are the half-widths of the intervals they lie in together."""

    sums: Mapping[str, nodes.Expr]
    sides: Mapping[str, Side]
    halves: Mapping[str, int]

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
        reach = float(self.sides[X].reach * self.sides[Y].reach)
        mean = f.clipped(self._quotients(XY), -reach, reach)
        raw = f.difference(mean, f.product(self.means(X), self.means(Y)))
        return f.clipped(raw, -self._most, self._most)

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
