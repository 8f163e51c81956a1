"""COUNT(*), COUNT(x), COUNT(DISTINCT x) and COUNT_IF(condition)."""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from dpproxy.aggregates.model import Drawn, Ends, Measure, Noise
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import INT8, SqlType


def count_measure(counted: Typed | None) -> Measure:
    """Rows, or rows where ``counted`` is not NULL; both move by 1 with one row."""
    if counted is None or not counted.nullable:
        return Measure(duck.call("count", nodes.Star()), 1)
    return Measure(duck.call("count", counted.presence or counted.sql), 1)


def distinct_measure(counted: Typed, *, is_unit: bool) -> Measure:
    """The different values of each group.

    A row less takes one value away or none, in its own group, so the width is 1, and the rows of a unit move all
    groups together by at most their number. Of the key that tells units apart (``is_unit``) all rows of a unit hold
    one value: they move each group by at most 1 together.
    """
    distinct = nodes.Call("count", (counted.sql,), distinct=True)
    return Measure(distinct, 1, 1 if is_unit else None)


class Count(Struct, frozen=True):
    """A number of rows, or of something else that no row moves by more than ``measure.width``."""

    measure: Measure

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (self.measure,)

    @property
    def type(self) -> SqlType:
        return INT8

    @property
    def weights(self) -> tuple[float, ...]:
        """What the value changes by with the measure."""
        return (1.0,)

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        return Typed(columns[0], INT8, 0, nullable=False)

    def drawn(self, columns: Sequence[nodes.Expr], noise: Noise) -> Drawn:
        """The draw and its law, as DOUBLEs."""
        return duck.cast(columns[0], "DOUBLE"), duck.double(noise.sd[0]), duck.double(0.0), duck.double(0.0)

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:  # noqa: ARG002
        return duck.double(noise.sd[0])

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        half = duck.double(float(noise.half_width(confidence)[0]))
        count = duck.cast(columns[0], "DOUBLE")
        low = duck.call("greatest", duck.binary("-", count, half), duck.double(0.0))
        return low, duck.call("greatest", duck.binary("+", count, half), duck.double(0.0))

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        half = float(noise.half_width(confidence)[0])
        return Error(
            f"{noise.rows}",
            noise.sd[0],
            half,
            rows=half if self.measure == count_measure(None) else None,
            span=1.0,
        )
