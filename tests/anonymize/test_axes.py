"""Whole coordinates of ordered attributes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize.axes import BITS, axis, ordered
from dpproxy.anonymize.model import Attribute, Categories, LatticeDomain


@given(st.integers(-(2**60), 2**60), st.integers(0, 2**60), st.integers(-(2**61), 2**61))
def test_a_value_comes_back_to_within_a_step(low: int, width: int, value: int) -> None:
    found = axis(LatticeDomain(low, low + width))
    assert found.steps < 1 << BITS
    place = found.coordinates(np.array([value]))
    assert 0 <= place[0] <= found.steps
    back = int(found.values(place)[0])
    assert 0 <= min(max(value, low), low + width) - back < 1 << found.shift


def test_only_what_has_an_order_has_an_axis() -> None:
    attributes = (
        Attribute("a", LatticeDomain(0, 9)),
        Attribute("b", Categories(3)),
        Attribute("c", Categories(3, ordered=True)),
    )
    assert {place: found.steps for place, found in ordered(attributes).items()} == {0: 9, 2: 2}
