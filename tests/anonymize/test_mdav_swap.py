"""MDAV-SWAP."""

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpproxy.anonymize.mdav_swap import MdavSwap
from dpproxy.anonymize.model import Attribute, Interval, InvalidOption, Request, Role, Table, silent
from tests.anonymize.worlds import worlds


@given(worlds(), st.integers(2, 6))
def test_every_column_keeps_its_values(world: tuple[Table, tuple[Attribute, ...]], k: int) -> None:
    rows, attributes = world
    assume(len(attributes) > 1)
    k = min(k, len(rows))
    made = MdavSwap().check(Request(attributes, {"k": k})).make(rows, os.urandom, silent)
    assert np.sort(made.rows, axis=0).tolist() == np.sort(rows, axis=0).tolist()
    assert k <= made.achieved["smallest_cluster"] <= 2 * k - 1


def test_one_column_is_refused() -> None:
    with pytest.raises(InvalidOption, match="one column") as caught:
        MdavSwap().check(Request((Attribute("a", Interval(0, 1)),), {"k": 2}))
    assert "ir_swap" in (caught.value.hint or "")


@pytest.mark.statistical
def test_values_move_uniformly_inside_their_cluster_only() -> None:
    """Two clusters of 3: 36 outcomes. False alarm: one run in a million."""
    attributes = (
        Attribute("a", Interval(0, 100), Role.QUASI),
        Attribute("s", Interval(0, 100), Role.SENSITIVE),
    )
    rows = np.array([[0, 10], [1, 11], [2, 12], [98, 20], [99, 21], [100, 22]])
    build = MdavSwap().check(Request(attributes, {"k": 3}))
    outcomes: Counter[tuple[int, ...]] = Counter()
    for _ in range(1500):
        made = build.make(rows, os.urandom, silent).rows
        outcomes[tuple(made[np.argsort(made[:, 0]), 1].tolist())] += 1
    assert len(outcomes) == 36
    assert all(set(outcome[:3]) == {10, 11, 12} for outcome in outcomes)
    assert chisquare(list(outcomes.values())).pvalue > 1e-6
