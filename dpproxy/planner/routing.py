"""Questions without a sound direct answer, led to the protected view that has one.

A statement about one protected table that is refused may be answerable from a view of that table's rows: then the hint
names it, and with ``dp.preview = view`` the statement is planned over the view instead. What has an answer of its own
is never led elsewhere: an order statistic of a view whose rows stay inside is farther off by far than the table's. Only
a view counts whose query shows the columns in question as they are, of all rows, and that is granted to the caller.
"""

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra.plan import Notice, Plan, PublicPlan
from dpproxy.analysis.scopes import Parameters
from dpproxy.config import settings as session
from dpproxy.planner.accept import accept
from dpproxy.planner.access import Context, table_name
from dpproxy.planner.exactly import Record, plan_for
from dpproxy.planner.open.protected_views import is_granted, shown_columns
from dpproxy.planner.query import plan_query
from dpproxy.planner.rewrites.qualifiers import without_schemas
from dpproxy.planner.rewrites.search_path import in_schemas
from dpproxy.policy.model import Exposure
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import Refusal
from dpproxy.values.work import limited
from dpproxy.views.materialized import Materialized

UNANSWERED = frozenset({"42501", "0A000", "PD002", "PD003"})
"""States of refusals that another source of rows can help."""
ATTEMPTS = 3
"""How often a statement is planned anew where a public table changes meanwhile."""

P = TypeVar("P", bound=Plan | PublicPlan)


def plan_routed(
    tree: exp.Expr, context: Context, parameters: Parameters, record: Record
) -> Plan | PublicPlan:
    """Plan a parsed statement, over a protected view where that was asked for. Raises a ``Refusal``."""
    with limited():
        return settled(lambda: _routed(in_schemas(tree, context), context, parameters, record), context)


def plan_unasked(tree: exp.Expr, context: Context, parameters: Parameters) -> None:
    """Refuse what would be refused if it were asked; looks at no view, and records nothing. Raises a ``Refusal``."""
    with limited():
        runnable(plan_query(accept(in_schemas(tree, context)), context, parameters), context)


def settled(make: Callable[[], P], context: Context) -> P:
    """What is planned from facts of one epoch; what did not settle has one that is gone, and no source runs it."""
    epoch = context.epoch()
    plan = make()
    for _ in range(ATTEMPTS):
        if (now := context.epoch()) == epoch:
            break
        epoch, plan = now, make()
    return replace(plan, epoch=epoch) if isinstance(plan, Plan) else plan


def _routed(tree: exp.Expr, context: Context, parameters: Parameters, record: Record) -> Plan | PublicPlan:
    try:
        return runnable(plan_for(accept(tree), context, parameters, record), context)
    except Refusal as refusal:
        found = _elsewhere(tree, context, parameters, record) if refusal.sqlstate in UNANSWERED else None
        if found is None:
            raise
        view, plan = found
        if session.preview(context.settings):
            if isinstance(plan, PublicPlan):
                return replace(plan, view=view.name)
            return replace(plan, notices=(routed_notice(view.name),))
        name = identifier(view.name)
        also = "" if refusal.hint is None else f" Or else: {refusal.hint}"
        refusal.hint = f"Protected view {name} answers it: ask FROM {name}, or SET dp.preview = view.{also}"
        raise


def _elsewhere(
    tree: exp.Expr, context: Context, parameters: Parameters, record: Record
) -> tuple[Materialized, Plan | PublicPlan] | None:
    """The view that answers a statement, and its plan there: a released one, else one whose rows stay inside."""
    for inside in (False, True):
        view = _view_for(tree, context, inside=inside)
        if view is None:
            continue
        plan = _planned(_over(without_schemas(tree), view, context), context, parameters, record)
        if plan is not None and isinstance(plan, Plan) == inside:
            return view, plan
    return None


def runnable(plan: P, context: Context) -> P:
    """The plan, whose exact stages the data source can run. Raises ``Unsupported``."""
    if isinstance(plan, Plan):
        for part in plan.parts:
            context.check(part.query, part.prepares)
    return plan


def _planned(
    tree: exp.Expr, context: Context, parameters: Parameters, record: Record
) -> Plan | PublicPlan | None:
    """The plan over the view, None where that is refused, too."""
    try:
        return runnable(plan_for(accept(tree), context, parameters, record), context)
    except Refusal:
        return None


def routed_notice(view: str) -> Notice:
    """What is told beside an answer of another source than the one that was named."""
    return Notice(
        f'answered from protected view "{view}", since dp.preview = view',
        detail="Its rows are what its method released, not those of the table.",
        hint=f"It is asked by its own name, too: {identifier(view)}.",
    )


def _view_for(tree: exp.Expr, context: Context, *, inside: bool) -> Materialized | None:
    """The granted view that has what a statement about one protected table asks; private ones before others."""
    tables = {n for t in tree.find_all(exp.Table) if _is_protected(n := table_name(t), context)}
    if len(tables) != 1 or tree.find(exp.CTE) is not None:
        return None
    [table] = tables
    asked = {c.name for c in tree.find_all(exp.Column) if not isinstance(c.this, exp.Star)}
    found = [
        view
        for view in context.views.values()
        if view.inside is inside
        and view.name == view.view
        and view.source == table
        and is_granted(view, context)
        and asked & _columns_of(table, context) <= shown_columns(view)
    ]
    return min(found, key=lambda v: (not v.private, -v.k, -len(v.columns), v.name), default=None)


def _is_protected(name: str, context: Context) -> bool:
    policy = context.policy.tables.get(name)
    granted = name in context.policy.granted_to(context.caller.roles)
    return policy is not None and policy.exposure is Exposure.PROTECTED and granted


def _columns_of(table: str, context: Context) -> set[str]:
    return {c.name for c in context.schema.tables.get(table, ())}


def _over(tree: exp.Expr, view: Materialized, context: Context) -> exp.Expr:
    """The statement with the view where the table stood, under the table's name."""

    def moved(node: exp.Expr) -> exp.Expr:
        if type(node) is not exp.Table or not _is_protected(table_name(node), context):
            return node
        copy = node.copy()
        copy.set("this", exp.to_identifier(view.name, quoted=True))
        copy.set("db", None)
        if not node.alias:
            copy.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        return copy

    return tree.transform(moved)
