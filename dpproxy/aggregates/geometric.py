"""GEOMETRIC_MEAN(x) = exp(avg(ln(x))) of a number above zero: never NULL, inside its bounds but for last digits.

PostgreSQL has no name for it; the engine calls it so. Written out, the logarithm is bounded more loosely, and the
exponential of an average has no interval: the function is for the noise and for what is known of it.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.argument import argument
from dpproxy.aggregates.average import Average
from dpproxy.aggregates.calls import AggregateFunction, PrivateCall
from dpproxy.aggregates.filter import kept
from dpproxy.aggregates.model import Ends, Measure, Noise
from dpproxy.aggregates.operands import number, plain_operand
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import BoundsMissing
from dpproxy.values.pgtypes import FLOAT8, SqlType


class GeometricMean(Struct, frozen=True):
    """e to the average of logarithms: everything known of the average carries over, as e**x increases."""

    logarithms: Average

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.logarithms.measures

    @property
    def type(self) -> SqlType:
        return FLOAT8

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        return Typed(duck.call("exp", self.logarithms.value(columns).sql), FLOAT8, None, nullable=False)

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:
        """To first order: the value times that of the average."""
        return f.times(self.value(columns).sql, self.logarithms.noise_sd(columns, noise))

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        low, high = self.logarithms.interval(columns, noise, confidence)
        return duck.call("exp", low), duck.call("exp", high)

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        found = self.logarithms.error(noise, confidence)
        return Error(found.sensitivity, None, None, f"about {found.over_count or 0:.6g} / count of the value")


def _private(call: PrivateCall) -> GeometricMean:
    """Refuse (PD003) where the argument may be zero or less."""
    node, scope = call.node, call.scope
    this = plain_operand(node, node.expressions[0])
    logarithm = exp.Ln(this=this.copy())
    typed, bounded = number(logarithm, scope), number(this, scope)
    if bounded.low is None or bounded.high is None or bounded.low <= 0:
        raise BoundsMissing(
            "the argument of geometric_mean() may be zero or less, or has no bounds",
            hint=f"Bound it: geometric_mean(least(greatest({this.sql('postgres')}, 1), 100)).",
            position=position(node),
        )
    # Rows are put inside these, so that no logarithm of the engine needs to be exact.
    low, high = Fraction(_log(bounded.low)), Fraction(_log(bounded.high))
    within = kept(replace(typed, low=low, high=high), call.condition)
    return GeometricMean(Average(argument(logarithm, within)))


def _log(value: Fraction | int) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


GEOMETRIC_MEAN = AggregateFunction(private=_private, added=((FLOAT8, FLOAT8),), instead="exp(avg(ln(x)))")
