"""What a plan debits: the four accounts, the charge, and the key its released answer is found by."""

from collections.abc import Sequence
from fractions import Fraction

from dpproxy.accounting.canonical import digest
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Account, Charge, Cost, Debit, format_delta, format_epsilon, nano_limit
from dpproxy.plan import Caller, Notice, Part, Payer, Plan


def debits(payer: Payer, caller: Caller) -> tuple[Debit, ...]:
    """Session, user, budget and ceiling, with the limits in force."""
    user = nano_limit(payer.user_limit) if payer.user_limit is not None else None
    session = nano_limit(payer.session_limit) if payer.session_limit is not None else None
    return (
        Debit(Account.session(caller.session), session),
        Debit(Account.user(payer.budget, caller.user), user),
        Debit(Account.budget(payer.budget), nano_limit(payer.budget_limit), payer.budget_delta),
        Debit(Account.ceiling(payer.ceiling), nano_limit(payer.ceiling_limit), payer.ceiling_delta),
    )


def release_key(part: Part, values: Sequence[object], data_version: int) -> bytes:
    """Equal for parts whose released values can stand for each other, whatever was written around them.

    The exact stage with the values it takes, its keys, the boxes the noise was drawn for and the data version; not the
    epsilon: a more accurate release answers a less accurate request. A delta has to be the same.
    """
    keys = repr([(tuple(t.name for t in k.types), k.rows) for k in part.keys])
    return digest(
        "release", 2, part.exact, repr(tuple(values)), keys, part.box, part.factor, data_version, part.delta
    )


def charge(caller: Caller, plan: Plan, part: Part, key: bytes) -> Charge:
    """The ledger's entry for one part of a plan."""
    return Charge(
        who=caller.user,
        statement=digest("statement", 1, key, plan.answer),
        policy_version=plan.policy_version,
        data_version=plan.data_version,
        mechanism=f"{part.noise} x{part.factor}",
        nano=part.loss.nano,
        debits=debits(plan.payer, caller),
        release=key,
        label=plan.label,
        delta=part.delta,
    )


def _count(plan: Plan, left: int, left_delta: Fraction | None) -> int:
    """How many statements like this one are left."""
    count = left // plan.loss.nano
    return count if left_delta is None or not plan.delta else min(count, left_delta // plan.delta)


def _more(count: int) -> str:
    if count == 0:
        return "Nothing more at this price; a smaller dp.epsilon may fit."
    return f"About {count} more {'statement' if count == 1 else 'statements'} at this price."


def notice(cost: Cost, plan: Plan, caller: Caller, ledger: Ledger) -> Notice:
    """One line after an answer: its cost, and what the tightest limit leaves."""
    accounts = debits(plan.payer, caller)
    left = ledger.remaining(*accounts)
    remaining = "no limit" if left is None else f"{format_epsilon(left)} left"
    if cost == Cost():
        return Notice(
            f"cost 0, {remaining} in budget {plan.payer.budget}",
            detail="The answer was released before, or follows from the policy." if not plan.empty else None,
        )
    left_delta = ledger.remaining_delta(*accounts) if plan.delta else None
    more = None if left is None else _more(_count(plan, left, left_delta))
    delta = f" and delta {format_delta(cost.delta)}" if cost.delta else ""
    keys = "keys that enough units share" if plan.discovered else f"{plan.groups} keys answered"
    return Notice(
        f"cost {format_epsilon(cost.nano)} epsilon{delta}, {remaining} in budget {plan.payer.budget}",
        detail=f"{plan.label}; {keys}; unit: {plan.unit}.",
        hint=more,
    )
