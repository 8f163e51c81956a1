"""Aggregates of two numbers (y, x): what they read, on the rows where neither is NULL; REGR_COUNT and both averages."""

from collections.abc import Callable

from msgspec import Struct

from dpproxy.aggregates.argument import Argument, argument
from dpproxy.aggregates.average import Average
from dpproxy.aggregates.calls import AggregateFunction, OpenCall, PrivateCall
from dpproxy.aggregates.count import Count, count_measure, number_of_rows
from dpproxy.aggregates.filter import both, kept, present
from dpproxy.aggregates.joint import COUNT, XX, XY, YY, X, Y
from dpproxy.aggregates.model import Measure
from dpproxy.aggregates.operands import number, plain_operand
from dpproxy.aggregates.side import Side, products
from dpproxy.aggregates.statistic import MomentFunction, Statistic
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import FLOAT8


class Pair(Struct, frozen=True):
    """Two arguments on the rows where neither is NULL, the number of these rows, and the sum of products."""

    x: Argument
    y: Argument
    count: Measure
    product: Measure


def pair(call: PrivateCall) -> Pair:
    """The arguments of a call.

    Beside one that cannot be NULL an argument is left as it is, so that its sums are those of its own average. A
    product is NULL where a factor is: its factors need no condition. The order of the arguments changes no measure.
    """
    node, condition = call.node, call.condition
    operands = {Y: plain_operand(node, node.this), X: plain_operand(node, node.expression)}
    typed = {name: number(this, call.scope) for name, this in operands.items()}
    only = {
        name: kept(typed[name], both(condition, present(typed[other]))) for name, other in ((X, Y), (Y, X))
    }
    counts = [count_measure(only[n]) for n in [n for n in only if typed[n].nullable] or only]
    counted = min(counts, key=lambda m: duck.text(m.sql))
    first, second = sorted(typed, key=lambda n: duck.text(typed[n].sql))
    return Pair(
        argument(operands[X], only[X]), argument(operands[Y], only[Y]), counted,
        products(
            Side(argument(operands[first], kept(typed[first], condition))),
            Side(argument(operands[second], typed[second])),
        ),
    )  # fmt: skip


def of_pair(name: str, function: MomentFunction) -> AggregateFunction:
    """What is computed of the moments of both, by the engine's name."""

    def private(call: PrivateCall) -> Statistic:
        found = pair(call)
        x, y = Side(found.x), Side(found.y)
        named = {COUNT: found.count, X: x.total, Y: y.total, XX: x.squares, YY: y.squares, XY: found.product}
        return Statistic(function, {X: x, Y: y}, named, FLOAT8)

    return AggregateFunction(private=private, open=_by_engine(name))


def _by_engine(name: str) -> Callable[[OpenCall], Typed]:
    """What the engine calls not a number is NULL in PostgreSQL."""

    def opened(call: OpenCall) -> Typed:
        value = duck.call("nullif", _called(name, call), duck.cast(nodes.Text("nan"), "DOUBLE"))
        return Typed(value, FLOAT8, None)

    return opened


def _called(name: str, call: OpenCall) -> nodes.Expr:
    return call.finish(duck.call(name, call.double(call.node.this), call.double(call.node.expression)))


def _average(name: str, side: str) -> AggregateFunction:
    def private(call: PrivateCall) -> Average:
        found = pair(call)
        return Average(found.x if side == X else found.y, found.count)

    return AggregateFunction(private=private, open=_by_engine(name))


REGR_AVGX = _average("regr_avgx", X)
REGR_AVGY = _average("regr_avgy", Y)
REGR_COUNT = AggregateFunction(
    private=lambda call: Count(pair(call).count),
    open=lambda call: number_of_rows(_called("regr_count", call)),
)
