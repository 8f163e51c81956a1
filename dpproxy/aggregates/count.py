"""COUNT(*) and COUNT(x)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from dpproxy.aggregates.model import Error, Measure, Noise
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.pgtypes import INT8, SqlType


def count_measure(counted: Typed | None) -> Measure:
    """Rows, or rows where ``counted`` is not NULL; both move by 1 with one row."""
    if counted is None or not counted.nullable:
        return Measure("COUNT(*)", 1)
    return Measure(duck.text(exp.Count(this=(counted.presence or counted.sql))), 1)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows."""

    counted: Typed | None

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (count_measure(self.counted),)

    @property
    def type(self) -> SqlType:
        return INT8

    def value(self, columns: Sequence[exp.Expr]) -> Typed:
        return Typed(columns[0], INT8, 0, nullable=False)

    def noise_sd(self, columns: Sequence[exp.Expr], noise: Noise) -> exp.Expr:  # noqa: ARG002
        return duck.double(noise.sd[0])

    def interval(
        self, columns: Sequence[exp.Expr], noise: Noise, confidence: Fraction
    ) -> tuple[exp.Expr, exp.Expr]:
        half = duck.double(float(noise.half_width(confidence)[0]))
        count = duck.cast(columns[0], "DOUBLE")
        low = duck.call("greatest", duck.binary(exp.Sub, count, half), duck.double(0.0))
        return low, duck.call("greatest", duck.binary(exp.Add, count, half), duck.double(0.0))

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        return Error(f"{noise.rows}", noise.sd[0], float(noise.half_width(confidence)[0]))
