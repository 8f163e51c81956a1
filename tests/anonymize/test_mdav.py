"""MDAV-ID."""

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize.mdav import Mdav
from dpproxy.anonymize.model import Attribute, InvalidOption, LatticeDomain, Role, Table, ViewRequest, silent
from tests.anonymize.worlds import worlds


@given(worlds(), st.integers(2, 6), st.sampled_from([0, Fraction(1, 5), Fraction(11, 10), 10]), st.data())
def test_every_equivalence_class_has_k_rows(
    world: tuple[Table, tuple[Attribute, ...]], k: int, gain: int | Fraction, data: st.DataObject
) -> None:
    rows, attributes = world
    roles = [Role.QUASI, *(data.draw(st.sampled_from(Role)) for _ in attributes[1:])]
    k = min(k, len(rows))
    asked = ViewRequest(
        tuple(Attribute(a.name, a.domain, r) for a, r in zip(attributes, roles, strict=True)),
        {"k": k, "gain": gain},
    )
    made = Mdav().check(asked).make(rows, os.urandom, silent)
    known = [place for place, role in enumerate(roles) if role is not Role.SENSITIVE]
    least = int(np.unique(made.rows[:, known], axis=0, return_counts=True)[1].min())
    assert least >= k
    assert made.achieved == {"smallest_class": least}


def test_sensitive_columns_do_not_move_the_clusters() -> None:
    attributes = (
        Attribute("a", LatticeDomain(0, 100)),
        Attribute("s", LatticeDomain(0, 100), Role.SENSITIVE),
    )
    rows = np.array([[1, 50], [2, 0], [90, 50], [92, 0]])
    made = Mdav().check(ViewRequest(attributes, {"k": 2})).make(rows, os.urandom, silent)
    assert sorted(made.rows.tolist()) == [[2, 0], [2, 50], [91, 0], [91, 50]]


def test_the_promise_names_the_columns() -> None:
    attributes = (Attribute("a", LatticeDomain(0, 9)), Attribute("s", LatticeDomain(0, 9), Role.SENSITIVE))
    build = Mdav().check(ViewRequest(attributes, {"k": 5}))
    assert build.guarantee.startswith("5-anonymity: at least 5 rows share each combination of a. ")


@pytest.mark.parametrize("gain", [-1, 11, "much"])
def test_a_gain_is_a_small_number(gain: int | str) -> None:
    with pytest.raises(InvalidOption, match="gain"):
        Mdav().check(ViewRequest((Attribute("a", LatticeDomain(0, 9)),), {"k": 2, "gain": gain}))
