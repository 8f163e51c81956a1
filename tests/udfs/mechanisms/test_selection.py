"""Selection of groups: its probabilities are private and the best there are, and its draws follow them."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from udfs.mechanisms.levels import ONE, ratio
from udfs.mechanisms.selection import SURE, Selection
from udfs.privacy import LEAST_NANO, NANO, InvalidMechanism, Loss
from udfs.randomness import Words

SMALL = [
    Selection(groups, nano, Fraction(delta))
    for groups in (1, 3)
    for nano in (NANO // 10, NANO, 5 * NANO)
    for delta in ("1/10", "1/100000", "1/10000000000")
]


def share(selection: Selection) -> tuple[Fraction, Fraction]:
    """What one group may cost: a factor of at most e**(epsilon / groups), and a delta."""
    factor = 1 / Fraction(ratio(Fraction(selection.nano, selection.groups)), ONE)
    limit = Context(prec=60).exp(Decimal(selection.nano) / NANO / selection.groups)
    assert Decimal(factor.numerator) / factor.denominator <= limit
    return factor, selection.delta / selection.groups


@pytest.mark.parametrize("selection", SMALL, ids=str)
def test_one_unit_changes_no_decision_by_more_than_is_allowed(selection: Selection):
    """Both decisions, both directions, every count up to one that is always kept."""
    factor, delta = share(selection)
    for count in range(selection.certain + 1):
        fewer, more = selection.keep_probability(count), selection.keep_probability(count + 1)
        assert fewer <= more <= factor * fewer + delta
        assert 1 - more <= 1 - fewer <= factor * (1 - more) + delta


@pytest.mark.parametrize("selection", SMALL, ids=str)
def test_no_other_rule_keeps_more(selection: Selection):
    """Each probability is within 2**-120 of the greatest that the one before allows, from 0 on."""
    factor, delta = share(selection)
    assert selection.keep_probability(0) == selection.keep_probability(-1) == 0
    best = Fraction(0)
    for count in range(1, min(selection.certain, 40) + 1):
        best = min(factor * best + delta, 1 - (1 - best - delta) / factor, Fraction(1))
        assert (
            0 <= best - selection.keep_probability(count) <= best * Fraction(1, 2**80) + Fraction(1, 2**120)
        )


def test_two_groups_together_cost_the_sum():
    """Every decision about two groups, one unit in both: the joint law against the whole loss."""
    selection = Selection(2, NANO, Fraction(1, 1000))
    factor = share(selection)[0] ** 2
    for first in range(selection.certain + 1):
        for second in range(selection.certain + 1):
            ps = [selection.keep_probability(count) for count in (first, second)]
            rs = [selection.keep_probability(count + 1) for count in (first, second)]
            for before, after in ((ps, rs), (rs, ps)):
                over = Fraction(0)
                for kept in range(4):
                    p, r = (
                        (x[0] if kept & 1 else 1 - x[0]) * (x[1] if kept & 2 else 1 - x[1])
                        for x in (before, after)
                    )
                    over += max(Fraction(0), p - factor * r)
                assert over <= selection.delta


def test_thresholds_by_number():
    selection = Selection(1, NANO, Fraction(1, 10**5))
    assert (selection.threshold, selection.certain) == (12, 23)
    assert selection.keep_probability(1) <= Fraction(1, 10**5)
    assert selection.keep_probability(11) < Fraction(1, 2) <= selection.keep_probability(12)
    assert selection.keep_probability(22) < 1 == selection.keep_probability(23)


def test_a_huge_epsilon_still_needs_delta_for_the_first():
    selection = Selection(1, 10**6 * NANO, Fraction(1, 10**8))
    assert selection.keep_probability(1) <= Fraction(1, 10**8)
    assert selection.keep_probability(2) > Fraction(1, 2)
    assert selection.certain == 3


@pytest.mark.parametrize(
    ("groups", "nano", "delta"),
    [
        (0, NANO, "1/10"),
        (1, LEAST_NANO - 1, "1/10"),
        (11, LEAST_NANO, "1/10"),
        (1, NANO, "0"),
        (1, NANO, "1"),
        (1, NANO, "-1/10"),
        (100, NANO, f"1/{10**23}"),
    ],
)
def test_what_is_out_of_range_is_refused(groups: int, nano: int, delta: str):
    with pytest.raises(InvalidMechanism):
        Selection(groups, nano, Fraction(delta))


def test_the_longest_table_is_built_in_seconds(work: Callable[[float], AbstractContextManager[None]]):
    selection = Selection(10_000, NANO, Fraction(1, 10**20))
    with work(10):  # ten times what it takes
        assert 200_000 < selection.threshold < selection.certain < 10**6


def test_loss_and_delta():
    selection = Selection(3, 123_456_789, Fraction(1, 10**6))
    assert selection.loss == Loss(123_456_789)
    assert selection.delta == Fraction(1, 10**6)


def test_a_decision_is_a_comparison_of_128_bits(scripted: Callable[..., Words]):
    selection = Selection(1, NANO, Fraction(1, 3))
    bound = int(selection.keep_probability(1) * SURE)
    first, second = divmod(bound, ONE)
    assert selection.keep([1], scripted(first - 1)).tolist() == [True]
    assert selection.keep([1], scripted(first + 1)).tolist() == [False]
    assert selection.keep([1], scripted(first, second - 1)).tolist() == [True]
    assert selection.keep([1], scripted(first, second)).tolist() == [False]


def test_no_units_and_enough_units(scripted: Callable[..., Words]):
    selection = Selection(1, NANO, Fraction(1, 10**5))
    none = [0, -3, -(10**30)]
    assert selection.keep(none, scripted(0, 1, 2**63, 0)).tolist() == [False] * 3
    enough = [23, 10**30, 2**63 - 1]
    assert selection.keep(enough, scripted(*[2**64 - 1] * 3)).tolist() == [True] * 3
    assert selection.keep([], scripted()).tolist() == []


def test_a_million_groups_are_decided_in_a_second(work: Callable[[float], AbstractContextManager[None]]):
    selection = Selection(1, NANO, Fraction(1, 10**5))
    counts = np.arange(10**6) % 30
    selection.keep(counts)
    with work(0.5):  # five times what it takes
        selection.keep(counts)


@pytest.mark.statistical
@pytest.mark.parametrize("selection", [s for s in SMALL if s.groups == 1], ids=str)
def test_decisions_follow_the_law(
    selection: Selection, fits: Callable[..., bool]
):  # false alarm 1e-6 each, 3 counts for each of 9
    for count in (selection.threshold - 1, selection.threshold, selection.threshold + 1):
        p, size = selection.keep_probability(count), 20_000
        kept = int(selection.keep(np.full(size, count), os.urandom).sum())
        if min(p, 1 - p) * size > 6:
            assert fits([kept, size - kept], [p, 1 - p])
        else:
            assert min(kept, size - kept) < 40  # expected at most 6: false alarm below 1e-18
