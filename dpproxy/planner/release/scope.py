"""The scope of released values: group keys, aggregates, and the dp functions over aggregates."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import cast

from msgspec import Struct, field
from sqlglot import exp

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.average import Average, ReleasedAverage
from dpproxy.aggregates.count import Count
from dpproxy.aggregates.geometric import GeometricMean
from dpproxy.aggregates.mode import Mode
from dpproxy.aggregates.model import Aggregate, Noise
from dpproxy.aggregates.order import OrderStatistic
from dpproxy.aggregates.prior import Refined
from dpproxy.aggregates.statistic import Statistic
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import is_open, later
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.spoken import construct
from dpproxy.analysis.typed import Typed, number
from dpproxy.planner.open.subqueries import Known, Subqueries
from dpproxy.planner.open.windows import window
from dpproxy.planner.planning import Planning
from dpproxy.planner.refusals import HINTS, asked_again, is_of_one_table
from dpproxy.planner.rows.fields import Identifier
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.planner.rows.sources import Env
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import GroupingError, NotGranted, Refusal, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import FLOAT8, FLOATS, INTEGERS, NUMERIC
from dpproxy.values.structs import PartlyCompared, PartlyShown
from udfs.mechanisms.averaged import Draw

OF_RELEASED = (Average, Statistic, GeometricMean)
"""Aggregates whose errors depend on what is released."""
OF_RANKS = (OrderStatistic, Mode, Refined)
"""Aggregates whose intervals take no noise."""


class AggregateCall(PartlyShown, PartlyCompared, Struct, frozen=True):
    """An aggregate call with its released measures, as columns of a released relation, and their error."""

    HIDDEN = UNCOMPARED = frozenset({"_errors", "_intervals"})
    aggregate: Aggregate
    columns: tuple[nodes.Expr, ...]
    noise: Noise
    law: nodes.Expr | None = None
    """Which law of the noise a row has, where there are several."""
    _errors: dict[Fraction, Error] = field(default_factory=dict)
    _intervals: dict[tuple[object, ...], tuple[nodes.Expr, nodes.Expr]] = field(default_factory=dict)

    def of(self, noise: Noise) -> "AggregateCall":
        """With that noise."""
        return AggregateCall(self.aggregate, self.columns, noise, self.law)

    def error(self, confidence: Fraction) -> Error:
        """What is predicted of the row that is farthest off, computed once."""
        found = self._errors.get(confidence)
        if found is None:
            found = self._errors[confidence] = later(
                type(self.aggregate).error, self.aggregate, self.noise, confidence
            )
        return found

    @property
    def _single(self) -> tuple[Draw, ...]:
        """The draws, where each number of a row is one that no other row has: as it is released by itself, it is."""
        draws = self.noise.draws
        if is_open(self.noise):
            return tuple(cast("Draw", draws[place]) for place in range(len(self.columns)))
        single = tuple(d for d in draws if isinstance(d, Draw) and d.terms == 1 and self.law is None)
        return single if len(single) == len(draws) else ()

    @property
    def draw(self) -> tuple[Draw, float] | None:
        """The draw of a count or sum that is one in each row, which no other row has, and the worth of its step."""
        match self._single:
            case (draw,) if isinstance(self.aggregate, Count | Sum):
                return draw, self.aggregate.weights[0]
        return None

    @property
    def mean(self) -> ReleasedAverage | None:
        """An average that is one draw in each row, which no other row has."""
        match self._single:
            case (total, number) if isinstance(self.aggregate, Average):
                return ReleasedAverage(self.aggregate, self.columns, self.noise, (total, number))
        return None

    def by_law(self, made: Callable[[Noise], nodes.Expr]) -> nodes.Expr:
        """What is made of the noise of each row."""
        return self._of_row([made(noise) for noise in self._laws])

    @property
    def _laws(self) -> tuple[Noise, ...]:
        return (self.noise,) if self.law is None else self.noise.laws

    def _of_row(self, found: Sequence[nodes.Expr]) -> nodes.Expr:
        """The one of its law, of what was found for each."""
        *others, last = found
        if self.law is None:
            return last
        same = (nodes.Binary("=", self.law, duck.integer(n)) for n in range(len(others)))
        return duck.case(list(zip(same, others, strict=True)), last)

    def distance(self, confidence: Fraction) -> nodes.Expr:
        """How far the value of a row may be off: a DOUBLE, of one that is ``OF_RELEASED`` numbers."""
        taken = self.aggregate
        if isinstance(taken, Average):
            return self.by_law(lambda n: duck.made(Average.distance, taken, self.columns, n, confidence))
        value, (low, high) = taken.value(self.columns).sql, self.interval(confidence)
        return f.greatest(f.minus(high, value), f.minus(value, low))

    def interval(self, confidence: Fraction) -> tuple[nodes.Expr, nodes.Expr]:
        """Ends (DOUBLE) of an interval around the value of a row, made once of the same columns."""
        asked = confidence, self.columns, self.law
        found = self._intervals.get(asked)
        if found is None:
            of, of_noise = self.aggregate, type(self.aggregate).interval
            if isinstance(of, OF_RANKS):
                ends = [of.interval(self.columns, self.noise, confidence)]
            else:
                ends = [later(of_noise, of, self.columns, noise, confidence) for noise in self._laws]
            low, high = (self._of_row([duck.held(each[place]) for each in ends]) for place in (0, 1))
            found = self._intervals[asked] = low, high
        return found


class ReleasedScope(Struct, frozen=True):
    """Resolves the parts of the SELECT list, HAVING and ORDER BY once the mechanism is chosen."""

    keys: Mapping[exp.Expr, Typed]
    """The group columns of the released relation; of a key that a grouping set leaves out, NULL."""
    calls: Mapping[exp.Expr, AggregateCall]
    groups: int
    confidence: Fraction
    rows: JoinedRows
    planning: Planning
    present: frozenset[exp.Expr]
    """The keys of this grouping set."""
    env: Env
    candidates: int = 1
    """How many groups may be shown: intervals that hold together hold for so many."""
    selected: bool = False
    """Which groups are shown follows from released values, whatever the SELECT says."""
    filtered: bool = False
    """Released values decide which groups window functions see."""
    apart: bool = False
    """It is one of several grouping sets whose errors differ: each row says its own."""
    known: Known = field(default_factory=dict)

    def scope(self) -> Scope:
        """The leaves for the expression compiler."""
        return Scope(ExpressionLevel.RELEASED, self._leaf, self.planning.parameters)

    def _leaf(self, node: exp.Expr) -> Typed | None:
        if node in self.keys:
            return self.keys[node]
        call = self.calls.get(node)
        if call is not None:
            return call.aggregate.value(call.columns)
        if type(node) is exp.Dot:
            return self._dp_function(node)
        if type(node) is exp.Grouping:
            return self._grouping(node)
        if type(node) is exp.Window:
            return window(node, self.scope())
        if isinstance(node, exp.AggFunc):
            raise Unsupported(f"{construct(node)} is not answered", hint=HINTS.get(type(node)))
        if type(node) is exp.Column:
            raise self._unaggregated(node)
        return Subqueries(self.planning, self.env, self._around, self.known).compiled(node, self.scope)

    def _around(self, node: exp.Column) -> Typed:
        """A group key, seen from a subquery."""
        meant = list(self.rows.candidates(node))
        for key, typed in self.keys.items():
            if type(key) is exp.Column and len(meant) == 1 and list(self.rows.candidates(key)) == meant:
                return typed
        raise self._unaggregated(node)

    def _grouping(self, node: exp.Grouping) -> Typed:
        """A bit for each argument, 1 where the grouping set leaves it out."""
        bits = 0
        for argument in node.expressions:
            if argument.unnest() not in self.keys:
                raise GroupingError(
                    "arguments to GROUPING must be grouping expressions of the associated query level",
                    position=position(argument),
                )
            bits = bits * 2 + (argument.unnest() not in self.present)
        return number(Fraction(bits))

    def _unaggregated(self, node: exp.Column) -> NotGranted:
        """The hint is a statement that passes: grouped where the domain lists keys, else averaged or counted."""
        field = self.rows.field(node)
        table = self.rows.scans[0].table
        is_bare = not node.table or is_of_one_table(node, table)
        name = identifier(node.name) if is_bare else f"{identifier(node.table)}.{identifier(node.name)}"
        try:
            field.key(None)
            hint = asked_again(f"{name}, count(*)", node, table, group=name)
        except Refusal:
            is_number = field.column.type.oid in {*INTEGERS, *FLOATS, NUMERIC.oid}
            hint = asked_again(f"{'avg' if is_number else 'count'}({name})", node, table)
        if isinstance(field, Identifier):
            field.read(node)
        return NotGranted(f'column "{node.name}" is used outside an aggregate: rows are not shown', hint=hint)

    def _dp_function(self, node: exp.Dot) -> Typed:
        call = node.expression
        name = str(call.this).lower() if isinstance(call, exp.Anonymous) else ""
        if node.this.name != "dp" or name not in DP_FUNCTIONS:
            raise UndefinedFunction(
                f"function {node.this.name}.{name or node.expression.sql_name().lower()}() does not exist",
                hint="The functions over an aggregate: dp.ci_low(x), dp.ci_high(x), dp.noise_sd(x).",
            )
        arguments = call.expressions
        found = self.calls.get(arguments[0]) if len(arguments) == 1 else None
        if found is None:
            raise UndefinedFunction(
                f"dp.{name} takes one aggregate call of this statement, such as dp.{name}(count(*))"
            )
        return Typed(DP_FUNCTIONS[name](found, self.confidence), FLOAT8, None, nullable=False)


def _low(call: AggregateCall, confidence: Fraction) -> nodes.Expr:
    return call.interval(confidence)[0]


def _high(call: AggregateCall, confidence: Fraction) -> nodes.Expr:
    return call.interval(confidence)[1]


def _sd(call: AggregateCall, confidence: Fraction) -> nodes.Expr:
    del confidence
    of, of_noise = call.aggregate, type(call.aggregate).noise_sd
    if isinstance(of, OF_RANKS):
        return of.noise_sd(call.columns, call.noise)
    return call.by_law(lambda noise: duck.made(of_noise, of, call.columns, noise))


DP_FUNCTIONS: dict[str, Callable[[AggregateCall, Fraction], nodes.Expr]] = {
    "ci_low": _low,
    "ci_high": _high,
    "noise_sd": _sd,
}
