"""Turn declared limits into account limits: sums of epsilon, or sums of rho under concentrated accounting."""

from fractions import Fraction

from dpproxy.accounting.model import NO_RHO, Account, Cost, Debit, nano_limit
from dpproxy.policy.interval import CalendarInterval
from udfs import conversion
from udfs.privacy import Concentrated, Loss


def limited(
    account: Account,
    epsilon: Fraction | None,
    delta: Fraction | None,
    refresh: CalendarInterval | None = None,
    *,
    concentrated: bool = False,
) -> Debit:
    """The debit of an account whose limit is (epsilon, delta); without epsilon the account has no limit.

    Concentrated: half of delta is for the conversion of the sum of rho, the other half for the deltas of the releases.
    A release that is (e, d)-DP is d-approximately e**2 / 2-zCDP; together they are (sum of d)-approximately
    (sum of rho)-zCDP, and so (epsilon, sum of d + delta / 2)-DP wherever the sum of rho is at most the greatest one
    whose epsilon, rounded up, is within the limit at delta / 2. Sources: Bun, Steinke, "Concentrated differential
    privacy", TCC 2016, sections 1.3 and 8; ``udfs.conversion``.
    """
    if epsilon is None:
        return Debit(account, refresh=refresh)
    nano = nano_limit(epsilon)
    if not concentrated:
        return Debit(account, nano, delta, None, refresh)
    half = (delta or Fraction(0)) / 2
    return Debit(account, nano, half, _most(nano, half), refresh)


def as_epsilon(spent: Cost, debit: Debit) -> int:
    """The privacy loss of an account so far, in nano-epsilon.

    Without a rho limit this is the plain sum; with one, the sum of rho converted at half of the limit's delta.
    """
    if debit.rho_limit is None or not debit.delta_limit:
        return spent.nano
    return conversion.epsilon(Concentrated.of(spent.rho), debit.delta_limit).nano


def _most(nano: int, delta: Fraction) -> Fraction:
    return conversion.within(Loss(nano), delta).rho if delta else NO_RHO
