"""Who may ask what of which table, and which budget pays."""

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from dpproxy import settings as session
from dpproxy.analysis.position import position
from dpproxy.errors import (
    BoundsMissing,
    InvalidParameter,
    NotGranted,
    UndefinedObject,
    UndefinedTable,
    Unsupported,
)
from dpproxy.pgtypes import Schema
from dpproxy.plan import Caller, Payer, Settings
from dpproxy.planner.refusals import quoted
from dpproxy.policy.model import Budget, Exposure, Policy, TablePolicy
from dpproxy.policy.units import unit_table
from udfs.privacy import Loss

DEFAULT_EPSILON = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class Context:
    """What planning reads besides the statement: public facts only."""

    policy: Policy
    schema: Schema
    caller: Caller
    settings: Settings
    loss: Loss | None = None
    """The loss of a stored release that the plan shall fit, instead of the statement's own."""


@dataclass(frozen=True, slots=True)
class Source:
    """The one table of a statement, as the caller may use it; ``alias`` is the name its columns are qualified by."""

    policy: TablePolicy
    alias: str
    node: exp.Table


def find_source(select: exp.Select, context: Context) -> Source:
    """The statement's table. Raises ``UndefinedTable`` alike for a missing, hidden and not granted one."""
    clause = select.args.get("from_")
    if clause is None or type(clause.this) is not exp.Table:
        raise Unsupported("SELECT needs FROM one table here", position=position(select))
    table: exp.Table = clause.this
    name, schema = table.name, table.db or "public"
    found = context.policy.tables.get(name) if schema in ("public", "main") else None
    granted = any(g.table == name and g.role in context.caller.roles for g in context.policy.grants)
    if found is None or not _visible(found, context, granted=granted):
        raise UndefinedTable(f'relation "{table.name}" does not exist', position=position(table))
    if not granted and found.exposure is not Exposure.PUBLIC:
        raise NotGranted(
            f'SELECT on table "{name}" is granted to none of your roles',
            hint=f"GRANT SELECT ON {quoted(name)} TO <role> WITH PRIVACY BUDGET <budget>;",
            position=position(table),
        )
    alias = table.args.get("alias")
    return Source(found, alias.name if alias else name, table)


def _visible(table: TablePolicy, context: Context, *, granted: bool) -> bool:
    """A table a caller may know of: public, granted, or anything declared for an administrator."""
    if table.exposure is Exposure.HIDDEN or table.name not in context.schema.tables:
        return False
    return granted or table.exposure is Exposure.PUBLIC or context.caller.is_admin


def find_payer(source: Source, context: Context) -> tuple[Payer, Budget]:
    """The accounts that pay. Raises PD003 without a ceiling, 22023 where several budgets fit."""
    at = position(source.node)
    owner = unit_table(context.policy, source.policy.name)
    if owner.ceiling is None:
        raise BoundsMissing(
            f'table "{owner.name}" has no privacy ceiling: it cannot be asked',
            hint=f"An administrator declares one: ALTER TABLE {quoted(owner.name)} SET PRIVACY CEILING EPSILON 10;",
            position=at,
        )
    budget = _choose_budget(source, context, at)
    own_limit = session.session_epsilon(context.settings)
    limits = [limit for limit in (budget.session_limit, own_limit) if limit is not None]
    payer = Payer(
        owner.name,
        owner.ceiling.epsilon,
        budget.name,
        budget.limit,
        budget.user_limit,
        min(limits, default=None),
    )
    return payer, budget


def _choose_budget(source: Source, context: Context, at: int | None) -> Budget:
    names = sorted(
        {
            g.budget
            for g in context.policy.grants
            if g.table == source.policy.name and g.role in context.caller.roles and g.budget is not None
        }
    )
    if not names:
        raise BoundsMissing(
            f'table "{source.policy.name}" is granted to you without a privacy budget',
            hint="An administrator grants one: GRANT SELECT ON <table> TO <role> WITH PRIVACY BUDGET <budget>;",
            position=at,
        )
    wanted = session.budget(context.settings)
    if wanted is not None and wanted not in names:
        raise UndefinedObject(
            f'dp.budget "{wanted}" does not pay for table "{source.policy.name}"',
            hint=f"Budgets granted to you for it: {', '.join(names)}.",
        )
    if wanted is None and len(names) != 1:
        raise InvalidParameter(
            f'several budgets pay for table "{source.policy.name}": {", ".join(names)}',
            hint=f"Choose one: SET dp.budget = '{names[0]}';",
            position=at,
        )
    return context.policy.budgets[wanted or names[0]]


def statement_loss(budget: Budget, context: Context) -> Loss:
    """The statement's total loss: dp.epsilon, else the budget's DEFAULT, else 0.1 or the MAX if that is less."""
    if context.loss is not None:
        return context.loss
    asked = session.epsilon(context.settings)
    if asked is None:
        asked = budget.default_epsilon
    if asked is None:
        asked = min(DEFAULT_EPSILON, budget.max_epsilon or DEFAULT_EPSILON)
    if budget.max_epsilon is not None and asked > budget.max_epsilon:
        raise InvalidParameter(
            f"epsilon {float(asked):g} is above the most one statement may use, {float(budget.max_epsilon):g}",
            hint=f"SET dp.epsilon = {float(budget.max_epsilon):g};",
        )
    return Loss.of(asked)
