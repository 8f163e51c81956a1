"""Quantiles that SUGGEST released, as declared: they are shown beside answers, and nothing is computed from them."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

from dpproxy.policy.model import Counted, LimitQuantiles, Scalar
from dpproxy.policy.statements import Amount, Literal, SetColumnQuantiles, SetQuantiles
from dpproxy.values.errors import InvalidParameter

MOST_SHARES = 1000
Read = Callable[[Literal], Scalar | None]


def quantiles(
    change: SetQuantiles | SetColumnQuantiles, of: Counted, read: Read | None = None
) -> LimitQuantiles:
    """The quantiles as declared, their marks as ``read``; without it, as whole numbers.

    Raises:
        InvalidParameter: no percentages, not ascending, or too many.
    """
    shares = tuple((_percent(share), (read or _whole)(mark)) for share, mark in change.shares)
    found = [(share, mark) for share, mark in shares if mark is not None]
    position = change.within.position
    if len(found) < len(shares) or len(found) > MOST_SHARES:
        raise InvalidParameter(f"QUANTILES are at most {MOST_SHARES}, and none is NULL", position=position)
    if any(a[0] > b[0] or not a[1] < b[1] for a, b in pairwise(found)):  # type: ignore[operator]
        raise InvalidParameter("QUANTILES stand in ascending order", position=position)
    return LimitQuantiles(of, tuple(found), _percent(change.within))


def _percent(amount: Amount) -> Fraction:
    if not 0 <= amount.value <= 100:
        raise InvalidParameter(f"{amount.clause} are percentages", position=amount.position)
    return Fraction(amount.value)


def _whole(mark: Literal) -> int:
    if not isinstance(mark.value, int) or isinstance(mark.value, bool):
        raise InvalidParameter("QUANTILES are at whole numbers", position=mark.position)
    return mark.value
