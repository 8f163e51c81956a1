"""SUM(x): directly, or from the centred sum and the count where an average of x is asked for anyway."""

import math
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from dpproxy.aggregates.argument import Argument
from dpproxy.aggregates.calls import AggregateFunction, OpenCall, PersonCall, PrivateCall
from dpproxy.aggregates.count import count_measure
from dpproxy.aggregates.model import Drawn, Ends, Measure, Noise
from dpproxy.aggregates.operands import multiple
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import FLOATS, INT2, INT4, INT8, NUMERIC, SqlType
from udfs.mechanisms.linear import Linear


def sum_type(kind: SqlType) -> SqlType:
    """PostgreSQL's type of sum(kind)."""
    if kind.oid in FLOATS:
        return kind
    return INT8 if kind.oid in (INT2.oid, INT4.oid) else NUMERIC


def centred_measure(argument: Argument) -> Measure:
    """The sum of distances from the middle of the range, in steps.

    The middles are taken from the sum at once, which is the same whole number as one by one, with less work.
    """
    if argument.centre and not argument.distinct:
        number = count_measure(argument.typed).sql
        middles = duck.binary("*", duck.cast(duck.integer(argument.centre), "HUGEINT"), number)
        total = duck.binary("-", duck.call("sum", argument.sql), middles)
        return Measure(total, argument.centred_width)
    return Measure(argument.each("sum", argument.centred), argument.centred_width)


def number_measure(argument: Argument) -> Measure:
    """How many values a centred sum adds up."""
    if argument.distinct:
        return Measure(argument.each("count", argument.centred), 1)
    return count_measure(argument.typed)


def steps_to_value(steps: nodes.Expr, unit: Fraction) -> nodes.Expr:
    """Whole steps as a DOUBLE value."""
    as_double = duck.cast(steps, "DOUBLE")
    return as_double if unit == 1 else duck.binary("*", as_double, duck.double(float(unit)))


class Sum(Struct, frozen=True):
    """A sum; ``derived`` from the two measures of an average, and of one constant from the number of values."""

    argument: Argument
    derived: bool

    @property
    def measures(self) -> tuple[Measure, ...]:
        if self.argument.is_constant:
            return (number_measure(self.argument),)
        if self.derived:
            return centred_measure(self.argument), number_measure(self.argument)
        total = self.argument.each("sum", self.argument.sql)
        return (Measure(total, self.argument.width),)

    @property
    def type(self) -> SqlType:
        return sum_type(self.argument.typed.type)

    @property
    def _steps(self) -> tuple[int, ...]:
        """What each measure counts, in steps."""
        if self.argument.is_constant:
            return (self.argument.low,)
        return (1, self.argument.centre) if self.derived else (1,)

    def _total(self, columns: Sequence[nodes.Expr], factor: int = 1) -> nodes.Expr:
        """So many times the sum in steps."""
        found: nodes.Expr | None = None
        for column, steps in zip(columns, self._steps, strict=True):
            times = duck.cast(duck.integer(steps * factor), "HUGEINT")
            part = column if steps * factor == 1 else duck.binary("*", column, times)
            if found is None or steps:
                found = part if found is None else duck.binary("+", found, part)
        if found is None:
            raise AssertionError("a sum has a measure")
        return found

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        scale = self.argument.typed.scale
        if scale is not None:
            factor = int(self.argument.unit * 10**scale)
            return Typed(self._total(columns, factor), self.type, scale, nullable=False)
        steps = steps_to_value(self._total(columns), self.argument.unit)
        return Typed(steps, self.type, None, nullable=False)

    @property
    def weights(self) -> tuple[float, ...]:
        """What the value changes by with each measure."""
        unit = float(self.argument.unit)
        return tuple(unit * steps for steps in self._steps)

    def _sd(self, noise: Noise) -> float:
        of = [w * s for w, s in zip(self._steps, noise.sd, strict=True)]
        common = 2 * math.prod(self._steps) * noise.covariances.get((0, 1), 0.0)
        return math.sqrt(max(0.0, math.hypot(*of) ** 2 + common)) * float(self.argument.unit)

    def _half_width(self, noise: Noise, confidence: Fraction) -> float:
        if len(self.measures) == 1:
            return noise.half_width(confidence)[0] * abs(self.weights[0])
        linear = Linear.of(noise.draws, confidence)
        if linear is not None:
            return linear.reach(self.weights)
        halves = noise.half_width((1 + confidence) / 2)  # both hold together, by the union bound
        return (halves[0] + abs(self.argument.centre) * halves[1]) * float(self.argument.unit)

    def drawn(self, columns: Sequence[nodes.Expr], noise: Noise) -> Drawn:
        """The draw and its law, as DOUBLEs."""
        value = steps_to_value(self._total(columns), self.argument.unit)
        return value, duck.double(self._sd(noise)), duck.double(0.0), duck.double(0.0)

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:  # noqa: ARG002
        return duck.double(self._sd(noise))

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        value = steps_to_value(self._total(columns), self.argument.unit)
        half = duck.double(self._half_width(noise, confidence))
        return duck.binary("-", value, half), duck.binary("+", value, half)

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        each = self.argument.width * self.argument.unit
        half = self._half_width(noise, confidence)
        return Error(f"{float(each * noise.rows):.15g}", self._sd(noise), half, span=float(each))


def _private(call: PrivateCall) -> Sum:
    return Sum(multiple(call), (call.node.this, call.filtered) in call.averaged)


def _open(call: OpenCall) -> Typed:
    value = call.number()
    sql = duck.cast(value.sql, "HUGEINT") if value.scale is not None else value.sql
    return Typed(call.made("sum", sql), sum_type(value.type), value.scale)


def _person(call: PersonCall) -> Typed:
    found, most = call.steps(), call.most
    total = call.made("sum", found.sql)
    low, high = min(0, found.low * most), max(0, found.high * most)
    if call.over is None:
        total = duck.clamp(total, duck.integer(low), duck.integer(high))
    total, kind = duck.cast(total, "HUGEINT"), sum_type(found.typed.type)
    ends = low * found.unit, high * found.unit, call.may_miss(found.typed)
    if found.typed.scale is not None:
        return Typed(total, kind, found.typed.scale, *ends)
    value = duck.binary("*", duck.cast(total, "DOUBLE"), duck.double(float(found.unit)))
    return Typed(value, kind, None, *ends)


SUM = AggregateFunction(private=_private, open=_open, person=_person, windowed=True)
