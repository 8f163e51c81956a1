"""COUNT(*), COUNT(x), COUNT(DISTINCT x) and COUNT_IF(condition)."""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct
from sqlglot import exp

from dpproxy.aggregates.calls import AggregateFunction, OpenCall, PersonCall, PrivateCall, distinct_operand
from dpproxy.aggregates.filter import kept, rows_where
from dpproxy.aggregates.model import Drawn, Ends, Measure, Noise
from dpproxy.aggregates.operands import plain_operand
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean, compile_expression, compile_shown
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import BOOL, INT8, TEXT, SqlType


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


def _private(call: PrivateCall) -> Count:
    node, scope = call.node, call.scope
    this = distinct_operand(node)
    if this is not None:
        value = settle(compile_expression(this, scope), TEXT, scope, this)
        is_unit = value.is_unit and isinstance(this.unnest(), exp.Column)
        return Count(distinct_measure(kept(value, call.condition), is_unit=is_unit))
    if node.this is None:
        raise UndefinedFunction("count() takes an argument", hint="Write count(*) or count(x).")
    if isinstance(node.this, exp.Star):
        return Count(count_measure(None if call.condition is None else rows_where(call.condition)))
    return Count(count_measure(kept(compile_expression(node.this, scope), call.condition)))


def number_of_rows(sql: nodes.Expr) -> Typed:
    """A count of the engine."""
    return Typed(sql, INT8, 0, Fraction(0), nullable=False)


def _open(call: OpenCall) -> Typed:
    this = call.node.this
    if this is None:
        raise UndefinedFunction(
            "count() takes an argument", hint="Write count(*) or count(x).", position=position(call.node)
        )
    sql = nodes.Star() if isinstance(this, exp.Star) else call.value().sql
    return number_of_rows(call.made("count", sql))


def _person(call: PersonCall) -> Typed:
    this, is_distinct = call.node.this, isinstance(call.node.this, exp.Distinct)
    if is_distinct:
        if len(this.expressions) != 1:
            raise Unsupported("count(DISTINCT ...) takes one expression here", position=position(call.node))
        value = compile_shown(this.expressions[0], call.scope).sql
    elif this is None or isinstance(this, exp.Star):
        is_plain = call.condition is None and call.over is None
        value = nodes.Star() if is_plain else duck.integer(1)
    else:
        typed = call.value()
        value = typed.presence or typed.sql
    count = call.made("count", value, distinct=is_distinct)
    if call.over is None:
        count = duck.cast(duck.call("least", count, duck.integer(call.most)), "BIGINT")
    return Typed(count, INT8, 0, Fraction(0), Fraction(call.most), nullable=False)


def _private_if(call: PrivateCall) -> Count:
    value = compile_boolean(plain_operand(call.node, call.node.this), call.scope)
    return Count(count_measure(rows_where(call.condition, value.sql)))


def _open_if(call: OpenCall) -> Typed:
    value = compile_boolean(call.node.this, call.scope)
    return number_of_rows(call.finish(duck.call("count_if", value.sql)))


COUNT = AggregateFunction(private=_private, open=_open, person=_person, windowed=True)
COUNT_IF = AggregateFunction(private=_private_if, open=_open_if, added=((INT8, BOOL),))
