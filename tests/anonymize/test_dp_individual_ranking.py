"""Individual ranking: options, the sensitivity by brute force, the promise sampled."""

import os
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpproxy.anonymize import insensitive
from dpproxy.anonymize.axes import axis
from dpproxy.anonymize.dp_individual_ranking import DpIndividualRanking, middles
from dpproxy.anonymize.model import Attribute, InvalidOption, LatticeDomain, OptionValue, ViewRequest, silent
from tests.anonymize.audited import least_epsilon
from tests.anonymize.worlds import TREE
from tests.words import same_words
from udfs.privacy import NANO, Loss

PLANE = (Attribute("a", LatticeDomain(0, 100)), Attribute("b", LatticeDomain(0, 100)))
HUGE = 10**6


def request(attributes: tuple[Attribute, ...] = PLANE, **options: OptionValue) -> ViewRequest:
    return ViewRequest(attributes, {"epsilon": 1, **options})


def test_what_is_promised_is_known_before_a_row_is_read() -> None:
    build = DpIndividualRanking().check(request())
    assert build.loss == Loss(NANO)


@pytest.mark.parametrize("options", [{"epsilon": 0}, {"k": 1}, {"joint": "copula"}, {"scale": "none"}])
def test_options_are_checked(options: dict[str, OptionValue]) -> None:
    with pytest.raises(InvalidOption) as caught:
        DpIndividualRanking().check(request(**options))
    assert caught.value.option in options


def test_columns_have_an_order_and_are_not_too_many() -> None:
    with pytest.raises(InvalidOption):
        DpIndividualRanking().check(request((Attribute("a", TREE),)))
    with pytest.raises(InvalidOption):
        DpIndividualRanking().check(request(PLANE * 20, epsilon=Fraction(1, 100)))


def test_sums_of_ranks_move_by_the_width_at_most_together() -> None:
    """All neighbours of all tables of 5 values of 0..3, k = 2: L1 and L2 at most 3, and 3 is reached."""
    sizes = insensitive.sizes(5, 2)
    begins = np.cumsum(sizes) - sizes
    worst = 0.0
    for rows in product(range(4), repeat=4):
        found = [np.add.reduceat(np.sort(np.array([first, *rows])), begins) for first in range(4)]
        for one, other in product(found, found):
            assert np.abs(one - other).sum() <= 3
            worst = max(worst, float(np.sqrt(((one - other) ** 2).sum())))
    assert worst == 3


def test_without_noise_middles_are_those_of_the_ranks() -> None:
    values = np.array([90, 3, 1, 50, 52, 100, 95])
    found = middles(axis(LatticeDomain(0, 100)), values, insensitive.sizes(7, 2), HUGE * NANO, os.urandom)
    assert found.tolist() == [2, 51, 95]


def test_middles_rise_whatever_the_noise() -> None:
    values = np.arange(100) % 101
    for _ in range(20):
        found = middles(
            axis(LatticeDomain(0, 100)), values, insensitive.sizes(100, 5), NANO // 10, os.urandom
        )
        assert (np.diff(found) >= 0).all()
        assert 0 <= found.min() <= found.max() <= 100


@pytest.mark.parametrize("joint", ["tree", "none"])
@pytest.mark.parametrize("count", [0, 1, 60])
def test_any_table_is_built(joint: str, count: int) -> None:
    rows = np.column_stack([np.arange(count), np.arange(count)])
    found = DpIndividualRanking().check(request(joint=joint)).make(rows, os.urandom, silent)
    assert found.rows.shape[1] == 2


def test_wide_domains_and_little_epsilon_are_built() -> None:
    wide = (Attribute("a", LatticeDomain(-(2**60), 2**60)), Attribute("b", LatticeDomain(5, 5)))
    rows = np.array([[-(2**60), 5], [0, 5], [2**60, 5]] * 5)
    found = (
        DpIndividualRanking()
        .check(request(wide, epsilon=Fraction(1, 50)))
        .make(rows, os.urandom, silent)
        .rows
    )
    assert (np.abs(found[:, 0]) <= 2**60).all()
    assert (found[:, 1] == 5).all()


def test_the_tree_keeps_what_belongs_together() -> None:
    values = np.arange(2000) * 7919 % 101
    rows = np.column_stack([values, 100 - values])
    for joint, related in (("tree", True), ("none", False)):
        found = (
            DpIndividualRanking()
            .check(request(joint=joint, epsilon=100))
            .make(rows, same_words(), silent)
            .rows
        )
        assert (np.corrcoef(found.T)[0, 1] < -0.9) is np.bool_(related)


@pytest.mark.statistical
def test_the_promise_holds_on_neighbours() -> None:
    """One value at the far end: at epsilon 1 a bound above 1 is one time in 1,000."""
    line = (Attribute("a", LatticeDomain(0, 100)),)
    data = np.array([[0], [0], [1], [2], [100]])
    build = DpIndividualRanking().check(request(line, k=2))
    assert least_epsilon(build, data, data[:-1], 100) <= 1
    loose = DpIndividualRanking().check(request(line, k=2, epsilon=20))
    assert least_epsilon(loose, data, data[:-1], 100) > 1  # the audit sees what there is to see
