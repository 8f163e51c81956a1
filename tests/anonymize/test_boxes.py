"""Lines that boxes are cut from."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize.boxes import Walk, lines
from dpproxy.anonymize.model import Attribute, Domain
from dpproxy.anonymize.space import ends, is_ordered, size
from tests.anonymize.worlds import DOMAINS, TREE


@given(st.sampled_from(DOMAINS), st.booleans())
def test_every_value_has_a_position_and_every_cut_leaves_two_parts(domain: Domain, scaled: bool) -> None:  # noqa: FBT001
    (line,) = lines((Attribute("a", domain),), scaled=scaled)
    low, high = ends(domain) if is_ordered(domain) else (0, size(domain) - 1)
    values = np.arange(low, high + 1)
    positions = line.positions(values)
    assert sorted(positions.tolist()) == list(range(line.last + 1))
    assert (line.values(positions) == values).all()
    waiting = [(0, line.last)]
    while waiting:
        first, last = waiting.pop()
        side = line.sides(np.array([first]), np.array([last]))[0]
        assert (side == 0) == (first == last)
        if first < last:
            at = int(line.cuts(np.array([first]), np.array([last]))[0])
            assert first <= at < last
            waiting += [(first, at), (at + 1, last)]


def test_scaled_sides_are_parts_of_the_domain() -> None:
    for line in lines([Attribute("a", domain) for domain in DOMAINS], scaled=True):
        assert line.sides(np.array([0]), np.array([line.last]))[0] == 1


def test_a_subtree_is_an_interval_and_cuts_go_between_subtrees() -> None:
    (line,) = lines((Attribute("a", TREE),), scaled=True)
    assert isinstance(line, Walk)
    assert line.places.tolist() == [0, 1, 3, 4, 2, 5, 6]
    assert line.joints.tolist() == [1, 2, 2, 1, 2, 2]
    at = int(line.cuts(np.array([1]), np.array([6]))[0])
    assert at == 3  # between what is below 1 and what is below 2
    assert line.places[line.centre(1, 3)] == 1
