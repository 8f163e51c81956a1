"""The relations of schema dp: what a caller may know of budgets and of the ledger."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import NANO, Account, format_epsilon, nano_limit
from dpproxy.pgtypes import INT8, NUMERIC, TEXT, TIMESTAMP, Column
from dpproxy.plan import Caller
from dpproxy.policy.model import Budget, Policy
from dpproxy.policy.show import number

LEDGER = (
    Column("sequence", INT8),
    Column("at", TIMESTAMP),
    Column("who", TEXT),
    Column("kind", TEXT),
    Column("what", TEXT),
    Column("epsilon", NUMERIC),
    Column("delta", NUMERIC),
    Column("mechanism", TEXT),
    Column("budget", TEXT),
    Column("ceiling", TEXT),
    Column("policy_version", INT8),
    Column("data_version", INT8),
)
BUDGETS = (
    Column("budget", TEXT),
    Column("limit_epsilon", NUMERIC),
    Column("spent", NUMERIC),
    Column("remaining", NUMERIC),
    Column("user_limit", NUMERIC),
    Column("user_spent", NUMERIC),
    Column("session_limit", NUMERIC),
    Column("session_spent", NUMERIC),
    Column("max_epsilon", NUMERIC),
    Column("default_epsilon", NUMERIC),
    Column("limit_delta", NUMERIC),
    Column("delta_spent", NUMERIC),
    Column("tables", TEXT),
)
OWN: Mapping[str, tuple[Column, ...]] = {"ledger": LEDGER, "budgets": BUDGETS}

Rows = list[tuple[object, ...]]


def rows(policy: Policy, ledger: Ledger, caller: Caller, wanted: Collection[str]) -> dict[str, Rows]:
    """Rows of the relations a statement reads; an administrator sees everybody's, others their own."""
    makers = {"ledger": lambda: _ledger(ledger, caller), "budgets": lambda: _budgets(policy, ledger, caller)}
    return {name: makers[name]() if name in wanted else [] for name in OWN}


def epsilon(nano: int | None) -> Decimal | None:
    """Nano-epsilon as a decimal without trailing zeros."""
    if nano is None:
        return None
    value = Decimal(nano) / NANO
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()


def _ledger(ledger: Ledger, caller: Caller) -> Rows:
    found: Rows = []
    entries = ledger.entries(None if caller.is_admin else caller.user)
    for place, entry in enumerate(entries, 1):  # a gap would tell that somebody else asked
        names = {posting.account.kind.value: posting.account.name for posting in entry.postings}
        found.append(
            (
                entry.sequence if caller.is_admin else place,
                datetime.fromtimestamp(entry.at // 1_000_000, UTC).replace(tzinfo=None),
                entry.who,
                entry.kind,
                entry.label,
                epsilon(entry.nano),
                number(Fraction(entry.delta)),
                entry.mechanism,
                names.get("budget"),
                names.get("ceiling"),
                entry.policy_version,
                entry.data_version,
            )
        )
    return found


def granted_budgets(policy: Policy, caller: Caller) -> list[Budget]:
    """The budgets a caller may pay from; all of them for an administrator."""
    names = {g.budget for g in policy.grants if g.role in caller.roles or caller.is_admin}
    if caller.is_admin:
        names |= set(policy.budgets)
    return [policy.budgets[name] for name in sorted(n for n in names if n is not None)]


def remaining(policy: Policy, ledger: Ledger, caller: Caller, wanted: str | None) -> dict[str, str]:
    """What is left to a caller in each of their budgets, or in the wanted one: of the tightest limit, in epsilon."""
    return {
        budget.name: _left(budget, ledger, caller)
        for budget in granted_budgets(policy, caller)
        if wanted in (None, budget.name)
    }


def _left(budget: Budget, ledger: Ledger, caller: Caller) -> str:
    limits = [
        (Account.budget(budget.name), budget.limit),
        (Account.user(budget.name, caller.user), budget.user_limit),
        (Account.session(caller.session), budget.session_limit),
    ]
    left = [nano_limit(limit) - ledger.spent(account) for account, limit in limits if limit is not None]
    return format_epsilon(max(0, min(left)))


def _budgets(policy: Policy, ledger: Ledger, caller: Caller) -> Rows:
    found: Rows = []
    for budget in granted_budgets(policy, caller):
        paid = ledger.paid(Account.budget(budget.name))
        tables = sorted({g.table for g in policy.grants if g.budget == budget.name})
        found.append(
            (
                budget.name,
                epsilon(nano_limit(budget.limit)),
                epsilon(paid.nano),
                epsilon(max(0, nano_limit(budget.limit) - paid.nano)),
                None if budget.user_limit is None else epsilon(nano_limit(budget.user_limit)),
                epsilon(ledger.spent(Account.user(budget.name, caller.user))),
                None if budget.session_limit is None else epsilon(nano_limit(budget.session_limit)),
                epsilon(ledger.spent(Account.session(caller.session))),
                None if budget.max_epsilon is None else epsilon(nano_limit(budget.max_epsilon)),
                None if budget.default_epsilon is None else epsilon(nano_limit(budget.default_epsilon)),
                number(budget.delta),
                number(paid.delta),
                ", ".join(tables),
            )
        )
    return found
