"""Data swapping: MDAV-SWAP and IR-SWAP."""

import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpproxy.anonymize.model import (
    Attribute,
    Categories,
    InvalidOption,
    LatticeDomain,
    Role,
    Table,
    ViewRequest,
    silent,
)
from dpproxy.anonymize.swap import IrSwap, MdavSwap
from tests.anonymize.worlds import TREE, worlds

ORDERED = (LatticeDomain(-3, 40), Categories(5, ordered=True))


@given(worlds(), st.integers(2, 6))
def test_every_column_keeps_its_values(world: tuple[Table, tuple[Attribute, ...]], k: int) -> None:
    rows, attributes = world
    assume(len(attributes) > 1)
    k = min(k, len(rows))
    made = MdavSwap().check(ViewRequest(attributes, {"k": k})).make(rows, os.urandom, silent)
    assert np.sort(made.rows, axis=0).tolist() == np.sort(rows, axis=0).tolist()
    assert k <= made.achieved["smallest_cluster"] <= 2 * k - 1


def test_one_column_is_refused() -> None:
    with pytest.raises(InvalidOption, match="one column") as caught:
        MdavSwap().check(ViewRequest((Attribute("a", LatticeDomain(0, 1)),), {"k": 2}))
    assert "ir_swap" in (caught.value.hint or "")


@pytest.mark.statistical
def test_values_move_uniformly_inside_their_cluster_only() -> None:
    """Two clusters of 3: 36 outcomes. False alarm: one run in a million."""
    attributes = (
        Attribute("a", LatticeDomain(0, 100), Role.QUASI),
        Attribute("s", LatticeDomain(0, 100), Role.SENSITIVE),
    )
    rows = np.array([[0, 10], [1, 11], [2, 12], [98, 20], [99, 21], [100, 22]])
    build = MdavSwap().check(ViewRequest(attributes, {"k": 3}))
    outcomes: Counter[tuple[int, ...]] = Counter()
    for _ in range(1500):
        made = build.make(rows, os.urandom, silent).rows
        outcomes[tuple(made[np.argsort(made[:, 0]), 1].tolist())] += 1
    assert len(outcomes) == 36
    assert all(set(outcome[:3]) == {10, 11, 12} for outcome in outcomes)
    assert chisquare(list(outcomes.values())).pvalue > 1e-6


@given(worlds(domains=ORDERED), st.data())
def test_values_stay_within_their_ranks(
    world: tuple[Table, tuple[Attribute, ...]], data: st.DataObject
) -> None:
    rows, attributes = world
    sizes = [data.draw(st.integers(2, len(rows))) for _ in attributes]
    build = IrSwap().check(ViewRequest(attributes, {"k": tuple(Fraction(k) for k in sizes)}))
    made = build.make(rows, os.urandom, silent)
    assert made.source is not None
    assert np.sort(made.rows, axis=0).tolist() == np.sort(rows, axis=0).tolist()
    for place, k in enumerate(sizes):
        before, after = rows[made.source, place], made.rows[:, place]
        ranks = np.sort(rows[:, place])
        apart = np.searchsorted(ranks, after, "left") - np.searchsorted(ranks, before, "right") + 1
        assert apart.max() <= 2 * k - 2


def test_quasi_identifiers_stay() -> None:
    attributes = (Attribute("a", TREE, Role.QUASI), Attribute("s", LatticeDomain(0, 9)))
    rows = np.array([[3, 1], [4, 2], [5, 3]])
    made = IrSwap().check(ViewRequest(attributes, {"k": 3})).make(rows, os.urandom, silent)
    assert made.source is not None
    assert (made.rows[:, 0] == rows[made.source, 0]).all()
    assert made.achieved == {"smallest_cluster": 3}


KNOWN = (
    Attribute("a", LatticeDomain(0, 100), Role.QUASI),
    Attribute("s", LatticeDomain(0, 100), Role.SENSITIVE),
    Attribute("b", LatticeDomain(0, 100)),
    Attribute("t", LatticeDomain(0, 100), Role.SENSITIVE),
)


def test_for_uninformed_intruders_confidential_values_stay_together() -> None:
    """Clusters are of rows alike in a and b, which stay; s and t move from the same row."""
    rows = np.array([[0, 10, 0, 30], [1, 11, 1, 31], [2, 12, 2, 32], [98, 20, 99, 40], [99, 21, 99, 41]])
    build = MdavSwap().check(ViewRequest(KNOWN, {"k": 2, "intruder": "uninformed"}))
    moved = set()
    for _ in range(400):
        made = build.make(rows, os.urandom, silent)
        assert made.source is not None
        assert (made.rows[:, [0, 2]] == rows[made.source][:, [0, 2]]).all()
        assert (made.rows[:, 3] - made.rows[:, 1] == 20).all()
        assert ((made.rows[:, 1] >= 20) == (made.rows[:, 0] > 50)).all()
        moved.add(tuple(made.rows[np.argsort(made.rows[:, 0]), 1].tolist()))
    assert len(moved) == 12
    assert build.changed == ("s", "t")
    assert "no more than a, b" in build.guarantee


@pytest.mark.parametrize("columns", [KNOWN[:1], KNOWN[1:2]])
def test_for_uninformed_intruders_both_kinds_of_columns_are_needed(columns: tuple[Attribute, ...]) -> None:
    with pytest.raises(InvalidOption, match="sensitive"):
        MdavSwap().check(ViewRequest(columns, {"k": 2, "intruder": "uninformed"}))


def test_each_attribute_has_its_own_k() -> None:
    attributes = tuple(Attribute(name, LatticeDomain(0, 99)) for name in "ab")
    build = IrSwap().check(ViewRequest(attributes, {"k": (Fraction(2), Fraction(5))}))
    assert "(a among at least 2, b among at least 5)" in build.guarantee
    with pytest.raises(InvalidOption, match="k lists 2 numbers for 1 columns"):
        IrSwap().check(ViewRequest(attributes[:1], {"k": (Fraction(2), Fraction(5))}))


def test_what_has_no_order_is_refused() -> None:
    with pytest.raises(InvalidOption, match="the values of a have no order") as caught:
        IrSwap().check(ViewRequest((Attribute("a", TREE),), {"k": 2}))
    assert "mdav_swap" in (caught.value.hint or "")


def test_with_one_list_of_roles_the_columns_of_neither_are_changed_and_listed() -> None:
    known = (
        Attribute("a", LatticeDomain(0, 9), Role.QUASI),
        *(Attribute(name, LatticeDomain(0, 9)) for name in "bc"),
    )
    build = MdavSwap().check(ViewRequest(known, {"k": 2}))
    assert build.changed == ("b", "c")
    made = build.make(np.array([[n, n, n] for n in range(10)]), os.urandom, silent)
    assert made.source is not None
    assert (made.rows[:, 0] == made.source).all()
