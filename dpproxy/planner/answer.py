"""The answer stage: everything the analyst wrote over released values, as one SELECT on the released relation."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.average import Average, ReleasedAverage
from dpproxy.aggregates.count import Count
from dpproxy.aggregates.geometric import GeometricMean
from dpproxy.aggregates.joint import COUNT
from dpproxy.aggregates.order import OrderStatistic
from dpproxy.aggregates.posterior import Posterior
from dpproxy.aggregates.statistic import Statistic
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import Accuracy, Bound, Error, Possible, RowNoise
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean, compile_expression, list_of, whole_constant
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, null
from dpproxy.planner.open.limits import check_answer
from dpproxy.planner.open.relations import OpenColumn
from dpproxy.planner.release.ceiling import most_distinct
from dpproxy.planner.release.intervals import (
    Distance,
    among,
    as_sql,
    calls_in,
    distance,
    half_width,
    interval,
    vanishes,
)
from dpproxy.planner.release.scope import OF_RELEASED, AggregateCall, ReleasedScope
from dpproxy.planner.select_list import OF_INPUT, SelectItem, items, ordinal
from dpproxy.values.errors import AmbiguousColumn
from dpproxy.values.pgtypes import FLOAT8, TEXT, UNKNOWN

UNKNOWN_ERROR = "no interval is proved for it"
"""Said of a column of released values that no rule of ``intervals`` is for."""
UNPROVED = Accuracy(words=UNKNOWN_ERROR)
UNBOUNDED = duck.cast(nodes.Null(), "DOUBLE")
"""The ends of its interval."""


class AnswerQuery(Struct, frozen=True):
    """A SELECT over released relations: columns ``c0...``, then what it is ordered by."""

    columns: tuple[OpenColumn, ...]
    values: tuple[Typed, ...]
    order: tuple[nodes.Ordered, ...]
    having: nodes.Expr | None
    more: tuple[nodes.Expr, ...] = ()
    """Behind the values: how far each row's may be off, where that differs by row, and the counts of averages."""


def answer(
    select: exp.Select, scope: ReleasedScope, *, clamp: bool, intervals: bool, top: bool = False
) -> AnswerQuery:
    """Compile SELECT list, HAVING and ORDER BY over released values; with ``more`` where it is ``top``."""
    listed = items(select)
    having = select.args.get("having")
    scope = replace(
        scope, filtered=scope.selected or (having is not None and bool(calls_in(having, scope.calls)))
    )
    single, scope = scope, _simultaneous(select, listed, scope)
    raw = [compile_expression(i.node, scope.scope()) for i in listed]
    values = [settle(v, TEXT, scope.scope(), i.node) for i, v in zip(listed, raw, strict=True)]
    columns = [
        _column(n, i, v, single, _literal(written), clamp=clamp)
        for n, (i, v, written) in enumerate(zip(listed, values, raw, strict=True))
    ]
    if intervals:
        for place, item in enumerate(listed):
            _add_interval(place, item, scope, values, columns)
    noisy = [v.sql for i, v in zip(listed, values, strict=False) if calls_in(i.node, scope.calls)]
    scope.planning.noisy |= {tuple(noisy)} if noisy else set()
    check_answer(scope.groups, values, select)
    condition = compile_boolean(having.this, scope.scope()).sql if having is not None else None
    order = ordering(select, listed, values, scope.scope())
    more = _More(len(values))
    around = scope if top else _together(listed, single)
    is_chosen = scope.filtered or is_selected(select, listed, scope.calls)
    for index, item in enumerate(listed):
        node = item.bare
        accuracy = _accuracy(node, values[index], around, more, top=top)
        if top:
            columns[index] = replace(columns[index], accuracy=accuracy, possible=_possible(node, scope, more))
        else:
            chosen = is_chosen or vanishes(node)
            passed = _passed_on(columns[index], accuracy, scope.calls.get(node), chosen=chosen)
            columns[index] = replace(passed, mean=_mean(node, scope, more))
    return AnswerQuery(tuple(columns), tuple(values), tuple(order), condition, tuple(more.values))


Q = TypeVar("Q", nodes.Select, nodes.Combined)


def limits(select: exp.Expr, query: Q, scope: Scope) -> Q:
    """A query of our own with LIMIT and OFFSET, as whole numbers."""
    clauses = (select.args.get(name) for name in ("limit", "offset"))
    limit, offset = (None if c is None else duck.integer(row_number(c, scope)) for c in clauses)
    return replace(query, limit=limit, offset=offset)


