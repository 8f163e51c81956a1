"""Confidential values in buckets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize.buckets import bucketed, described
from dpproxy.anonymize.model import Attribute, Categories, Interval, Table, Taxonomy
from dpproxy.anonymize.space import centroids, is_ordered
from tests.anonymize.worlds import TREE, worlds


@given(worlds(), st.integers(1, 6))
def test_buckets_have_no_gap_and_one_attribute_keeps_equal_values_together(
    world: tuple[Table, tuple[Attribute, ...]], count: int
) -> None:
    rows, attributes = world
    labels = bucketed(rows, attributes, count)
    assert sorted(set(labels)) == list(range(labels.max() + 1))
    assert labels.max() < count
    if len(attributes) == 1:
        assert len(set(zip(rows[:, 0], labels, strict=True))) == len(set(rows[:, 0]))
        assert labels.max() + 1 == min(count, len(set(rows[:, 0])))


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.integers(1, 6))
def test_ordered_values_are_cut_into_runs(values: list[int], count: int) -> None:
    labels = bucketed(np.array(values)[:, None], [Attribute("a", Interval(0, 20))], count)
    assert (np.diff(labels[np.argsort(values, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("domain", [Interval(0, 99), Categories(100, ordered=True), Categories(100)])
def test_distinct_values_have_equal_mass(domain: Interval | Categories) -> None:
    labels = bucketed(np.arange(100)[:, None], [Attribute("a", domain)], 4)
    assert np.bincount(labels).tolist() == [25] * 4


def test_a_heavy_value_has_its_own_bucket() -> None:
    values = np.array([0] * 10 + [1, 2, 3, 4])[:, None]
    for domain in (Interval(0, 4), Categories(5)):
        assert np.bincount(bucketed(values, [Attribute("a", domain)], 2)).tolist() == [10, 4]


def test_concepts_are_cut_along_their_tree() -> None:
    values = np.array([6, 3, 5, 4])[:, None]
    labels = bucketed(values, [Attribute("a", TREE)], 2)
    assert labels.tolist() == [1, 0, 1, 0]


def test_a_concept_with_two_parents_stands_once() -> None:
    diamond = Taxonomy(((), (0,), (0,), (1, 2)))
    labels = bucketed(np.arange(4)[:, None], [Attribute("a", diamond)], 4)
    assert labels.tolist() == [0, 1, 3, 2]


@given(worlds())
def test_buckets_are_described(world: tuple[Table, tuple[Attribute, ...]]) -> None:
    rows, attributes = world
    labels = bucketed(rows, attributes, 3)
    middles = centroids(rows, attributes, labels, labels.max() + 1)
    linked = described(rows, attributes, labels, middles)
    buckets = linked.pop("buckets")
    assert buckets.values.shape[1] == len(buckets.columns)
    assert buckets.values[:, -1].tolist() == np.bincount(labels).tolist()
    for column, attribute in enumerate(attributes):
        if is_ordered(attribute.domain):
            low = buckets.values[:, buckets.columns.index(f"{attribute.name}_from")]
            high = buckets.values[:, buckets.columns.index(f"{attribute.name}_to")]
            assert (low[labels] <= rows[:, column]).all()
            assert (rows[:, column] <= high[labels]).all()
            assert buckets.like[f"{attribute.name}_from"] == attribute.name
        else:
            values = linked.pop(f"{attribute.name}_values")
            assert values.values[:, 2].sum() == len(rows)
            assert {(a, b) for a, b, _ in values.values.tolist()} == set(
                zip(labels.tolist(), rows[:, column].tolist(), strict=True)
            )
    assert not linked
