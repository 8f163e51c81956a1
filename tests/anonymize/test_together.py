"""Combinations that are declared: attributes as one, and apart again."""

import numpy as np
import pytest

from dpproxy.anonymize.dp_marginals import DpMarginals
from dpproxy.anonymize.model import Attribute, Categories, LatticeDomain, Together, ViewRequest, silent
from dpproxy.anonymize.together import Merge
from tests.words import same_words

CITIES, CODES = 4, 40
ATTRIBUTES = (
    Attribute("zip", LatticeDomain(0, CODES - 1)),
    Attribute("age", LatticeDomain(0, 99)),
    Attribute("city", Categories(CITIES)),
)
ZIPS = Together((0, 2), tuple((code, code % CITIES) for code in range(CODES)))
"""Each code is of one city; neighbouring codes are not."""


def table(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    codes = np.arange(count) * 7 % CODES
    return np.column_stack([codes, codes % CITIES * 20 + np.arange(count) % 10, codes % CITIES]).astype(
        np.int64
    )


def test_merged_and_apart_rows_are_as_they_were():
    merge = Merge.of((ZIPS,), 3)
    rows = table(200)
    assert [a.name for a in merge.attributes(ATTRIBUTES)] == ["age", "city, zip"]
    assert (merge.apart(merge.merged(rows)) == rows).all()
    assert np.diff(rows[np.argsort(merge.merged(rows)[:, 1]), 2]).min() == 0  # a city after the other


def test_a_row_that_contradicts_is_left_out_and_no_other():
    merge = Merge.of((ZIPS,), 3)
    rows = table(20)
    wrong = rows.copy()
    wrong[3, 2] = (wrong[3, 2] + 1) % CITIES
    kept = merge.apart(merge.merged(wrong))
    assert (kept == np.delete(rows, 3, axis=0)).all()


def test_of_declarations_that_overlap_the_first_counts():
    merge = Merge.of((ZIPS, Together((1, 2), ((0, 0),))), 3)
    assert len(merge.parts) == 2
    assert merge.merged(table(5)).shape == (5, 2)


def test_a_pair_of_merged_columns_weighs_as_its_heaviest():
    merge = Merge.of((ZIPS,), 3)
    assert merge.weights({(0, 1): 4, (0, 2): 1, (1, 2): 2}) == {(0, 1): 4}


@pytest.mark.parametrize("epsilon", [1, 10])
def test_nothing_is_released_that_is_declared_impossible(epsilon: int):
    asked = ViewRequest(ATTRIBUTES, {"epsilon": epsilon}, together=(ZIPS,))
    found = DpMarginals().check(asked).make(table(4000), same_words(), silent).rows
    assert (found[:, 2] == found[:, 0] % CITIES).all()
    if epsilon > 1:  # ages of the cities are 0 to 9, 20 to 29 ...: in means of a thousand rows
        means = [found[found[:, 2] == city, 1].mean() for city in range(CITIES)]
        assert means == pytest.approx([4.5, 24.5, 44.5, 64.5], abs=3)
