"""Clusters: sizes, determinism, and agreement with the plain form."""

import tracemalloc
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize.clusters import canonical, mdav, ranks, v_mdav
from dpproxy.anonymize.model import Attribute, LatticeDomain, Table
from dpproxy.anonymize.space import SCALES, space
from tests.anonymize import plain
from tests.anonymize.worlds import worlds

World = tuple[Table, tuple[Attribute, ...]]


@given(worlds(), st.integers(2, 7), st.sampled_from(SCALES))
def test_clusters_have_k_to_2k_minus_1_records_as_the_plain_form_has_them(world: World, k: int, scale: str):
    rows, attributes = world
    k = min(k, len(rows))
    made = space(rows, attributes, scale)
    labels = mdav(made, k)
    sizes = np.bincount(labels)
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
    assert labels.tolist() == plain.mdav(made, k).tolist()


@given(worlds(), st.integers(2, 7), st.sampled_from([0.2, 1.1, 3.0]), st.sampled_from(SCALES))
def test_clusters_of_variable_size_are_those_of_the_plain_form(world: World, k: int, gain: float, scale: str):
    rows, attributes = world
    k = min(k, len(rows))
    made = space(rows, attributes, scale)
    labels = v_mdav(made, k, gain)
    assert np.bincount(labels).min() >= k
    assert labels.tolist() == plain.v_mdav(made, k, gain).tolist()


def test_clusters_of_variable_size_follow_the_data():
    """Forty clouds of 3 to 5 rows, far from each other: each becomes one cluster, which MDAV of 3 cannot."""
    inside = np.array([[0, 0], [4, 0], [0, 4], [4, 4], [2, 2]])
    sizes = np.random.default_rng(5).integers(3, 6, 40)
    clouds = np.repeat(np.arange(40), sizes)
    rows = clouds[:, None] * 1000 + np.concatenate([inside[:size] for size in sizes])
    attributes = tuple(Attribute(name, LatticeDomain(0, 50_000)) for name in "ab")
    labels = v_mdav(space(rows, attributes), 3, 3.0)
    assert len({*zip(clouds, labels, strict=True)}) == 40
    assert len({*zip(clouds, mdav(space(rows, attributes), 3), strict=True)}) > 40


@given(worlds(), st.integers(2, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(world: World, k: int, random: Random):
    rows, attributes = world
    mixed = np.array(sorted(rows.tolist(), key=lambda _: random.random()), dtype=np.int64)
    found = []
    for table in (rows, mixed):
        ordered = table[canonical(table)]
        labels = mdav(space(ordered, attributes), min(k, len(rows)))
        found.append(sorted((label, *row) for label, row in zip(labels, ordered.tolist(), strict=True)))
    assert found[0] == found[1]


@given(st.integers(2, 60), st.integers(2, 9))
def test_ranks_are_cut_from_both_ends(count: int, k: int):
    k = min(k, count)
    values = np.arange(count) * 3 - 50
    labels = ranks(values[::-1].copy(), k)[::-1]
    sizes = np.bincount(labels)
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
    assert (np.diff(labels) >= 0).all()
    assert np.count_nonzero(sizes > k) <= 1
    larger = np.flatnonzero(sizes > k)
    assert all(abs(2 * place + 1 - len(sizes)) <= 1 for place in larger)


def test_a_long_build_tells_its_progress(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.anonymize.clusters.STRETCH", 1)
    rows = np.arange(40)[:, None]
    told: list[float] = []
    labels = mdav(space(rows, [Attribute("a", LatticeDomain(0, 39))]), 4, told.append)
    assert told == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert labels.tolist() == mdav(space(rows, [Attribute("a", LatticeDomain(0, 39))]), 4).tolist()


def test_memory_is_linear():
    """Some 20 numbers a row: a table of distances of all pairs would take 5,000 times as much."""
    rows = np.arange(40_000).reshape(10_000, 4) * 7919 % 10_007
    made = space(rows, [Attribute(name, LatticeDomain(0, 10_006)) for name in "abcd"])
    mdav(made, 2500)
    tracemalloc.start()
    mdav(made, 2500)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10_000 * 8 * 40
