"""The scope of released values: group keys, aggregates, and the dp functions over aggregates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from dpproxy.aggregates.model import Aggregate, Measure, Noise
from dpproxy.analysis import duck
from dpproxy.analysis.keys import Key, group_key
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Level, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.errors import NotGranted, Refusal, UndefinedFunction, Unsupported
from dpproxy.pgtypes import FLOAT8, FLOATS, INTEGERS, NUMERIC, Column
from dpproxy.planner.refusals import HINTS, quoted
from dpproxy.policy.model import Domain
from udfs.mechanisms.staircase import Staircase


@dataclass(frozen=True, slots=True)
class ReleasedScope:
    """Resolves the parts of the SELECT list, HAVING and ORDER BY once the mechanism is chosen."""

    keys: dict[exp.Expr, tuple[int, Key]]
    aggregates: dict[exp.Expr, Aggregate]
    measures: tuple[Measure, ...]
    mechanism: Staircase | None
    confidence: Fraction
    table: str
    rows: int
    parameters: Parameters
    declared: Callable[[exp.Column], tuple[Column, Domain]] = field(repr=False)
    """Finds a column or refuses, to tell a wrong name from an unaggregated one."""

    def scope(self) -> Scope:
        """The leaves for the expression compiler."""
        return Scope(Level.RELEASED, self._leaf, self.parameters)

    def columns(self, aggregate: Aggregate) -> Sequence[exp.Expr]:
        """The released measures of a call, as columns of the released relation."""
        return [duck.column(f"m{i}") for i in self._indexes(aggregate)]

    def noise(self, aggregate: Aggregate) -> Noise:
        """The error of a call's measures under the chosen mechanism."""
        indexes = self._indexes(aggregate)
        if self.mechanism is None:
            raise AssertionError("an aggregate always has a mechanism")
        mechanism = self.mechanism
        sds = mechanism.noise_sd()

        def half_width(confidence: Fraction) -> tuple[int, ...]:
            halves = mechanism.half_width(confidence)
            return tuple(halves[i] for i in indexes)

        return Noise(tuple(sds[i] for i in indexes), half_width, self.rows)

    def _indexes(self, aggregate: Aggregate) -> list[int]:
        return [self.measures.index(m) for m in aggregate.measures]

    def _leaf(self, node: exp.Expr) -> Typed | None:
        if node in self.keys:
            index, key = self.keys[node]
            held, kind, longest = duck.column(f"k{index}"), key.type, key.typed.longest
            return Typed(held, kind, key.typed.scale, nullable=None in key.values, longest=longest)
        aggregate = self.aggregates.get(node)
        if aggregate is not None:
            return aggregate.value(self.columns(aggregate))
        if type(node) is exp.Dot:
            return self._dp_function(node)
        if isinstance(node, exp.AggFunc):
            name = type(node).__name__.lower()
            raise Unsupported(
                f"{name}() is not answered", hint=HINTS.get(type(node)), position=position(node)
            )
        if type(node) is exp.Column:
            raise self._unaggregated(node)
        return None

    def _unaggregated(self, node: exp.Column) -> NotGranted:
        """The hint is a statement that passes: grouped where the domain lists keys, else averaged or counted."""
        column, domain = self.declared(node)
        name, table = quoted(column.name), quoted(self.table)
        try:
            group_key(column, domain, None)
            hint = f"SELECT {name}, count(*) FROM {table} GROUP BY {name};"  # noqa: S608 - a hint
        except Refusal:
            is_number = column.type.oid in {*INTEGERS, *FLOATS, NUMERIC.oid}
            hint = f"SELECT {'avg' if is_number else 'count'}({name}) FROM {table};"  # noqa: S608 - a hint
        return NotGranted(
            f'column "{node.name}" is used outside an aggregate: rows are not shown',
            hint=hint,
            position=position(node),
        )

    def _dp_function(self, node: exp.Dot) -> Typed:
        call = node.expression
        name = str(call.this).lower() if isinstance(call, exp.Anonymous) else ""
        if node.this.name != "dp" or name not in DP_FUNCTIONS:
            raise UndefinedFunction(
                f"function {node.this.name}.{name or node.expression.sql_name().lower()}() does not exist",
                hint="The functions over an aggregate: dp.ci_low(x), dp.ci_high(x), dp.noise_sd(x).",
                position=position(node),
            )
        arguments = call.expressions
        aggregate = self.aggregates.get(arguments[0]) if len(arguments) == 1 else None
        if aggregate is None:
            raise UndefinedFunction(
                f"dp.{name} takes one aggregate call of this statement, such as dp.{name}(count(*))",
                position=position(node),
            )
        sql = DP_FUNCTIONS[name](aggregate, self)
        return Typed(sql, FLOAT8, None, nullable=False)


def _low(aggregate: Aggregate, scope: ReleasedScope) -> exp.Expr:
    return aggregate.interval(scope.columns(aggregate), scope.noise(aggregate), scope.confidence)[0]


def _high(aggregate: Aggregate, scope: ReleasedScope) -> exp.Expr:
    return aggregate.interval(scope.columns(aggregate), scope.noise(aggregate), scope.confidence)[1]


def _sd(aggregate: Aggregate, scope: ReleasedScope) -> exp.Expr:
    return aggregate.noise_sd(scope.columns(aggregate), scope.noise(aggregate))


DP_FUNCTIONS: dict[str, Callable[[Aggregate, ReleasedScope], exp.Expr]] = {
    "ci_low": _low,
    "ci_high": _high,
    "noise_sd": _sd,
}
