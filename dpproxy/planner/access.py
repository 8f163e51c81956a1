"""Who may ask what of which table, and which budget pays."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct, field
from sqlglot import exp

from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Caller, Drawn, Payer, Plan, PreparedTable, Settings
from dpproxy.analysis.position import position
from dpproxy.config import settings as session
from dpproxy.planner.refusals import similar
from dpproxy.policy.model import Budget, Exposure, Policy, Scalar, TablePolicy
from dpproxy.policy.units import unit_table
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.errors import (
    BoundsMissing,
    InvalidParameter,
    NotGranted,
    UndefinedObject,
    UndefinedTable,
    UnitLost,
)
from dpproxy.values.pgtypes import Schema
from dpproxy.views.materialized import Materialized
from udfs.privacy import NANO, Loss

DEFAULT_EPSILON = Fraction(1, 10)
LONGEST_WORK = 10.0
"""Seconds that the rows of one unit may take: every answer waits as long."""


OWN = ("", "public", "main")
"""What stands before the name of a table of the schema public."""
Facts = Callable[[nodes.Query], tuple[tuple[Scalar | None, ...], ...]]
"""Answers a statement over public tables."""


def _no_counts(_: Plan) -> float | None:
    return None


Estimates = tuple[Sequence[Sequence[object]], Mapping[int, Sequence[float]]]
"""Rows that are shown, and by the place of each noisy column its half-width in each row."""


def _no_earlier(_: Plan) -> Estimates | None:
    return None


def no_check(_: nodes.Query, __: Sequence[PreparedTable]) -> None:
    """Every source takes what is planned, unless it says that it does not; nobody asks one of a plan with holes."""


def _no_facts(_: nodes.Query) -> tuple[tuple[Scalar | None, ...], ...]:
    raise AssertionError("this planner has no public tables")


class Context(Struct, frozen=True):
    """What planning reads besides the statement: public facts only."""

    policy: Policy
    schema: Schema
    caller: Caller
    settings: Settings
    losses: tuple[Drawn, ...] | None = None
    """The stored releases that the plan's parts shall fit, instead of draws of their own."""
    facts: Facts = _no_facts
    prepared: dict[str, object] | None = None
    """None where rows are cut by each statement; otherwise what is known of prepared tables under this policy."""
    counted: Callable[[Plan], float | None] = _no_counts
    """The least number of rows of a plan's groups that was released to the caller; None where none was."""
    earlier: Callable[[Plan], Estimates | None] = _no_earlier
    """The rows of a plan's answer from what was released to the caller at any epsilon; None where that is not all."""
    snapshot: str = ""
    """Names the state of the data, and the secret that cuts rows; empty where nobody knows."""
    views: Mapping[str, Materialized] = field(default_factory=dict)
    """The protected views that are built, and the relations beside them, by name."""
    check: Callable[[nodes.Query, Sequence[PreparedTable]], None] = no_check
    """Refuses an exact stage that the data source cannot run."""
    apart: bool = False
    """Several quantiles of one argument are drawn one by one."""
    longest_work: float = LONGEST_WORK
    """Seconds that the rows of one unit may take at their worst."""
    epoch: Callable[[], int] = lambda: 0
    """How often the facts have changed."""


class Use(Struct, frozen=True):
    """A protected table that a statement reads, by its own name or by that of a view; the grant is on this name."""

    node: exp.Table
    table: str

    @property
    def granted(self) -> str:
        """What the statement names."""
        return table_name(self.node)


def table_name(node: exp.Table) -> str:
    """The one name of a table: its schema is part of it where that is not public."""
    return node.name if node.db in OWN else f"{node.db}.{node.name}"


def find_table(table: exp.Table, context: Context, *, inside: bool = False) -> TablePolicy:
    """A table as the caller may use it; ``inside`` a view no grant is needed.

    Errors: ``UndefinedTable`` alike for a missing, hidden and not granted one.
    """
    name = table_name(table)
    found = context.policy.tables.get(name)
    granted = inside or name in context.policy.granted_to(context.caller.roles)
    if found is None or not _visible(found, context, granted=granted):
        hint = _instead(table, context)
        raise UndefinedTable(f'relation "{name}" does not exist', hint=hint, position=position(table))
    if not granted and found.exposure is not Exposure.PUBLIC:
        raise not_granted("table", name, table, context)
    return found


def not_granted(
    kind: str, name: str, node: exp.Table, context: Context, *, is_paid: bool = True
) -> NotGranted:
    """The refusal of what exists and is granted to nobody who asks."""
    role, budget = (
        min(context.caller.roles, default="analyst"),
        min(context.policy.budgets, default="analysts"),
    )
    paid = f" WITH PRIVACY BUDGET {identifier(budget)}" if is_paid else ""
    payer = " with the budget that pays" if is_paid else ""
    return NotGranted(
        f'SELECT on {kind} "{name}" is granted to none of your roles',
        hint=f"Grant it{payer}: GRANT SELECT ON {table_text(name)} TO {identifier(role)}{paid};",
        position=position(node),
    )


def _instead(table: exp.Table, context: Context) -> str | None:
    """What to write in the place of a table that is not there, of what the caller may know of."""
    policy, roles = context.policy, context.caller.roles
    granted = policy.granted_to(roles)
    known = [n for n, one in policy.tables.items() if _visible(one, context, granted=n in granted)]
    found = min((n for n in known if n.rpartition(".")[2] == table.name), default=None)
    if found is not None:
        return f"It is in the schema {identifier(found.rpartition('.')[0] or 'public')} here: FROM {table_text(found)}."
    if (near := similar(table_name(table), known)) is not None:
        return f"Did you mean {table_text(near)}?"
    if granted or not roles:
        return None
    names = ", ".join(sorted(roles))
    return f"Nothing is granted to your roles ({names}) yet: ask an administrator to grant a table to one of them."


