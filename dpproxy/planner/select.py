"""A SELECT over one protected table becomes a plan; the order of the rules stands in ``plan_select``."""

from dataclasses import dataclass
from math import prod

from sqlglot import exp

from dpproxy import settings as session
from dpproxy.aggregates.model import Aggregate, Measure
from dpproxy.aggregates.table import AGGREGATES, averaged_arguments
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean
from dpproxy.analysis.keys import Key
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Parameters, Scope
from dpproxy.analysis.totality import check_total
from dpproxy.errors import NotGranted, TooComplex
from dpproxy.plan import KeyColumn, Output, Payer, Plan, PublicPlan
from dpproxy.planner.access import Context, Source, find_payer, find_source, statement_loss
from dpproxy.planner.allocate import Allocation, allocate
from dpproxy.planner.answer import answer_sql, is_star
from dpproxy.planner.empty import has_no_rows, never_holds, row_outputs
from dpproxy.planner.exact import exact_sql
from dpproxy.planner.grouping import aggregate_nodes, group_keys
from dpproxy.planner.public import plan_public
from dpproxy.planner.refusals import quoted
from dpproxy.planner.release import release_sql
from dpproxy.planner.released import ReleasedScope
from dpproxy.planner.rows import RowScope, unqualified
from dpproxy.policy.model import Unit
from udfs.privacy import Loss

MOST_AGGREGATES = 32
"""Aggregates of one statement: beyond, predicting the joint draw's error takes too long."""

MOST_DRAWS = 500_000
"""Released values of one statement: they are drawn, stored and shown."""


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
        keys=tuple(KeyColumn(k.type, k.values) for k in keys),
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
    return not (select.args.get("group") or select.args.get("distinct") or aggregate_nodes(select))


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
                hint=f"SELECT count(*) FROM {quoted(source.policy.name)};",  # noqa: S608 - a hint
                position=position(item) or position(source.node),
            )


def _parts(select: exp.Select, rows: RowScope, parameters: Parameters) -> _Parts:
    keys = group_keys(select, rows)
    nodes = aggregate_nodes(select)
    averaged = averaged_arguments(nodes)
    aggregates = {n: AGGREGATES[type(n)](n, rows.scope(parameters), averaged) for n in nodes}
    if len(aggregates) > MOST_AGGREGATES:
        raise TooComplex(f"the statement has more than {MOST_AGGREGATES} different aggregates")
    groups = prod(len(k.values) for k in keys.values())
    if groups * len(aggregates) > MOST_DRAWS:
        raise TooComplex(
            f"the statement asks for {groups * len(aggregates)} released values, more than {MOST_DRAWS}",
            hint="Group by fewer or coarser columns, or ask for fewer aggregates.",
        )
    measures = sorted({m for a in aggregates.values() for m in a.measures}, key=lambda m: m.sql)
    return _Parts({n: (i, k) for i, (n, k) in enumerate(keys.items())}, aggregates, tuple(measures))


def _allocate(parts: _Parts, unit: Unit, loss: Loss) -> Allocation | None:
    if not parts.measures:
        return None
    return allocate(tuple(m.width for m in parts.measures), unit, loss, grouped=bool(parts.keys))


def _unit_words(unit: Unit, source: Source) -> str:
    if unit.key is None:
        return f"one row of {source.policy.name}"
    return f"one {unit.key} of {source.policy.name}, at most {unit.max_rows} rows"


def _label(parts: _Parts, source: Source) -> str:
    calls = ", ".join(duck.text(n, "postgres").lower() for n in parts.aggregates)
    names = ", ".join(k.name for _, k in parts.keys.values())
    return f"{calls or 'keys'}{f' by {names}' if names else ''} on {source.policy.name}"