def _literal(value: Typed) -> Typed | None:
    return value if value.type is UNKNOWN and value.parameter is None else None


def _column(
    index: int, item: SelectItem, value: Typed, scope: ReleasedScope, literal: Typed | None, *, clamp: bool
) -> OpenColumn:
    call = scope.calls.get(item.node.unnest())
    is_held = clamp and call is not None and isinstance(call.aggregate, Count)
    floor = 0 if is_held else None
    ceiling = most_distinct(item.node.unnest(), scope.rows, scope.planning) if is_held else None
    error = None
    if call is not None:
        error = later(_of, call.error(scope.confidence), duck.words(item.node.unnest()).lower())
    held = replace(value, sql=duck.column(f"c{index}"))
    within = call.aggregate.limits if call is not None and isinstance(call.aggregate, Average) else None
    return OpenColumn(item.name, held, floor, error, literal, ceiling=ceiling, within=within)


def _of(error: Error, aggregate: str) -> Error:
    return replace(error, aggregate=aggregate)


def is_selected(select: exp.Select, listed: Sequence[SelectItem], calls: Mapping[exp.Expr, object]) -> bool:
    """Whether released values decide which rows are shown: in HAVING, or in the order of a LIMIT."""
    having = select.args.get("having")
    if having is not None and calls_in(having, calls):
        return True
    if select.args.get("limit") is None and select.args.get("offset") is None:
        return False
    order = select.args.get("order")
    return any(calls_in(_ordered(e.this, listed), calls) for e in (order.expressions if order else ()))


def _ordered(node: exp.Expr, listed: Sequence[SelectItem]) -> exp.Expr:
    """What an entry of ORDER BY stands for."""
    if isinstance(node, exp.Literal) and not node.is_string:
        return listed[ordinal(node, len(listed), "ORDER BY")].node
    named = [i.node for i in listed if type(node) is exp.Column and not node.table and i.name == node.name]
    return named[0] if named else node


def _simultaneous(select: exp.Select, listed: Sequence[SelectItem], scope: ReleasedScope) -> ReleasedScope:
    """The scope; where released values decide which rows are shown, with intervals that hold for all rows at once.

    By the union bound over the rows that could be shown and their noisy columns.
    """
    if not (scope.selected or is_selected(select, listed, scope.calls)):
        return scope
    return _together(listed, scope)


def _together(listed: Sequence[SelectItem], scope: ReleasedScope) -> ReleasedScope:
    """The scope with intervals that hold for all rows at once."""
    most = scope.candidates * scope.planning.beside
    return replace(scope, confidence=together(scope.confidence, listed, scope.calls, most))


def together(
    confidence: Fraction, listed: Sequence[SelectItem], calls: Mapping[exp.Expr, object], groups: int
) -> Fraction:
    """The confidence of each interval with which all of all rows hold at once."""
    shown = (each for item in listed for each in item.parts)
    columns = sum(1 for each in shown if calls_in(each, calls))
    return among(confidence, max(1, columns) * later(max, 1, groups))


class _More(Struct):
    """Values behind the first ones."""

    first: int
    values: list[nodes.Expr] = field(default_factory=list)

    def place(self, value: nodes.Expr) -> int:
        """Where a value stands, once for equal ones."""
        if value not in self.values:
            self.values.append(value)
        return self.first + self.values.index(value)

    def add(self, value: nodes.Expr) -> int:
        """Where a value stands, one more even for equal ones."""
        self.values.append(value)
        return self.first + len(self.values) - 1


def _is_noisy(node: exp.Expr, value: Typed, scope: ReleasedScope) -> bool:
    """Whether it has an aggregate, or a subquery with a value that is released, too; a key has not."""
    if node in scope.keys:
        return False
    reads = node.find(exp.Query) is not None and value.sql.has(nodes.Release)
    return reads or bool(calls_in(node, scope.calls))


