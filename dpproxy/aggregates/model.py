"""What an aggregate is: bounded integer measures below, a released value and its error above."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from msgspec import Struct

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import SqlType
from udfs.mechanisms.linear import Number


class Measure(Struct, frozen=True):
    """One exact integer column: the backend's aggregate over whole lattice steps.

    ``width`` is what one row can move it by, in steps; it holds because every row's contribution is clamped.
    ``unit_width`` is what all rows of one unit together can move it by in one group, where that is known to be
    less than their number times ``width``.
    """

    sql: nodes.Expr
    width: int
    unit_width: int | None = None


class Noise(Struct, frozen=True):
    """The error of an aggregate's own measures, in steps: standard deviations, half-widths by confidence."""

    sd: tuple[float, ...]
    half_width: Callable[[Fraction], tuple[int, ...]]
    rows: int = 1
    """The most rows of one privacy unit."""
    bell: bool = False
    """Drawn from the normal law, or the sum of several draws; else about two-sided exponential."""
    rounded: bool = False
    """The mean of several draws, as a whole number."""
    draws: tuple[Number, ...] = ()
    """What each number is a draw or the mean of draws of, where it is; of different groups they are independent."""
    laws: tuple["Noise", ...] = ()
    """The error of each kind of row, where they differ; all else here is that of the kind farthest off."""
    covariances: Mapping[tuple[int, int], float] = {}
    """Of two measures, by their places, where they are made of the same draws."""


Drawn = tuple[nodes.Expr, nodes.Expr, nodes.Expr, nodes.Expr]
"""A released number and the law of its noise, all DOUBLE: the value; ``fixed``, ``slope``, ``centre`` of ``Draws``."""


Ends = tuple[nodes.Expr, nodes.Expr]
"""Of an interval, both DOUBLE."""


class Aggregate(Protocol):
    """An aggregate call over rows of protected data.

    ``columns`` below are the released integers of ``measures``, as SQL, in the same order.
    """

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is computed exactly and released."""

    @property
    def type(self) -> SqlType:
        """PostgreSQL's type of the call."""

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        """The call's value from released measures."""

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:
        """The standard deviation of the noise, a DOUBLE."""

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        """The ends of an interval that holds the value before noise with at least this probability."""

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        """What EXPLAIN (PRIVACY) says, from the policy alone."""
