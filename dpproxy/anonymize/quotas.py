"""Quotas: how many records of each bucket a group takes, so that no bucket's share is off by more than a factor t.

With p_j the share of bucket j in all records, a group of K records has at least max(1, ceil(K p_j / t)) and at most
floor(K p_j t) records of bucket j. Within these bounds, each group takes as many as possible of one bucket, its
emphasis. The quotas of all groups add up to the sizes of the buckets: a transportation problem, whose vertices are
integral. Source: thesis ch.7. Its quotas k_i - t * sum(ceil(k_i p_j / t)) do not always add up, taken literally; here
the quota of the emphasis is the rest of the group.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Integers = npt.NDArray[np.int64]


class Quotas(Struct, frozen=True):
    """The quotas of all groups.

    Attributes:
        counts: shape (groups, buckets): records of each bucket in each group.
        emphasis: shape (groups,): the bucket that each group takes as many as possible of.
    """

    counts: Integers
    emphasis: Integers

    @property
    def t(self) -> float:
        """The largest factor, in either direction, between a bucket's share of a group and its share of all."""
        return float(max(_factor(self.counts, row) for row in np.unique(self.counts, axis=0)))


def _factor(counts: Integers, group: Integers) -> Fraction:
    sizes, total, members = counts.sum(axis=0), int(counts.sum()), int(group.sum())
    ratios = (Fraction(int(q) * total, members * int(n)) for q, n in zip(group, sizes, strict=True))
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def quotas(sizes: Sequence[int], t: Fraction, k: int) -> Quotas | None:
    """Return quotas for as many groups of at least ``k`` records as possible; None where no quotas fulfil the bounds.

    Args:
        sizes: records of each bucket, none empty.
        t: the largest factor allowed, at least 1.
        k: the least size of a group; sizes from there to twice as much are tried.
    """
    total, rarest = sum(sizes), min(sizes)
    # Every group has a record of the rarest bucket, so there are at most ``rarest`` groups.
    least = max(k, total // rarest)
    tried = set()
    for members in range(least, 2 * least + 1):
        groups = min(total // members, rarest)
        if groups in tried or not groups:
            continue
        tried.add(groups)
        found = _transport(sizes, t, groups)
        if found is not None:
            return found
    return None


def apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """Split ``total`` in proportion to ``weights`` by the largest remainder method; ties go to the first."""
    over = sum(weights)
    parts = [total * weight // over for weight in weights]
    rest = sorted(range(len(weights)), key=lambda place: (-(total * weights[place] % over), place))
    for place in rest[: total - sum(parts)]:
        parts[place] += 1
    return parts


def _transport(sizes: Sequence[int], t: Fraction, groups: int) -> Quotas | None:
    """Quotas for ``groups`` groups whose sizes differ by at most one; None where the problem has no solution.

    Groups of the same size and emphasis are one row of the problem: their total is solved for and then split.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - a fifth of a second
    from scipy.sparse import eye, kron, vstack  # noqa: PLC0415

    total, buckets = sum(sizes), len(sizes)
    members, larger = divmod(total, groups)
    each = apportioned(groups, sizes)
    extra = apportioned(larger, each)
    kinds = [(own, members + more, count) for own in range(buckets)
             for more, count in ((0, each[own] - extra[own]), (1, extra[own])) if count]  # fmt: skip
    bounds = []
    for _, size, count in kinds:
        for n in sizes:
            share = Fraction(size * n, total)
            bounds.append((count * max(1, ceil(share / t)), count * floor(share * t)))
    if any(low > high for low, high in bounds):
        return None
    own = np.zeros((len(kinds), buckets))
    own[np.arange(len(kinds)), [kind[0] for kind in kinds]] = -1
    sums = vstack(
        [kron(eye(len(kinds)), np.ones((1, buckets))), kron(np.ones((1, len(kinds))), eye(buckets))]
    )
    wanted = np.array([size * count for _, size, count in kinds] + list(sizes))
    solved = linprog(own.ravel(), A_eq=sums.tocsr(), b_eq=wanted, bounds=bounds, method="highs-ds")
    if not solved.success:
        return None
    totals = np.rint(solved.x).astype(np.int64).reshape(own.shape)
    counts = np.concatenate([spread(row, kind[2]) for row, kind in zip(totals, kinds, strict=True)])
    emphasis = np.repeat([kind[0] for kind in kinds], [kind[2] for kind in kinds])
    return Quotas(counts, emphasis)


def spread(totals: Integers, groups: int) -> Integers:
    """Split each bucket's total over groups of one size: no two groups differ by more than one in any bucket.

    Args:
        totals: shape (buckets,); their sum is a multiple of ``groups``.
        groups: how many groups.

    Returns:
        Shape (groups, buckets).
    """
    counts: Integers = np.tile(totals // groups, (groups, 1))
    # Remainders are dealt round-robin, bucket after bucket: every group gets the same number of records.
    left = totals % groups
    dealt = np.arange(left.sum()) % groups
    counts[dealt, np.repeat(np.arange(len(totals)), left)] += 1
    return counts