def _accuracy(
    node: exp.Expr, value: Typed, scope: ReleasedScope, more: _More, *, top: bool
) -> Accuracy | None:
    """How far a column may be off; None without noise, and of the ends of an interval."""
    if type(node) is exp.Dot or not _is_noisy(node, value, scope):
        return None
    call, words = scope.calls.get(node), UNKNOWN_ERROR
    found: Distance | None
    if call is None:
        found = worst = distance(node, scope, scope.confidence) if value.is_number else None
        told = _of_quantiles(node, scope)
        words = words if told is None else told
    elif isinstance(call.aggregate, Posterior):
        return Accuracy(words="the prior is believed; dp.ci_low and dp.ci_high bound the draw")
    elif top and not scope.apart and isinstance(call.aggregate, OF_RELEASED):
        return Accuracy(far=_placed(call, more).distance(scope.confidence))
    elif isinstance(call.aggregate, Average):
        found = worst = call.distance(scope.confidence)
    else:
        told = _ranks(call, scope)
        words = words if told is None else told
        found, worst = (
            half_width(call, scope.confidence, alike=alike) if value.is_number else None
            for alike in (False, True)
        )
    if scope.apart:
        place: int | None = more.add(null(FLOAT8).sql if found is None else as_sql(found))
    else:
        place = more.place(found) if isinstance(found, nodes.Expr) else None
    if found is None:
        return Accuracy(words=words)
    return Accuracy(half=None if isinstance(worst, nodes.Expr) else worst, place=place)


def _of_quantiles(node: exp.Expr, scope: ReleasedScope) -> str | None:
    """The error in words of a list of quantiles: that of the one farthest off."""
    calls = [scope.calls.get(each) for each in node.expressions] if type(node) is exp.Array else []
    errors = [
        call.error(scope.confidence)
        for call in calls
        if call is not None and isinstance(call.aggregate, OrderStatistic)
    ]
    if not errors or len(errors) < len(calls):
        return None
    return later(_farthest, *errors)


def _farthest(*errors: Error) -> str:
    return max(errors, key=lambda error: error.rows or 0.0).formula or UNKNOWN_ERROR


def _ranks(call: AggregateCall, scope: ReleasedScope) -> str | None:
    """The error in words, of a call whose error is one of ranks or truth; the formula of others needs their sums."""
    return None if isinstance(call.aggregate, OF_RELEASED) else call.error(scope.confidence).formula


def _placed(call: AggregateCall, more: _More) -> AggregateCall:
    """The call over its released numbers behind the columns of the answer."""
    columns = tuple(duck.column(f"c{more.place(column)}") for column in call.columns)
    law = None if call.law is None else duck.column(f"c{more.place(call.law)}")
    return replace(call, columns=columns, law=law)


def _passed_on(
    column: OpenColumn, accuracy: Accuracy | None, call: AggregateCall | None, *, chosen: bool
) -> OpenColumn:
    """What a query around may say of a column: the distances of all rows hold together, whichever it shows."""
    if accuracy is None:
        return column
    reach = None if accuracy.place is None else duck.column(f"c{accuracy.place}")
    passed = replace(accuracy, chosen=chosen, place=None, noise=_row_noise(call))
    return replace(column, accuracy=passed, reach=reach)


def _mean(node: exp.Expr, scope: ReleasedScope, more: _More) -> ReleasedAverage | None:
    """What is known of an average that is one draw in each row, which no other row has."""
    call = scope.calls.get(node)
    mean = None if call is None or scope.apart else call.mean
    if mean is None:
        return None
    return replace(mean, columns=tuple(duck.column(f"c{more.place(column)}") for column in mean.columns))


def _row_noise(call: AggregateCall | None) -> RowNoise | None:
    """Of a call; with its draw, where each row is one."""
    return None if call is None else RowNoise(*(call.draw or ()))


def _possible(node: exp.Expr, scope: ReleasedScope, more: _More) -> Possible | None:
    """What a call can be before noise: sums of the sign of what is added up, averages and moments of somebody."""
    call = scope.calls.get(node)
    aggregate = None if call is None else call.aggregate
    if isinstance(aggregate, Sum):
        low, high = aggregate.argument.typed.low, aggregate.argument.typed.high
        sign = 1 if low is not None and low >= 0 else -1 if high is not None and high <= 0 else 0
        return Possible(sign) if sign else None
    if call is not None and isinstance(aggregate, Average | GeometricMean):
        return Possible(count=more.place(call.columns[1]))
    if call is not None and isinstance(aggregate, Statistic):
        return Possible(count=more.place(call.columns[aggregate.function.parts.index(COUNT)]))
    return None


