"""BOOL_AND, BOOL_OR and EVERY: read off the number of rows that decide them.

One false row makes BOOL_AND false, one true row BOOL_OR true. Their released number decides: 1 or more is taken as
some, 0 or less as none, the likelier of the two. A few rows may so go unseen, and a few may be seen that are not
there, which is what hides a single one. Never NULL: over no rows BOOL_AND is true and BOOL_OR false, before noise.
"""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.calls import AggregateFunction, OpenCall, PersonCall, PrivateCall, distinct_operand
from dpproxy.aggregates.count import count_measure
from dpproxy.aggregates.filter import rows_where
from dpproxy.aggregates.model import Ends, Measure, Noise
from dpproxy.aggregates.operands import plain_operand
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed, boolean
from dpproxy.values.errors import TypeMismatch
from dpproxy.values.pgtypes import BOOL, SqlType


class Decided(Struct, frozen=True):
    """True where ``deciding`` rows (each present once) are there or, ``is_all``, are not."""

    deciding: Typed
    is_all: bool

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (count_measure(self.deciding),)

    @property
    def type(self) -> SqlType:
        return BOOL

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        operator = "<" if self.is_all else ">="
        return boolean(nodes.Binary(operator, columns[0], duck.integer(1)), nullable=False)

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:  # noqa: ARG002
        """Of the number of rows, which is what noise was added to."""
        return duck.double(noise.sd[0])

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        """0 is false and 1 true: both ends the same where the number's interval lies on one side of 1."""
        count = duck.cast(columns[0], "DOUBLE")
        half = duck.double(float(noise.half_width(confidence)[0]))
        some = (
            self._holds(f.minus(count, half)),  # surely some
            self._holds(f.plus(count, half)),  # perhaps some
        )
        return (self._none(some[1]), self._none(some[0])) if self.is_all else some

    def _holds(self, number: nodes.Expr) -> nodes.Expr:
        found = nodes.Binary(">=", number, duck.double(1.0))
        return duck.case([(found, duck.double(1.0))], duck.double(0.0))

    def _none(self, some: nodes.Expr) -> nodes.Expr:
        return f.minus(duck.double(1.0), some)

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        kind = "false" if self.is_all else "true"
        half = noise.half_width(confidence)[0]
        return Error(f"{noise.rows}", None, None, f"{half} of the {kind} rows that decide it")


def _decided(name: str, *, is_all: bool) -> AggregateFunction:
    def private(call: PrivateCall) -> Decided:
        value = compile_boolean(plain_operand(call.node, call.node.this), call.scope)
        decides = nodes.Not(value.sql) if is_all else value.sql
        return Decided(rows_where(call.condition, decides), is_all)

    def opened(call: OpenCall) -> Typed:
        value = compile_boolean(distinct_operand(call.node) or call.node.this, call.scope)
        return Typed(call.finish(duck.call(name, value.sql)), BOOL)

    def person(call: PersonCall) -> Typed:
        typed = call.value()
        if typed.type.oid != BOOL.oid:
            raise TypeMismatch(f"{name} takes a truth value", position=position(call.node))
        return Typed(call.made(name, typed.sql), BOOL, nullable=True)

    return AggregateFunction(private=private, open=opened, person=person)


BOOL_AND = _decided("bool_and", is_all=True)
BOOL_OR = _decided("bool_or", is_all=False)
