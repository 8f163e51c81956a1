"""128-bit columns as int64, places of lists, and groups of equal rows."""

import numpy as np
import pyarrow as pa
import pytest

from udfs import arrow
from udfs.functions.columns import alike, parameters, places, whole
from udfs.privacy import InvalidMechanism

EDGES = [0, 1, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64, 10**38 - 1, -(10**38) + 1]


def test_what_is_beyond_64_bits_is_held_to_them():
    assert whole(arrow.from_integers(EDGES)).tolist() == [min(max(v, -(2**63)), 2**63 - 1) for v in EDGES]
    assert whole(arrow.from_integers(EDGES[:5])).tolist() == EDGES[:5]
    assert whole(arrow.from_integers([])).tolist() == []


def test_places_of_lists():
    assert places(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert places(np.array([], dtype=np.int32), np.array([], dtype=np.int32)).tolist() == []


def test_rows_of_equal_parameters_come_together():
    one = arrow.from_integers([1, 2**70, 1, 1])
    two = np.array([7, 7, 7, 8], dtype=np.uint64)
    found = [(key.tolist(), rows.tolist()) for key, rows in alike(one, two)]
    assert sorted(found) == [([0, 64, 7], [1]), ([1, 0, 7], [0, 2]), ([1, 0, 8], [3])]
    [(key, rows)] = alike(two[:3])
    assert (key.tolist(), rows.tolist()) == ([7], [0, 1, 2])
    assert list(alike(two[:0])) == []


def test_a_parameter_may_not_be_missing():
    with pytest.raises(InvalidMechanism, match="say so"):
        parameters(pa.array([3, None], type=pa.decimal128(38, 0)), "say so")
    assert parameters(pa.array([3], type=pa.decimal128(38, 0)), "").tolist() == [[3, 0]]
