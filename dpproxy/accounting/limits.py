"""Checks whether accounts can pay, and builds the refusal that names the one that cannot."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import ROUND_FLOOR
from fractions import Fraction

from dpproxy.accounting.model import (
    MAX_NANO,
    NANO,
    NO_DELTA,
    AccountKind,
    Cost,
    Debit,
    format_delta,
    format_epsilon,
)
from dpproxy.accounting.windows import Standing
from dpproxy.values.errors import BudgetExceeded

_LEAST = NANO // 1000


class LimitReached(BudgetExceeded):
    """Names the first account that cannot pay; ``standing`` is its balance."""

    def __init__(self, standing: Standing, message: str, detail: str, hint: str | None) -> None:
        super().__init__(message, detail=f"{detail}{_refill(standing)}", hint=hint)
        self.standing = standing


def check(standing: Standing, asked: Cost) -> None:
    """Raise ``BudgetExceeded`` if the account cannot pay the cost ``asked``, possibly the sum of several releases."""
    debit, spent = standing.debit, standing.spent
    if standing.concentrated and debit.rho_limit is None:
        raise LimitReached(
            standing,
            f"{_name(debit)} was spent under the accountant ZCDP, which adds up as rho alone",
            "The accountant BASIC cannot tell what is left of it.",
            "An administrator declares it again with ACCOUNTANT ZCDP.",
        )
    if debit.rho_limit is not None:
        if spent.rho + asked.rho > debit.rho_limit:
            raise _exceeded(standing, asked)
    elif spent.nano + asked.nano > (MAX_NANO if debit.limit is None else debit.limit):
        raise _exceeded(standing, asked)
    if asked.delta and debit.delta_limit is not None and spent.delta + asked.delta > debit.delta_limit:
        raise _exceeded_delta(standing, asked.delta)


def tightest(standings: Sequence[Standing]) -> int | None:
    """The loss that all accounts allow one more release, in nano-epsilon; None if no account has a limit."""
    return min((left for s in standings if (left := s.debit.left(s.spent)) is not None), default=None)


def count(standings: Sequence[Standing], price: Cost) -> int | None:
    """How many more times all accounts can pay ``price``; None if no limit applies to it."""
    found: list[Fraction | int] = []
    for one in standings:
        debit, spent = one.debit, one.spent
        if debit.rho_limit is not None and price.rho:
            found.append((debit.rho_limit - spent.rho) / price.rho)
        elif debit.rho_limit is None and debit.limit is not None and price.nano:
            found.append(Fraction(debit.limit - spent.nano, price.nano))
        if debit.delta_limit is not None and price.delta:
            found.append((debit.delta_limit - spent.delta) / price.delta)
    return max(0, int(min(found))) if found else None


def instant(microseconds: int) -> datetime:
    """A time of the ledger, microseconds since 1970, as a datetime in UTC without a zone."""
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).replace(tzinfo=None)


def _exceeded(standing: Standing, asked: Cost) -> LimitReached:
    """The refusal with the limit, what is left of it and the cost asked for."""
    debit = standing.debit
    left = debit.left(standing.spent)
    left = max(0, MAX_NANO - standing.spent.nano) if left is None else left
    limit = f"Its limit is {format_epsilon(MAX_NANO if debit.limit is None else debit.limit)} epsilon"
    if debit.rho_limit is not None:
        delta = format_delta(2 * (debit.delta_limit or NO_DELTA))
        limit += f" with delta {delta} over all statements, which is rho {format_delta(debit.rho_limit, ROUND_FLOOR)}"
    return LimitReached(
        standing,
        f"{_name(debit)} has {format_epsilon(left)} epsilon left, "
        f"the statement asks for {format_epsilon(asked.nano)}",
        f"{limit}.",
        f"ask for less: SET dp.epsilon = {format_epsilon(left)}" if left >= _LEAST else None,
    )


def _exceeded_delta(standing: Standing, asked: Fraction) -> LimitReached:
    debit = standing.debit
    left = debit.delta_left(standing.spent) or NO_DELTA
    hint = "An administrator declares it with DELTA, of the budget and of the ceiling."
    if left:
        hint = f"ask for less: SET dp.delta = {format_delta(left, ROUND_FLOOR)}"
    return LimitReached(
        standing,
        f"{_name(debit)} has delta {format_delta(left, ROUND_FLOOR)} left, "
        f"the statement asks for {format_delta(asked)}",
        "Keys that are not public cost delta." if debit.delta_limit else "It has no DELTA.",
        hint,
    )


def _refill(standing: Standing) -> str:
    if standing.refills is None:
        return ""
    return f" It refills at {instant(standing.refills):%Y-%m-%d %H:%M} UTC."


def _name(debit: Debit) -> str:
    account = debit.account
    match account.kind:
        case AccountKind.SESSION:
            return "this session"
        case AccountKind.USER:
            return f'user "{account.member}" of privacy budget "{account.name}"'
        case AccountKind.BUDGET:
            return f'privacy budget "{account.name}"'
        case AccountKind.CEILING:
            return f'the privacy ceiling of "{account.name}"'
