"""A released aggregate with what was believed beforehand: the mean of the prior, weighed by the draw.

What is released and kept is the draw itself, as without a prior: another prior is free then, and intervals are the
draw's own, which hold whatever was believed.
"""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from dpproxy.aggregates.average import Average
from dpproxy.aggregates.count import Count
from dpproxy.aggregates.model import Ends, Measure, Noise
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import SqlType
from udfs.priors import Prior

Inner = Count | Sum | Average


class Posterior(Struct, frozen=True):
    """``inner`` under the prior that ``text`` is; ``noise`` is that of its measures.

    ``scale`` is that of an exact number, None for a number that is shown as it is.
    """

    inner: Inner
    prior: Prior
    text: str
    scale: int | None
    noise: Noise
    most: int
    """With how many values the prior is taken: fewer, where there are many groups."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.inner.measures

    @property
    def type(self) -> SqlType:
        return self.inner.type

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        """The posterior mean; of an exact number, rounded to its digits."""
        found = self._call("_dp_posterior", columns, duck.integer(self.most))
        if self.scale is None:
            return Typed(found, self.type, None, nullable=False)
        shifted = duck.binary("*", found, duck.double(float(10**self.scale)))
        return Typed(duck.cast(duck.call("round", shifted), "HUGEINT"), self.type, self.scale, nullable=False)

    def surprise(self, columns: Sequence[nodes.Expr]) -> nodes.Expr:
        """How likely a draw as far out is where the prior is right, a DOUBLE."""
        return self._call("_dp_surprise", columns)

    def _call(self, function: str, columns: Sequence[nodes.Expr], *more: nodes.Expr) -> nodes.Expr:
        return duck.made(_called, self.noise, self, function, columns, more)

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:
        """Of the draw."""
        return self.inner.noise_sd(columns, noise)

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        """The draw's own: it holds the value before noise whatever was believed."""
        return self.inner.interval(columns, noise, confidence)

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        """The draw's own."""
        return self.inner.error(noise, confidence)


def _called(
    noise: Noise, of: Posterior, function: str, columns: Sequence[nodes.Expr], more: Sequence[nodes.Expr]
) -> nodes.Expr:
    drawn = of.inner.drawn(columns, noise)
    return duck.call(function, nodes.Text(of.text), *drawn, nodes.Truth(noise.bell), *more)
