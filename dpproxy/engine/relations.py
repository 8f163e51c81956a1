"""The relations of schema dp: the part of the budgets and of the ledger that a caller may see."""

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Final

from dpproxy.accounting import spending
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import instant, tightest
from dpproxy.accounting.listing import EntryFilter, Line, pages
from dpproxy.accounting.model import Cost, format_epsilon
from dpproxy.accounting.spending import Asker, epsilon
from dpproxy.algebra.plan import Caller
from dpproxy.policy.model import Budget, Policy
from dpproxy.policy.show import number
from dpproxy.values.errors import UndefinedObject
from dpproxy.values.pgtypes import Column, typed_columns

LEDGER = typed_columns(
    "sequence:int8 at:timestamp who kind what epsilon:numeric delta:numeric rho:numeric mechanism budget "
    "ceiling policy_version:int8 data_version:int8 reason"
)
OWN: Mapping[str, tuple[Column, ...]] = {"ledger": LEDGER, "budgets": spending.OWN}

Rows = list[tuple[object, ...]]
NOTHING = Cost()


def rows(
    policy: Policy, ledger: Ledger, caller: Caller, wanted: Collection[str], last: Cost = NOTHING
) -> dict[str, Rows]:
    """The rows of the ``wanted`` relations, empty for others; administrators see all, other callers their own.

    ``last`` is the cost of the session's last charged statement.
    """
    makers: Mapping[str, Callable[[], Rows]] = {
        "ledger": lambda: list(chain.from_iterable(ledger_rows(ledger, caller))),
        "budgets": lambda: spending.own_rows(
            policy, ledger, granted_budgets(policy, caller), Asker(caller.user, caller.session, last)
        ),
    }
    return {name: makers[name]() if name in wanted else [] for name in OWN}


def ledger_rows(
    ledger: Ledger,
    caller: Caller,
    conditions: tuple[tuple[str, object], ...] = (),
    *,
    is_descending: bool = False,
) -> Iterator[Rows]:
    """The rows of dp.ledger, a page at a time; of ``conditions`` the ledger makes what does not change their numbers.

    Whose entries they are comes first: a gap in the numbers would reveal statements of others.
    """
    listed = (
        EntryFilter(None, conditions, is_descending)
        if caller.is_admin
        else EntryFilter(caller.user, is_descending=is_descending, since=since(caller) or 0)
    )
    return ([_row(line) for line in page] for page in pages(ledger, listed))


def since(caller: Caller) -> int | None:
    """When the caller was added, in microseconds since 1970; None where that is not known."""
    return None if caller.since is None else (caller.since - _EPOCH) // timedelta(microseconds=1)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _row(line: Line) -> tuple[object, ...]:
    sequence, at, who, kind, what, nano, delta, rho, mechanism, *rest, note = line
    loss = _epsilon(nano), _rational(delta), _rational(rho)
    return (sequence, instant(at), who, kind, what, *loss, mechanism, *rest, note or None)


@lru_cache(maxsize=1024)
def _epsilon(nano: int) -> object:
    return epsilon(nano)


@lru_cache(maxsize=1024)
def _rational(text: str) -> object:
    """A delta or a rho as it is shown; most are the same few."""
    return number(Fraction(text))


def granted_budgets(policy: Policy, caller: Caller) -> list[Budget]:
    """The budgets that a caller may pay from, by name; all of them for an administrator."""
    names = {g.budget for g in policy.grants if g.role in caller.roles or caller.is_admin}
    if caller.is_admin:
        names |= set(policy.budgets)
    return [policy.budgets[name] for name in sorted(n for n in names if n is not None)]


def remaining(policy: Policy, ledger: Ledger, caller: Caller, wanted: str | None) -> str:
    """dp.budget_remaining: the epsilon that the tightest limit leaves, in the ``wanted`` budget or in each one."""
    asker = Asker(caller.user, caller.session)
    left = {
        budget.name: format_epsilon(tightest(ledger.standings(*spending.debits(policy, budget, asker))) or 0)
        for budget in granted_budgets(policy, caller)
        if wanted in (None, budget.name)
    }
    if len(left) == 1:
        return next(iter(left.values()))
    return ", ".join(f"{budget}={value}" for budget, value in left.items())


def setting_value(
    name: str, policy: Policy, ledger: Ledger, caller: Caller, wanted: str | None, last_cost: int | None
) -> str:
    """The value of a read-only setting: dp.budget_remaining or dp.last_cost."""
    if name == "dp.last_cost":
        return "" if last_cost is None else format_epsilon(last_cost)
    if name != "dp.budget_remaining":
        raise UndefinedObject(f'unrecognized configuration parameter "{name}"')
    return remaining(policy, ledger, caller, wanted)