def _add_interval(
    place: int, item: SelectItem, scope: ReleasedScope, values: list[Typed], columns: list[OpenColumn]
) -> None:
    node = item.bare
    is_released = values[place].is_number or bool(calls_in(node, scope.calls))
    if type(node) is exp.Dot or not (is_released and _is_noisy(node, values[place], scope)):
        return
    ends = [_ends(each, scope) for each in item.parts]
    known = [each for each in ends if each is not None]
    if len(known) < len(ends):
        found: Sequence[Typed] = rounded_ends(UNBOUNDED, UNBOUNDED, None)
    elif type(node) is exp.Array:
        found = [list_of(node, side, scope.scope()) for side in zip(*known, strict=True)]
    else:
        [found] = known
    add_bounds(place, item.name, found, values, columns)


def _ends(node: exp.Expr, scope: ReleasedScope) -> tuple[Typed, Typed] | None:
    """The ends of a value's interval, which it is itself without noise; None where none is proved."""
    call, value = scope.calls.get(node), compile_expression(node, scope.scope())
    if not _is_noisy(node, value, scope):
        return value, value
    if (
        call is not None
        and isinstance(call.aggregate, OrderStatistic)
        and call.aggregate.has_ends(call.columns)
    ):
        return call.aggregate.ends(call.columns)
    found = interval(node, scope, scope.confidence) if value.is_number else None
    return None if found is None else rounded_ends(*found, value.scale)


def rounded_ends(low: nodes.Expr, high: nodes.Expr, scale: int | None) -> tuple[Typed, Typed]:
    """The ends of an interval with as many digits behind the point as its value has."""
    found = (_outwards(low, scale, "floor"), _outwards(high, scale, "ceil"))
    return Typed(found[0], FLOAT8, None), Typed(found[1], FLOAT8, None)


def add_bounds(
    place: int, name: str, ends: Sequence[Typed], values: list[Typed], columns: list[OpenColumn]
) -> None:
    """Both bounds of the column of this place and name, behind the others."""
    for above, (kind, value) in enumerate(zip(("ci_low", "ci_high"), ends, strict=True)):
        held = replace(value, sql=duck.column(f"c{len(values)}"))
        columns.append(OpenColumn(f"{name}_{kind}", held, bound=Bound(place, bool(above))))
        values.append(value)


def _outwards(end: nodes.Expr, scale: int | None, direction: str) -> nodes.Expr:
    """A bound, rounded away from its value."""
    if scale is None:
        return end
    if not scale:
        return duck.call(direction, end)
    unit = duck.double(10.0**scale)
    return duck.binary("/", duck.call(direction, duck.binary("*", end, unit)), unit)


def ordering(
    select: exp.Select, listed: Sequence[SelectItem], values: Sequence[Typed], scope: Scope
) -> list[nodes.Ordered]:
    """ORDER BY as PostgreSQL reads it: ordinals, names of the SELECT list, expressions."""
    order = select.args.get("order")
    result: list[nodes.Ordered] = []
    for entry in order.expressions if order is not None else ():
        descending = bool(entry.args.get("desc"))
        key = _order_key(entry.this, listed, values, scope, is_input=bool(entry.meta_get(OF_INPUT)))
        if isinstance(key, nodes.Number | nodes.Text):  # the engine would take a number for a place
            continue
        nulls_first = bool(entry.args.get("nulls_first"))
        result.append(nodes.Ordered(key, descending=descending, nulls_first=nulls_first))
    return result


def _order_key(
    node: exp.Expr, listed: Sequence[SelectItem], values: Sequence[Typed], scope: Scope, *, is_input: bool
) -> nodes.Expr:
    if isinstance(node, exp.Literal) and not node.is_string:
        return values[ordinal(node, len(listed), "ORDER BY")].sql
    if type(node) is exp.Column and not node.table and not is_input:
        named = [v for i, v in zip(listed, values, strict=False) if i.name == node.name]
        if len({duck.text(v.sql) for v in named}) > 1:
            raise AmbiguousColumn(f'ORDER BY "{node.name}" is ambiguous', position=position(node))
        if named:
            return named[0].sql
    return compile_expression(node, scope).sql


def row_number(clause: exp.Expr, scope: Scope) -> int:
    """The constant of a LIMIT or OFFSET; 0 while a parameter is still open. Raises 22023 or 0A000."""
    takes, negative = "LIMIT and OFFSET take a whole number", "LIMIT and OFFSET must not be negative"
    return whole_constant(clause.args["expression"], scope, takes, negative)
