"""A SELECT over one public table: the same expressions, exact and free."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean, compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Level, Parameters, Scope
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.errors import GroupingError, TypeMismatch, UndefinedColumn
from dpproxy.pgtypes import FLOATS, INT8, NUMERIC, TEXT, UNKNOWN, Column
from dpproxy.plan import Output, PublicPlan
from dpproxy.planner.access import Context, Source
from dpproxy.planner.answer import Item, is_star, items, ordering, ordinal, row_number
from dpproxy.planner.rows import unqualified


def plan_public(select: exp.Select, source: Source, context: Context, parameters: Parameters) -> PublicPlan:
    """Plan one accepted SELECT. Raises a ``Refusal``."""
    select = unqualified(select, source)
    table = _Table(source, context)
    rows = Scope(Level.RELEASED, table.leaf, parameters)
    listed = _expanded(select, table)
    keys = _group_keys(select, listed)
    grouped = bool(keys) or any(e.find(*AGGREGATES) for e in (*select.expressions, *_clauses(select)))
    scope = Scope(Level.RELEASED, _grouped_leaf(rows, keys), parameters) if grouped else rows
    values = [_finished(compile_expression(i.node, scope), scope, i.node) for i in listed]
    answer = exp.Select(
        expressions=[duck.named(v.sql, f"c{i}") for i, v in enumerate(values)],
        from_=exp.From(this=exp.Table(this=exp.to_identifier(source.policy.name, quoted=True))),
    )
    if select.args.get("where") is not None:
        answer.set("where", exp.Where(this=compile_boolean(select.args["where"].this, rows).sql))
    if keys:
        answer.set("group", exp.Group(expressions=[compile_expression(k, rows).sql for k in keys]))
    if select.args.get("having") is not None:
        answer.set("having", exp.Having(this=compile_boolean(select.args["having"].this, scope).sql))
    if select.args.get("distinct"):
        answer.set("distinct", exp.Distinct())
    if select.args.get("order") is not None:
        answer.set("order", exp.Order(expressions=ordering(select, listed, values, scope)))
    for name in ("limit", "offset"):
        clause = select.args.get(name)
        if clause is not None:
            answer.set(name, type(clause)(expression=duck.integer(row_number(clause, scope))))
    return PublicPlan(duck.text(answer), tuple(_output(i, v) for i, v in zip(listed, values, strict=True)))


def _output(item: Item, value: Typed) -> Output:
    return Output(Column(item.name, value.type), value.scale if value.is_number else None)


def _finished(value: Typed, scope: Scope, node: exp.Expr) -> Typed:
    return settle(value, TEXT, scope, node) if value.type is UNKNOWN else value


def _clauses(select: exp.Select) -> list[exp.Expr]:
    return [select.args[a] for a in ("having", "order") if select.args.get(a) is not None]


@dataclass(frozen=True, slots=True)
class _Table:
    source: Source
    context: Context

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.context.schema.tables[self.source.policy.name]

    def leaf(self, node: exp.Expr) -> Typed | None:
        if isinstance(node, exp.AggFunc):
            raise GroupingError("aggregate function calls may not stand here", position=position(node))
        if type(node) is not exp.Column:
            return None
        found = next((c for c in self.columns if c.name == node.name), None)
        if found is None:
            known = ", ".join(c.name for c in self.columns)
            raise UndefinedColumn(
                f'column "{node.name}" does not exist',
                hint=f"Columns of {self.source.policy.name}: {known}.",
                position=position(node),
            )
        return _read(found)


def _read(column: Column) -> Typed:
    raw: exp.Expr = duck.column(column.name)
    kind = column.type
    if kind.oid in FLOATS:
        return Typed(duck.cast(raw, "DOUBLE"), kind, None)
    if kind.oid == NUMERIC.oid and kind.scale:
        wide = duck.binary(
            exp.Mul, duck.cast(raw, f"DECIMAL(38, {kind.scale})"), duck.integer(10**kind.scale)
        )
        return Typed(duck.cast(wide, "HUGEINT"), kind, kind.scale)
    return Typed(raw, kind, 0)


def _expanded(select: exp.Select, table: _Table) -> tuple[Item, ...]:
    found: list[Item] = []
    for item in items(select):
        if is_star(item.node):
            found += [Item(exp.column(exp.to_identifier(c.name, quoted=True)), c.name) for c in table.columns]
        else:
            found.append(item)
    return tuple(found)


def _group_keys(select: exp.Select, listed: tuple[Item, ...]) -> list[exp.Expr]:
    group = select.args.get("group")
    keys = []
    for node in group.expressions if group is not None else ():
        target = node.unnest()
        if isinstance(target, exp.Literal) and not target.is_string:
            target = listed[ordinal(target, len(listed), "GROUP BY")].node.unnest()
        keys.append(target)
    return keys


def _grouped_leaf(rows: Scope, keys: list[exp.Expr]) -> Callable[[exp.Expr], Typed | None]:
    def leaf(node: exp.Expr) -> Typed | None:
        if node in keys:
            return compile_expression(node, rows)
        if type(node) in AGGREGATES:
            return _aggregate(node, rows)
        if type(node) is exp.Column:
            rows.leaf(node)
            raise GroupingError(
                f'column "{node.name}" must appear in the GROUP BY clause or be used in an aggregate function',
                position=position(node),
            )
        return None

    return leaf


def _aggregate(node: Any, rows: Scope) -> Typed:  # noqa: ANN401 - one of AGGREGATES
    if type(node) is exp.Count and isinstance(node.this, exp.Star):
        return Typed(exp.Count(this=exp.Star()), INT8, 0)
    value = _finished(compile_expression(node.this, rows), rows, node)
    return AGGREGATES[type(node)](node, value)


def _count(_: exp.Expr, value: Typed) -> Typed:
    return Typed(exp.Count(this=value.sql), INT8, 0)


def _sum(node: exp.Expr, value: Typed) -> Typed:
    if not value.is_number:
        raise TypeMismatch(f"sum of type {value.type.name} does not exist", position=position(node))
    if value.scale is None:
        return Typed(exp.Sum(this=value.sql), value.type, None)
    kind = INT8 if value.type.size in (2, 4) else NUMERIC
    return Typed(exp.Sum(this=duck.cast(value.sql, "HUGEINT")), kind, value.scale)


def _average(node: exp.Expr, value: Typed) -> Typed:
    if not value.is_number:
        raise TypeMismatch(f"avg of type {value.type.name} does not exist", position=position(node))
    kind = value.type if value.type.oid in FLOATS else NUMERIC
    return Typed(exp.Avg(this=as_double(value)), kind, None)


def _extreme(node: exp.Expr, value: Typed) -> Typed:
    return replace(value, sql=type(node)(this=value.sql), nullable=True, is_constant=False, presence=None)


AGGREGATES: dict[type[exp.Expr], Callable[[exp.Expr, Typed], Typed]] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Min: _extreme,
    exp.Max: _extreme,
}
