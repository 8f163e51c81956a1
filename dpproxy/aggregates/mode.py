"""MODE: one of the declared values, the likelier the more rows have it, by the exponential mechanism.

The score of a value is its number of rows, which one row can only raise: see ``udfs/mechanisms/exponential.md`` on
moves that all have one sign. NULL and what is not declared are no candidates; over no rows every value is as likely.
"""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct
from sqlglot import exp

from dpproxy.aggregates.calls import AggregateFunction, OpenCall, PrivateCall, one_of
from dpproxy.aggregates.model import Ends, Measure, Noise
from dpproxy.aggregates.operands import plain_operand
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.keys import GroupKey
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed, null
from dpproxy.values.errors import UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import SqlType
from udfs.mechanisms.exponential import Exponential

SPREAD = 2
"""What one row moves a score by: it counts twice, as ``dp_choose`` is for scores that may rise and fall by one."""


class Mode(Struct, frozen=True):
    """The most frequent value of ``written`` among the rows of a FILTER; ``key`` has the values, once known."""

    written: exp.Expr
    type: SqlType
    condition: nodes.Expr | None
    key: GroupKey | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        return ()

    @property
    def values(self) -> GroupKey:
        """The candidates."""
        if self.key is None:
            raise AssertionError("the values of a mode are looked up before it is released")
        return self.key

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        key = self.values
        if not key.values:  # by what WHERE says
            return null(key.type)
        listed = duck.array(*(duck.constant(v) for v in key.values))
        sql: nodes.Expr = duck.call(
            "list_extract", listed, duck.cast(duck.binary("+", columns[0], duck.integer(1)), "BIGINT")
        )
        if key.in_utc:
            sql = duck.call("timezone", nodes.Text("UTC"), sql)
        return Typed(sql, key.type, key.typed.scale, nullable=False, longest=key.typed.longest)

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:
        del columns, noise
        raise _not_a_number("noise_sd")

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        del columns, noise, confidence
        raise _not_a_number("ci_low")

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        [rows] = noise.half_width(confidence)
        return Error("1 row", None, None, f"{rows} rows fewer than of the most frequent", rows=float(rows))


def _not_a_number(function: str) -> Unsupported:
    return Unsupported(
        f"dp.{function} of mode() is not answered: its error is one of rows",
        hint="EXPLAIN (PRIVACY) tells how many rows fewer than the most frequent value it may have.",
    )


def fewer(mechanism: Exponential, values: int, confidence: Fraction) -> int:
    """The most rows that the value lacks to the most frequent one, with that confidence, whatever the rows are."""
    return -(-mechanism.shortfall(values, confidence) // SPREAD)


def _private(call: PrivateCall) -> Mode:
    node = call.node
    if len(node.expression.expressions) != 1:
        raise UndefinedFunction("mode() is of one ORDER BY expression", position=position(node))
    written = plain_operand(node.this, node.expression.expressions[0].this)
    typed = compile_expression(written, call.scope)
    return Mode(written, typed.type, call.condition)


def _open(call: OpenCall) -> Typed:
    """Of values that are as frequent, the first one."""
    [entry] = call.node.expression.expressions
    value = call.operand(entry.this)
    order = nodes.Ordered(value.sql, descending=bool(entry.args.get("desc")))
    return one_of(value, call.finish(nodes.Call("mode", (value.sql,), order=(order,))))


MODE = AggregateFunction(private=_private, open=_open, ordered=True)
"""MODE() WITHIN GROUP (ORDER BY x)."""
