"""Records as points."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import taxonomy
from dpproxy.anonymize.model import Attribute, Categories, LatticeDomain
from dpproxy.anonymize.space import centroids, ends, is_ordered, size, space
from tests.anonymize.worlds import TREE

WIDEST = LatticeDomain(-(2**63), 2**63 - 1)


def test_kinds_of_domains() -> None:
    assert [
        is_ordered(d) for d in (LatticeDomain(0, 1), Categories(3), Categories(3, ordered=True), TREE)
    ] == [
        True,
        False,
        True,
        False,
    ]
    assert [size(d) for d in (LatticeDomain(-1, 1), Categories(4), TREE)] == [3, 4, 7]
    assert ends(LatticeDomain(-1, 5)) == (-1, 5)
    assert ends(Categories(3, ordered=True)) == (0, 2)


@pytest.mark.parametrize(("scale", "weight"), [("range", 0.1), ("none", 1.0), ("zscore", 0.5)])
def test_numbers_are_scaled(scale: str, weight: float) -> None:
    made = space(np.array([[5], [9]]), [Attribute("a", LatticeDomain(5, 15))], scale)
    assert made.steps.tolist() == [[0, 4]]
    assert made.weights.tolist() == [weight]


def test_an_attribute_that_does_not_vary_weighs_nothing() -> None:
    made = space(
        np.array([[5], [5]]), [Attribute("a", LatticeDomain(5, 5)), Attribute("b", LatticeDomain(0, 9))][:1]
    )
    assert made.weights.tolist() == [0]
    assert space(np.array([[5], [5]]), [Attribute("a", LatticeDomain(0, 9))], "zscore").weights.tolist() == [
        0
    ]


def test_the_widest_domain_keeps_its_sums_inside_64_bits() -> None:
    rows = np.full((1000, 1), WIDEST.high, dtype=np.int64)
    made = space(rows, [Attribute("a", WIDEST)])
    assert 0 < int(made.steps.sum()) == 1000 * int(made.steps[0, 0]) < 2**62
    assert made.steps[0, 0] * made.weights[0] == pytest.approx(1, rel=1e-12)


def test_distances_of_concepts_are_over_the_largest() -> None:
    made = space(np.array([[3, 1], [6, 2]]), [Attribute("a", TREE), Attribute("b", Categories(3))])
    assert made.starts.tolist() == [0, -1]
    assert made.tables.max() * made.units[0] == 1
    assert made.tables.reshape(7, 7).tolist() == taxonomy.distances(TREE).tolist()


@given(st.lists(st.integers(WIDEST.low, WIDEST.high), min_size=1, max_size=9))
def test_means_are_exact_to_the_nearest_step(values: list[int]) -> None:
    found = centroids(
        np.array([values]).T, [Attribute("a", WIDEST)], np.zeros(len(values), dtype=np.int64), 1
    )
    assert int(found[0, 0]) == (Fraction(sum(values), len(values)) + Fraction(1, 2)).__floor__()


def test_middles_of_categories_and_concepts() -> None:
    rows = np.array([[2, 3], [2, 4], [0, 3], [1, 6]])
    attributes = [Attribute("a", Categories(3)), Attribute("b", TREE)]
    found = centroids(rows, attributes, np.array([1, 1, 1, 0]), 2)
    assert found[0].tolist() == [1, 6]
    assert found[1].tolist() == [2, int(taxonomy.distances(TREE)[:, [3, 4, 3]].sum(axis=1).argmin())]
