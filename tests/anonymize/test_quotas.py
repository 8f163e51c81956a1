"""Quotas of buckets in groups."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize.quotas import apportioned, quotas, spread

FACTORS = st.fractions(1, 6, max_denominator=7)


def factor(counts: np.ndarray) -> Fraction:
    """The definition, bucket by bucket."""
    total, sizes = int(counts.sum()), counts.sum(axis=0)
    worst = Fraction(1)
    for group in counts.tolist():
        for q, n in zip(group, sizes.tolist(), strict=True):
            ratio = Fraction(q, sum(group)) / Fraction(n, total)
            worst = max(worst, ratio, 1 / ratio)
    return worst


def test_the_thesis_example() -> None:
    """N = 12, k = 4, t = 1.5 over three buckets."""
    found = quotas([4, 4, 4], Fraction(3, 2), 4)
    assert found is not None
    assert found.counts.tolist() == [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
    assert found.emphasis.tolist() == [0, 1, 2]
    assert found.t == 1.5


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), FACTORS, st.integers(2, 12))
def test_quotas_add_up_and_keep_within_t_or_there_are_none(sizes: list[int], t: Fraction, k: int) -> None:
    found = quotas(sizes, t, k)
    if found is None:
        return
    assert found.counts.sum(axis=0).tolist() == sizes
    assert found.counts.sum(axis=1).min() >= k
    assert factor(found.counts) <= t
    assert found.t == pytest.approx(float(factor(found.counts)))


@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from([Fraction(3, 2), Fraction(2), Fraction(7, 2)]))
def test_where_groups_and_buckets_divide_the_rows_the_own_share_is_what_the_others_leave(
    each: int, times: int, t: Fraction
) -> None:
    buckets = int(t) + 1
    k = buckets * each
    found = quotas([k * times] * buckets, t, k)
    assert found is not None
    other = ceil(each / t)
    own = k - (buckets - 1) * other
    if own <= each * t:
        assert found.counts.max(axis=1).tolist() == [max(own, other)] * (buckets * times)
        assert np.sort(found.counts, axis=1)[:, :-1].max() == other


def test_a_rare_bucket_makes_groups_larger() -> None:
    found = quotas([500, 3], Fraction(2), 5)
    assert found is not None
    assert found.counts.tolist() == [[167, 1], [166, 1], [167, 1]] or found.counts[:, 1].tolist() == [1, 1, 1]


@pytest.mark.parametrize(("sizes", "t", "k"), [([2, 2], 2, 5), ([52, 51], 1, 4)])
def test_what_does_not_exist_is_not_found(sizes: list[int], t: int, k: int) -> None:
    """Too few rows; equal shares of a prime number of rows."""
    assert quotas(sizes, Fraction(t), k) is None


@given(st.integers(0, 50), st.lists(st.integers(1, 20), min_size=1, max_size=6))
def test_apportioning_adds_up(total: int, weights: list[int]) -> None:
    parts = apportioned(total, weights)
    assert sum(parts) == total
    assert all(abs(p - total * w / sum(weights)) < 1 for p, w in zip(parts, weights, strict=True))


@given(st.integers(1, 9), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_spreading_is_even(groups: int, totals: list[int]) -> None:
    totals[-1] += -sum(totals) % groups
    counts = spread(np.array(totals), groups)
    assert counts.sum(axis=0).tolist() == totals
    assert set(counts.sum(axis=1)) == {sum(totals) // groups}
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
