"""A SELECT over one protected table becomes a plan; the order of the rules stands in ``plan_select``."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpproxy import settings as session
from dpproxy.aggregates.model import Aggregate, Measure
from dpproxy.aggregates.table import AGGREGATES, averaged_arguments
from dpproxy.analysis.expressions import compile_boolean
from dpproxy.analysis.keys import Key, check_size, group_key
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Parameters, Scope
from dpproxy.analysis.totality import check_total
from dpproxy.errors import GroupingError, NotGranted, TooComplex, Unsupported
from dpproxy.plan import KeyColumn, Output, Payer, Plan, PublicPlan
from dpproxy.planner.access import Context, Source, find_payer, find_source, statement_loss
from dpproxy.planner.allocate import Allocation, allocate
from dpproxy.planner.answer import answer_sql, is_star, items, ordinal
from dpproxy.planner.empty import has_no_rows, never_holds, row_outputs
from dpproxy.planner.exact import exact_sql
from dpproxy.planner.public import plan_public
from dpproxy.planner.released import ReleasedScope
from dpproxy.planner.rows import RowScope, unqualified
from dpproxy.policy.model import Unit
from udfs.privacy import NANO, Loss

MOST_AGGREGATES = 32
"""Aggregates of one statement: beyond, predicting the joint draw's error takes too long."""


@dataclass(frozen=True, slots=True)
class _Parts:
    keys: dict[exp.Expr, tuple[int, Key]]
    aggregates: dict[exp.Expr, Aggregate]
    measures: tuple[Measure, ...]


def plan_select(select: exp.Select, context: Context, parameters: Parameters) -> Plan | PublicPlan:
    """Plan one accepted SELECT. Raises a ``Refusal``; nothing is read or spent."""
    source = find_source(select, context)
    unit = source.policy.unit
    if unit is None:
        return plan_public(select, source, context, parameters)
    return _plan_protected(unqualified(select, source), source, unit, context, parameters)


def _plan_protected(
    select: exp.Select, source: Source, unit: Unit, context: Context, parameters: Parameters
) -> Plan:
    payer, budget = find_payer(source, context)
    loss = statement_loss(budget, context)
    rows = RowScope(source, context)
    if _wants_rows(select) and (has_no_rows(select) or never_holds(select)):
        _conditions(select, rows.scope(parameters))
        return _no_rows(
            row_outputs(select, source, rows, rows.scope(parameters)), payer, unit, source, context
        )
    _refuse_stars(select, source)
    vacuous = never_holds(select)
    parts = _parts(select, rows, parameters)
    conditions = _conditions(select, rows.scope(parameters))
    allocation = _allocate(parts, unit, loss)
    keys = [key for _, key in parts.keys.values()]
    exact = exact_sql(
        source.policy, (context.policy, context.schema), keys, parts.measures, conditions,
        allocation.groups if allocation else None,
    )  # fmt: skip
    check_total(exact.sql)
    mechanism = allocation.mechanism if allocation else None
    scope = ReleasedScope(
        parts.keys, parts.aggregates, parts.measures, mechanism,
        session.confidence(context.settings), source.policy.name, unit.max_rows,
        parameters, rows.declared,
    )  # fmt: skip
    answer = answer_sql(
        select, scope, clamp=session.clamp(context.settings), intervals=session.intervals(context.settings)
    )
    return Plan(
        exact=exact.sql,
        truncated=exact.truncated,
        release=release_sql(len(keys), parts.measures, None if vacuous else allocation),
        answer=answer.sql,
        keys=tuple(KeyColumn(k.column.type, k.values) for k in keys),
        mechanism=mechanism,
        loss=loss if mechanism else Loss(0),
        factor=allocation.factor if allocation else 0,
        unit=_unit_words(unit, source),
        outputs=answer.outputs,
        payer=payer,
        label=_label(parts, source),
        policy_version=context.policy.version,
        data_version=context.policy.data_version,
        empty=has_no_rows(select),
        vacuous=vacuous,
    )


def _wants_rows(select: exp.Select) -> bool:
    """Neither groups nor aggregates."""
    return not (select.args.get("group") or select.args.get("distinct") or _aggregate_nodes(select))


def _no_rows(outputs: tuple[Output, ...], payer: Payer, unit: Unit, source: Source, context: Context) -> Plan:
    """Rows that cannot exist: only their columns are told."""
    return Plan(
        exact="", truncated=False, release="", answer="", keys=(), mechanism=None, loss=Loss(0), factor=0,
        unit=_unit_words(unit, source), outputs=outputs, payer=payer, label=f"no rows of {source.policy.name}",
        policy_version=context.policy.version, data_version=context.policy.data_version, empty=True,
    )  # fmt: skip


