"""Private boundaries: options, the promise sampled, and use."""

import os
from fractions import Fraction

import numpy as np
import pytest

from dpproxy.anonymize.dp_kdtree import DpKdtree
from dpproxy.anonymize.model import (
    Attribute,
    Categories,
    InvalidOption,
    LatticeDomain,
    OptionValue,
    ViewRequest,
    silent,
)
from tests.anonymize.audited import least_epsilon
from tests.anonymize.worlds import TREE
from tests.words import same_words
from udfs.privacy import Loss

PLANE = (Attribute("a", LatticeDomain(0, 100)), Attribute("b", LatticeDomain(0, 100)))
HALF = Fraction(1, 2)


def request(attributes: tuple[Attribute, ...] = PLANE, **options: OptionValue) -> ViewRequest:
    return ViewRequest(attributes, {"epsilon": 1, **options})


def test_what_is_promised_is_known_before_a_row_is_read() -> None:
    build = DpKdtree().check(request(epsilon=HALF))
    assert build.loss == Loss(500_000_000)
    assert build.delta == 0
    assert "0.5" in build.guarantee


@pytest.mark.parametrize(
    "options",
    [{"epsilon": 0}, {"k": 1}, {"k": "many"}, {"scale": "zscore"}, {"depth": 3}],
)
def test_options_are_checked(options: dict[str, OptionValue]) -> None:
    with pytest.raises(InvalidOption) as caught:
        DpKdtree().check(request(**options))
    assert caught.value.option in options


def test_steps_are_for_columns_with_an_order() -> None:
    with pytest.raises(InvalidOption):
        DpKdtree().check(request((Attribute("a", TREE),), scale="none"))


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), 1, 1000])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_any_table_is_built(epsilon: Fraction, count: int) -> None:
    attributes = (*PLANE, Attribute("c", TREE), Attribute("d", Categories(3)))
    rows = np.column_stack([np.arange(count), np.arange(count), np.arange(count) % 7, np.arange(count) % 3])
    found = DpKdtree().check(request(attributes, epsilon=epsilon)).make(rows, os.urandom, silent)
    assert found.rows.shape[1] == 4
    assert found.source is None
    assert not found.achieved


def test_wide_domains_and_single_values_are_built() -> None:
    wide = (Attribute("a", LatticeDomain(-(2**60), 2**60)), Attribute("b", LatticeDomain(5, 5)))
    rows = np.array([[-(2**60), 5], [0, 5], [2**60, 5]] * 50)
    for epsilon in (Fraction(1, 50), 1000):
        found = DpKdtree().check(request(wide, epsilon=epsilon)).make(rows, os.urandom, silent).rows
        assert (np.abs(found[:, 0]) <= 2**60).all()
        assert (found[:, 1] == 5).all()


def test_leaves_of_k_rows_are_larger() -> None:
    rows = np.column_stack([np.arange(2000) % 101, np.arange(2000) * 7 % 101])
    sizes = []
    for k in (5, 400):
        found = DpKdtree().check(request(k=k, epsilon=1000)).make(rows, os.urandom, silent)
        sizes.append(len(np.unique(found.rows, axis=0)))
    assert sizes[0] > 20 > sizes[1]


def test_few_cells_are_counted_one_by_one() -> None:
    attributes = (Attribute("a", TREE), Attribute("b", Categories(3)))
    rows = np.repeat(np.array([[3, 0], [4, 2]]), 500, axis=0)
    for expected in (None, 1000):
        build = DpKdtree().check(ViewRequest(attributes, {"epsilon": 1}, expected))
        assert build.loss == Loss(10**9)
        found = build.make(rows, same_words(), silent).rows
        assert (found[:, None, :] == rows[[0, -1]]).all(axis=2).any(axis=1).mean() > 0.9


@pytest.mark.statistical
def test_the_promise_holds_cell_by_cell() -> None:
    """One row of a rare value, there and not, among 60: at epsilon 1 a bound above 1 is one time in 1,000."""
    attributes = (Attribute("a", LatticeDomain(0, 3)),)
    data = np.append(np.zeros(60, dtype=np.int64), 3)[:, None]
    build = DpKdtree().check(ViewRequest(attributes, {"epsilon": 1}))
    assert least_epsilon(build, data, data[:-1], 3) <= 1
    loose = DpKdtree().check(ViewRequest(attributes, {"epsilon": 20}))
    assert least_epsilon(loose, data, data[:-1], 3) > 1  # the audit sees what there is to see


@pytest.mark.statistical
def test_the_promise_holds_on_neighbours() -> None:
    """One row far from all others, there and not: at epsilon 1 a bound above 1 is one time in 1,000."""
    data = np.array([[3, 3], [5, 9], [4, 2], [9, 9], [99, 98]])
    build = DpKdtree().check(request())
    assert least_epsilon(build, data, data[:-1], 100) <= 1
    loose = DpKdtree().check(request(epsilon=20))
    assert least_epsilon(loose, data, data[:-1], 100) > 1  # the audit sees what there is to see
