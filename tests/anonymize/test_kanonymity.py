"""What the k-anonymity family shares, and what holds for all of it."""

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import kanonymity
from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import (
    Attribute,
    InvalidOption,
    LatticeDomain,
    Role,
    Table,
    Unachievable,
    ViewRequest,
    silent,
)
from tests.anonymize.worlds import worlds

FAMILY = ("mdav", "mdav_swap", "ir_swap")


def request(*roles: Role, k: int = 3) -> ViewRequest:
    return ViewRequest(
        tuple(Attribute(f"c{place}", LatticeDomain(0, 99), role) for place, role in enumerate(roles)),
        {"k": k},
    )


@pytest.mark.parametrize("name", FAMILY)
def test_the_promise_says_what_it_is_not(name: str) -> None:
    build = METHODS[name].check(request(Role.BOTH, Role.BOTH))
    assert build.loss is None
    assert "not differentially private; does not compose" in build.guarantee
    assert not METHODS[name].private


@pytest.mark.parametrize("name", FAMILY)
def test_too_few_rows_are_refused(name: str) -> None:
    build = METHODS[name].check(request(Role.BOTH, Role.BOTH))
    for count in (0, 2):
        with pytest.raises(Unachievable, match="at least 3 rows"):
            build.make(np.zeros((count, 2), dtype=np.int64), os.urandom, silent)


@pytest.mark.parametrize("name", FAMILY)
def test_a_build_can_be_stopped(name: str) -> None:
    def stop(_: float) -> None:
        raise TimeoutError

    build = METHODS[name].check(request(Role.BOTH, Role.BOTH))
    with pytest.raises(TimeoutError):
        build.make(np.zeros((10, 2), dtype=np.int64), os.urandom, stop)


@given(worlds(), st.sampled_from(("mdav", "mdav_swap")))
def test_rows_come_in_random_order_with_their_source(
    world: tuple[Table, tuple[Attribute, ...]], name: str
) -> None:
    rows, attributes = world
    key = Attribute("key", LatticeDomain(0, len(rows)), Role.QUASI)
    rows = np.column_stack([np.arange(len(rows)), rows])
    asked = ViewRequest((key, *(Attribute(a.name, a.domain, Role.SENSITIVE) for a in attributes)), {"k": 2})
    made = METHODS[name].check(asked).make(rows, os.urandom, silent)
    assert made.source is not None
    assert sorted(made.source) == list(range(len(rows)))
    kept = slice(1, None) if name == "mdav" else slice(0, 1)
    assert (made.rows[:, kept] == rows[made.source][:, kept]).all()


def test_a_role_nobody_has_is_refused() -> None:
    with pytest.raises(InvalidOption, match="no column of the view is a quasi-identifier"):
        kanonymity.quasi_identifiers(request(Role.SENSITIVE))
    with pytest.raises(InvalidOption, match="no column of the view is a sensitive column"):
        kanonymity.confidential(request(Role.QUASI))


def test_the_smallest_class() -> None:
    rows = np.array([[1, 5], [1, 6], [2, 7]])
    assert kanonymity.smallest_class(rows, [0]) == 1
    assert kanonymity.smallest_class(rows[:2], [0]) == 2


@pytest.mark.statistical
def test_released_rows_stand_anywhere() -> None:
    """Where row 0 of 6 comes out; false alarm: one run in a million."""
    from scipy.stats import chisquare  # noqa: PLC0415

    build = METHODS["mdav"].check(request(Role.QUASI, k=2))
    rows = np.arange(6)[:, None]
    places = Counter(int(np.argmin(build.make(rows, os.urandom, silent).source)) for _ in range(3000))  # type: ignore[arg-type]
    assert len(places) == 6
    assert chisquare(list(places.values())).pvalue > 1e-6
