"""What a plan debits: the four accounts, the charge, and the key its released answer is found by."""

from collections.abc import Sequence
from functools import lru_cache

from dpproxy.accounting.accounts import as_epsilon, limited
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import count, tightest
from dpproxy.accounting.model import (
    NANO,
    Account,
    Charge,
    Cost,
    Debit,
    Kind,
    format_delta,
    format_epsilon,
)
from dpproxy.accounting.windows import Standing
from dpproxy.algebra.plan import Caller, Check, Notice, Part, Payer, Plan
from dpproxy.planner.descriptor import KIN, family, key_words, kin
from udfs.mechanisms import Gaussian

_LEAST = NANO // 1000
"""The least epsilon of a statement."""


@lru_cache(maxsize=512)
def debits(payer: Payer, caller: Caller, blocks: tuple[str, ...] = ()) -> tuple[Debit, ...]:
    """Session, user, budget, and ceiling or blocks of it, with the limits in force."""
    # Of a session or a user no delta is declared: concentrated losses are converted with the budget's.
    delta = payer.budget_delta if payer.concentrated else None
    own = (
        (Account.session(caller.session, payer.budget), payer.session_limit, delta),
        (Account.user(payer.budget, caller.user), payer.user_limit, delta),
        (Account.budget(payer.budget), payer.budget_limit, payer.budget_delta),
    )
    ceiling = payer.ceiling_limit, payer.ceiling_delta
    return (
        *(limited(*each, payer.refresh, concentrated=payer.concentrated) for each in own),
        *(
            limited(Account.ceiling(payer.ceiling, block), *ceiling, concentrated=payer.concentrated)
            for block in blocks or ("",)
        ),
    )


def price(plan: Plan) -> Cost:
    """What a plan costs at most: the sum over its parts."""
    return _together(plan.charged)


def check_together(parts: Sequence[Part], payer: Payer, caller: Caller, ledger: Ledger) -> None:
    """Raise ``BudgetExceeded`` where these parts do not all fit; of blocks, each pays for what is about it."""
    ledger.check(debits(payer, caller)[:3], _together(parts))
    for blocks in dict.fromkeys(part.blocks for part in parts):
        theirs = [p for p in parts if not (p.blocks and blocks) or set(p.blocks) & set(blocks)]
        ledger.check(debits(payer, caller, blocks)[3:], _together(theirs))


def _together(parts: Sequence[Part]) -> Cost:
    return sum((Cost.of(part.loss.nano, part.delta) for part in parts), Cost())


def release_key(part: Part, values: Sequence[object], data_version: int) -> bytes:
    """Equal for parts whose released values can stand for each other, whatever was written around them.

    The exact stage in its normal form with the values it takes, its keys, the boxes the noise was drawn for and the
    data version; not the epsilon: a more accurate release answers a less accurate request. A delta has to be the same.
    Releases that the same questions follow from begin alike.
    """
    rows = family(part, values, data_version)
    words = digest("release", 4, rows, *key_words(part), part.factor, part.delta)
    return kin(part, values, data_version) + words[KIN:]


def charge(caller: Caller, plan: Plan, part: Part, key: bytes) -> Charge:
    """The ledger's entry for one part of a plan."""
    return Charge(
        who=caller.user,
        statement=digest("statement", 1, key, plan.answer),
        policy_version=plan.policy_version,
        data_version=plan.data_version,
        mechanism=f"{part.noise} x{part.factor}",
        nano=part.loss.nano,
        debits=debits(plan.payer, caller, part.blocks),
        release=key,
        label=plan.label,
        delta=part.delta,
        concentrated=plan.payer.concentrated and isinstance(part.mechanism, Gaussian),
    )


def _more(count: int, left: int | None) -> str:
    if left is not None and left < _LEAST:
        return "Nothing more is answered but what follows from what was released."
    if count == 0:
        return "Nothing more at this price; a smaller dp.epsilon may fit."
    return f"About {count} more {'statement' if count == 1 else 'statements'} at this price."


def accounts(plan: Plan, caller: Caller) -> tuple[Debit, ...]:
    """All that pay for a plan."""
    return debits(plan.payer, caller, plan.blocks)


def notice(cost: Cost, plan: Plan, standings: Sequence[Standing]) -> Notice:
    """One line after an answer: its cost, and what the tightest limit leaves."""
    left = tightest(standings)
    remaining = "no limit" if left is None else f"{format_epsilon(left)} left"
    if cost == Cost():
        return Notice(
            f"cost 0, {remaining} in budget {plan.payer.budget}",
            detail=_free(plan),
        )
    more = count(standings, price(plan))
    rho = f" (rho {format_delta(cost.rho)})" if plan.payer.concentrated else ""
    delta = f" and delta {format_delta(cost.delta)}" if cost.delta else ""
    keys = "keys that enough units share" if plan.discovered else _answered(plan.groups)
    return Notice(
        f"cost {format_epsilon(cost.nano)} epsilon{rho}{delta}, {remaining} in budget {plan.payer.budget}",
        detail=f"{plan.label}; {keys}; unit: {plan.unit}.{_converted(standings, plan)}",
        hint=None if more is None else _more(more, left),
    )


def _free(plan: Plan) -> str | None:
    if plan.empty:
        return None
    if not plan.parts:
        return "One row from the policy: whether the table has rows is not looked at."
    return "The answer follows from what was released before, or from the policy."


def contradicted(check: Check, count: int) -> Notice:
    """What is said where draws are too far out for a prior."""
    of = "the draw contradicts" if check.groups == 1 else f"{count} of {check.groups} draws contradict"
    return Notice(
        f"{of} the prior {check.prior}",
        detail="Where the prior is wrong, the answer is drawn towards it. The draw itself is kept: without the prior, "
        "or with another one, it answers for nothing; dp.ci_low and dp.ci_high are about the draw alone.",
        sqlstate="01000",
    )


def _answered(groups: int) -> str:
    return f"{groups} key{'s' if groups > 1 else ''} answered"


def _converted(standings: Sequence[Standing], plan: Plan) -> str:
    """What the budget's rho is so far."""
    if not plan.payer.concentrated:
        return ""
    budget = next(one for one in standings if one.debit.account.kind is Kind.BUDGET)
    total = format_epsilon(as_epsilon(budget.spent, budget.debit))
    return f" The budget so far: epsilon {total} with delta {format_delta(plan.payer.budget_delta)}, by ZCDP."
