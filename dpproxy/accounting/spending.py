"""What was spent and is left of each declared limit: rows of dp.budgets and of SHOW PRIVACY BUDGETS."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct, field

from dpproxy.accounting.accounts import as_epsilon, limited
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import count, instant, tightest
from dpproxy.accounting.model import NANO, Account, Cost, Debit
from dpproxy.accounting.windows import Standing, users
from dpproxy.policy.model import Budget, Policy, TablePolicy
from dpproxy.policy.show import number
from dpproxy.policy.units import unit_table
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import typed_columns

OWN = typed_columns(
    "budget accountant limit_epsilon:numeric spent:numeric remaining:numeric "
    "user_limit:numeric user_spent:numeric user_remaining:numeric "
    "session_limit:numeric session_spent:numeric session_remaining:numeric "
    "ceiling_remaining:numeric max_epsilon:numeric default_epsilon:numeric limit_delta:numeric delta_spent:numeric "
    "refresh refills_at:timestamp more_like_last:int8 tables shares_releases:bool"
)
ALL = typed_columns(
    "name kind user accountant limit_epsilon:numeric spent:numeric remaining:numeric delta:numeric delta_spent:numeric "
    "user_limit:numeric session_limit:numeric max_epsilon:numeric default_epsilon:numeric "
    "refresh refills_at:timestamp shares_releases:bool"
)
Rows = list[tuple[object, ...]]


class Asker(Struct, frozen=True):
    """The user and session that rows are made for, with the cost of their last charged statement."""

    user: str
    session: str
    last: Cost = field(default_factory=Cost)


def ceilings(policy: Policy, budget: Budget) -> list[TablePolicy]:
    """The tables whose ceilings a budget's statements debit besides; of tables granted by their own name."""
    found: dict[str, TablePolicy] = {}
    for grant in policy.grants:
        table = policy.tables.get(grant.table)
        if grant.budget != budget.name or table is None or table.unit is None:
            continue
        try:
            owner = unit_table(policy, table.name)
        except Refusal:  # cannot be asked as it is declared
            continue
        if owner.ceiling is not None:
            found[owner.name] = owner
    return list(found.values())


def debits(policy: Policy, budget: Budget, asker: Asker) -> list[Debit]:
    """The accounts of a budget, of the asker in it and of their session, then the ceilings."""
    owners = ceilings(policy, budget)
    concentrated = bool(owners) and all(o.ceiling is not None and o.ceiling.concentrated for o in owners)
    delta = budget.delta if concentrated else None
    limits = (
        (Account.budget(budget.name), budget.limit, budget.delta),
        (Account.user(budget.name, asker.user), budget.user_limit, delta),
        (Account.session(asker.session, budget.name), budget.session_limit, delta),
    )
    return [
        *(limited(*each, budget.refresh, concentrated=concentrated) for each in limits),
        *(ceiling(owner) for owner in owners),
    ]


def own_rows(policy: Policy, ledger: Ledger, budgets: Sequence[Budget], asker: Asker) -> Rows:
    """Rows of dp.budgets: each budget with the asker's own accounts in it."""
    rows: Rows = []
    for budget in budgets:
        standings = ledger.standings(*debits(policy, budget, asker))
        total, user, session, *owners = standings
        tables = sorted({g.table for g in policy.grants if g.budget == budget.name})
        rows.append(
            (
                budget.name,
                _accountant(total),
                *_three(total),
                *_three(user),
                *_three(session),
                epsilon(tightest(owners)),
                number(budget.max_epsilon),
                number(budget.default_epsilon),
                number(budget.delta),
                number(total.spent.delta),
                _refresh(budget),
                _refills(total),
                count(standings, asker.last),
                ", ".join(tables),
                budget.shares,
            )
        )
    return rows


def all_rows(policy: Policy, ledger: Ledger | None) -> Rows:
    """Rows of SHOW PRIVACY BUDGETS: budgets, each with its users who have spent; then ceilings."""
    if ledger is None:
        return []
    paid = ledger.read(users)
    rows: Rows = []
    for name in sorted(policy.budgets):
        budget = policy.budgets[name]
        total, *_ = debits(policy, budget, Asker("", ""))
        concentrated = total.rho_limit is not None
        limits = budget.user_limit, budget.delta if concentrated else None
        theirs = [
            limited(account, *limits, budget.refresh, concentrated=concentrated)
            for account in paid
            if account.name == name
        ]
        first, *others = ledger.standings(total, *theirs)
        rows.append(_row(first, budget))
        rows += [_row(one, budget) for one in others]
    owners = [
        policy.tables[name] for name in sorted(policy.tables) if policy.tables[name].ceiling is not None
    ]
    return rows + [_row(one, None) for one in ledger.standings(*(ceiling(owner) for owner in owners))]


def _row(standing: Standing, budget: Budget | None) -> tuple[object, ...]:
    account = standing.debit.account
    is_total = budget is not None and not account.member
    own = budget if is_total else None
    delta = standing.debit.delta_limit
    if standing.debit.rho_limit is not None and delta is not None:
        delta *= 2
    return (
        account.name,
        account.kind.value,
        account.member or None,
        _accountant(standing),
        *_three(standing),
        None if account.member else number(delta),
        number(standing.spent.delta),
        number(None if own is None else own.user_limit),
        number(None if own is None else own.session_limit),
        number(None if own is None else own.max_epsilon),
        number(None if own is None else own.default_epsilon),
        None if budget is None else _refresh(budget),
        _refills(standing),
        None if own is None else own.shares,
    )


def ceiling(owner: TablePolicy) -> Debit:
    """The account of a declared ceiling, for everybody."""
    if owner.ceiling is None:
        raise AssertionError("a ceiling that is declared")
    found = owner.ceiling
    return limited(Account.ceiling(owner.name), found.epsilon, found.delta, concentrated=found.concentrated)


def _three(standing: Standing) -> tuple[Decimal | None, Decimal | None, Decimal | None]:
    """Limit, spent and left; under ZCDP spent is converted, and left is what one more statement may lose."""
    debit = standing.debit
    return (
        epsilon(debit.limit),
        epsilon(as_epsilon(standing.spent, debit)),
        epsilon(debit.left(standing.spent)),
    )


def _accountant(standing: Standing) -> str:
    return "BASIC" if standing.debit.rho_limit is None else "ZCDP"


def _refresh(budget: Budget) -> str:
    return "NEVER" if budget.refresh is None else f"EVERY {budget.refresh}"


def _refills(standing: Standing) -> datetime | None:
    return None if standing.refills is None else instant(standing.refills)


def epsilon(nano: int | None) -> Decimal | None:
    """Nano-epsilon as a decimal without trailing zeros."""
    if nano is None:
        return None
    value = Decimal(nano) / NANO
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()