def _conditions(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """WHERE as its conjuncts."""
    where = select.args.get("where")
    if where is None:
        return []
    condition = where.this.unnest()
    parts = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    return [compile_boolean(part, scope).sql for part in parts]


def _refuse_stars(select: exp.Select, source: Source) -> None:
    for item in select.expressions:
        if is_star(item):
            raise NotGranted(
                "rows of a protected table are not shown",
                hint=f"SELECT count(*) FROM {source.policy.name};",  # noqa: S608 - a hint
                position=position(item) or position(source.node),
            )


def _parts(select: exp.Select, rows: RowScope, parameters: Parameters) -> _Parts:
    keys = _group_keys(select, rows)
    check_size(_product(keys), None)
    nodes = _aggregate_nodes(select)
    averaged = averaged_arguments(nodes)
    aggregates = {n: AGGREGATES[type(n)](n, rows.scope(parameters), averaged) for n in nodes}
    if len(aggregates) > MOST_AGGREGATES:
        raise TooComplex(f"the statement has more than {MOST_AGGREGATES} different aggregates")
    measures = sorted({m for a in aggregates.values() for m in a.measures}, key=lambda m: m.sql)
    return _Parts({n: (i, k) for i, (n, k) in enumerate(keys.items())}, aggregates, tuple(measures))


def _product(keys: dict[exp.Expr, Key]) -> int:
    size = 1
    for key in keys.values():
        size *= len(key.values)
    return size


def _group_keys(select: exp.Select, rows: RowScope) -> dict[exp.Expr, Key]:
    group = select.args.get("group")
    listed = items(select)
    named = group.expressions if group is not None else ()
    if select.args.get("distinct"):
        if group is not None or select.args["distinct"].expressions or _aggregate_nodes(select):
            raise Unsupported(
                "DISTINCT is answered for a list of declared columns only", position=position(select)
            )
        named = [i.node for i in listed]
    keys: dict[exp.Expr, Key] = {}
    for node in named:
        target = node.unnest()
        if isinstance(target, exp.Literal) and not target.is_string:
            target = listed[ordinal(target, len(listed), "GROUP BY")].node.unnest()
        elif (
            type(target) is exp.Column
            and rows.context.schema.column(rows.source.policy.name, target.name) is None
        ):
            target = next((i.node.unnest() for i in listed if i.name == target.name), target)
        if isinstance(target, exp.AggFunc):
            raise GroupingError("aggregate functions are not allowed in GROUP BY", position=position(target))
        if type(target) is not exp.Column:
            raise Unsupported("GROUP BY takes declared columns", position=position(target))
        column, domain = rows.declared(target)
        keys[target] = group_key(column, domain, position(target))
    return keys


def _aggregate_nodes(select: exp.Select) -> list[exp.Expr]:
    """Every aggregate call outside WHERE and GROUP BY, once, outermost ones only."""
    found: dict[exp.Expr, None] = {}
    places = [*select.expressions, *(select.args[a] for a in ("having", "order") if select.args.get(a))]
    for place in places:
        for node in place.find_all(*AGGREGATES):
            if type(node) not in AGGREGATES:
                raise Unsupported(f"{type(node).__name__.lower()} is not supported", position=position(node))
            if node.find_ancestor(*AGGREGATES) is not None:
                raise GroupingError("aggregate function calls cannot be nested", position=position(node))
            found[node] = None
    return list(found)


def _allocate(parts: _Parts, unit: Unit, loss: Loss) -> Allocation | None:
    if not parts.measures:
        return None
    return allocate(tuple(m.width for m in parts.measures), unit, loss, grouped=bool(parts.keys))


def release_sql(keys: int, measures: Sequence[Measure], allocation: Allocation | None) -> str:
    """The release stage: every declared key, empty ones too, and one joint draw for each.

    Without an allocation nothing is drawn: there is no measure, or every one is 0 whatever the data.
    """
    names = "".join(f", k.k{i}" for i in range(keys))
    if allocation is None:
        zeros = ", ".join("0" for _ in measures)
        return f"SELECT k.o{names}, CAST([{zeros}] AS HUGEINT[]) AS v FROM keys AS k"  # noqa: S608 - numbers only
    sums = ", ".join(f"CAST(coalesce(e.m{i}, 0) AS HUGEINT)" for i in range(len(measures)))
    widths = ", ".join(f"CAST({w} AS HUGEINT)" for w in allocation.mechanism.widths)
    match = " AND ".join(f"k.k{i} IS NOT DISTINCT FROM e.k{i}" for i in range(keys)) or "TRUE"
    epsilon = (
        f"CAST({allocation.mechanism.nano // NANO}.{allocation.mechanism.nano % NANO:09d} AS DECIMAL(18,9))"
    )
    return (
        f"SELECT k.o{names}, dp_release([{sums}], [{widths}], {epsilon}) AS v "  # noqa: S608 - numbers only
        f"FROM keys AS k LEFT JOIN exact AS e ON {match}"
    )


def _unit_words(unit: Unit, source: Source) -> str:
    if unit.key is None:
        return f"one row of {source.policy.name}"
    return f"one {unit.key} of {source.policy.name}, at most {unit.max_rows} rows"


def _label(parts: _Parts, source: Source) -> str:
    calls = ", ".join(n.sql(dialect="postgres").lower() for n in parts.aggregates)
    names = ", ".join(k.column.name for _, k in parts.keys.values())
    return f"{calls or 'keys'}{f' by {names}' if names else ''} on {source.policy.name}"