def is_known(name: str, context: Context) -> bool:
    """Whether a table or view of that name is there for the caller."""
    granted = name in context.policy.granted_to(context.caller.roles)
    table = context.policy.tables.get(name)
    if table is not None and _visible(table, context, granted=granted):
        return True
    return (granted or context.caller.is_admin) and (name in context.views or name in context.schema.views)


def _visible(table: TablePolicy, context: Context, *, granted: bool) -> bool:
    """A table a caller may know of: public, granted, or anything declared for an administrator."""
    if table.exposure is Exposure.HIDDEN or table.name not in context.schema.tables:
        return False
    return granted or table.exposure is Exposure.PUBLIC or context.caller.is_admin


def find_owner(tables: Sequence[Use], context: Context) -> TablePolicy:
    """The table whose rows are the privacy units of all these. Raises PD002 for people of two kinds."""
    owners = {unit_table(context.policy, t.table).name: t for t in tables}
    if len(owners) > 1:
        first, second, *_ = owners
        raise UnitLost(
            f'the statement is about two kinds of privacy unit, of "{first}" and of "{second}"',
            hint="Ask about the tables of one privacy unit at a time.",
            position=position(owners[second].node),
        )
    return unit_table(context.policy, tables[0].table)


def find_payer(tables: Sequence[Use], context: Context) -> tuple[Payer, Budget]:
    """The accounts that pay for protected tables of one unit.

    Errors: PD003 without a ceiling, PD002 for people of two kinds, 22023 where several budgets fit.
    """
    owner = find_owner(tables, context)
    at = position(tables[0].node)
    if owner.ceiling is None:
        raise BoundsMissing(
            f'table "{owner.name}" has no privacy ceiling: it cannot be asked',
            hint=f"An administrator declares one: ALTER TABLE {table_text(owner.name)} SET PRIVACY CEILING EPSILON 10;",
            position=at,
        )
    budget = _choose_budget(tables, context, at)
    own_limit = session.session_epsilon(context.settings)
    limits = [limit for limit in (budget.session_limit, own_limit) if limit is not None]
    payer = Payer(
        owner.name,
        owner.ceiling.epsilon,
        budget.name,
        budget.limit,
        budget.user_limit,
        min(limits, default=None),
        owner.ceiling.delta,
        budget.delta,
        owner.ceiling.concentrated,
        budget.refresh,
        budget.shares,
    )
    if payer.concentrated and not budget.delta:
        raise BoundsMissing(
            f'budget "{budget.name}" has no DELTA, which the accountant ZCDP of table "{owner.name}" needs',
            detail="Its limits hold with half of DELTA; the other half is for releases that cost delta themselves.",
            hint=f"CREATE PRIVACY BUDGET {identifier(budget.name)} LIMIT EPSILON {_exactly(budget.limit)} "
            "DELTA 0.000001;",
            position=at,
        )
    return payer, budget


def _choose_budget(tables: Sequence[Use], context: Context, at: int | None) -> Budget:
    """The budget that pays for all of the tables."""
    each = [_budgets(t.granted, context) for t in tables]
    without = next((t.granted for t, found in zip(tables, each, strict=True) if not found), None)
    if without is not None:
        raise BoundsMissing(
            f'table "{without}" is granted to you without a privacy budget',
            hint="An administrator grants it again, WITH PRIVACY BUDGET.",
            position=at,
        )
    names = sorted(set.intersection(*each))
    listed = " and ".join(f'"{name}"' for name in dict.fromkeys(t.granted for t in tables))
    if not names:
        raise BoundsMissing(
            f"no single budget pays for tables {listed}",
            hint="An administrator grants all of them with one budget; until then, ask one table at a time.",
            position=at,
        )
    wanted = session.budget(context.settings)
    if wanted is not None and wanted not in names:
        raise UndefinedObject(
            f'dp.budget "{wanted}" does not pay for table {listed}',
            hint=f"Budgets granted to you for it: {', '.join(names)}.",
        )
    if wanted is None and len(names) != 1:
        raise InvalidParameter(
            f"several budgets pay for table {listed}: {', '.join(names)}",
            hint=f"Choose one: SET dp.budget = '{names[0]}';",
            position=at,
        )
    return context.policy.budgets[wanted or names[0]]


def _budgets(table: str, context: Context) -> set[str]:
    return {
        g.budget
        for g in context.policy.grants
        if g.table == table and g.role in context.caller.roles and g.budget is not None
    }


def _exactly(epsilon: Fraction) -> str:
    return format_epsilon(int(epsilon * NANO))


def statement_loss(budget: Budget, context: Context) -> Loss:
    """The statement's total loss: dp.epsilon, else the budget's DEFAULT, else 0.1 or the MAX if that is less."""
    asked = session.epsilon(context.settings)
    if asked is None:
        asked = budget.default_epsilon
    if asked is None:
        asked = min(DEFAULT_EPSILON, budget.max_epsilon or DEFAULT_EPSILON)
    if budget.max_epsilon is not None and asked > budget.max_epsilon:
        raise InvalidParameter(
            f"epsilon {_exactly(asked)} is above the most one statement may use, {_exactly(budget.max_epsilon)}",
            hint=f"SET dp.epsilon = {_exactly(budget.max_epsilon)};",
        )
    return Loss.of(asked)


def statement_delta(budget: Budget, context: Context) -> Fraction:
    """The statement's total delta: dp.delta, else a hundredth of the budget's; 0 where neither is declared."""
    asked = session.delta(context.settings)
    return budget.default_delta if asked is None else asked
