"""Occupation and native country of Adult, and how far a release is off."""

import numpy as np
import pytest

from dpproxy.anonymize import taxonomy
from examples.thesis.adult import adult, distances_apart, transported


def test_every_value_has_its_place():
    rows, attributes = adult()
    assert rows.shape == (30162, 2)
    assert [len(a.domain.parents) for a in attributes] == [31, 63]
    for column, attribute in enumerate(attributes):
        found = np.bincount(rows[:, column], minlength=len(attribute.domain.parents))
        assert found[0] == 0  # nobody is merely an entity
        assert found.sum() == len(rows)


def test_a_release_of_the_rows_themselves_is_not_off():
    rows, attributes = adult()
    some = rows[::300]
    assert distances_apart(some, some[::-1], attributes) == [0, 0, 0]
    assert transported(some, some[::-1], attributes) == pytest.approx(0, abs=1e-9)


def test_one_value_for_another_costs_its_squared_distance():
    _, attributes = adult()
    tree = attributes[0].domain
    rows = np.array([[5, 8]] * 4)
    other = rows.copy()
    other[0, 0] = 12
    assert distances_apart(rows, other, attributes) == [0.25, 0.25, 0]
    expected = (taxonomy.distances(tree)[5, 12] / taxonomy.width(tree)) ** 2
    assert transported(rows, other, attributes) == pytest.approx(expected)
