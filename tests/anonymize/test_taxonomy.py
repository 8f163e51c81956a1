"""Taxonomies: distances by hand, and the sensitivity of the private centroid by trying everything."""

import csv
import math
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.anonymize import taxonomy as tax
from dpproxy.anonymize.model import ConceptGraph, InvalidOption
from udfs.mechanisms import Exponential
from udfs.privacy import NANO

SMALL = ConceptGraph(((), (0,), (0,), (1,), (1,), (2,)))
"""A root, two branches, two leaves under the first and one under the second."""
DATA = Path(__file__).parents[2] / "examples" / "data"


def read(name: str) -> tuple[list[str], ConceptGraph]:
    with (DATA / f"{name}_taxonomy.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [row["code"] for row in rows]
    place = {found: i for i, found in enumerate(names)}
    return names, ConceptGraph(tuple((place[row["parent"]],) if row["parent"] else () for row in rows))


@st.composite
def taxonomies(draw: st.DrawFn) -> ConceptGraph:
    size = draw(st.integers(1, 8))
    parents = [()]
    for place in range(1, size):
        found = draw(st.sets(st.integers(0, place - 1), min_size=1, max_size=2))
        parents.append(tuple(sorted(found)))
    return ConceptGraph(tuple(parents))


def test_distance_by_hand() -> None:
    found = tax.distances(SMALL)
    # {0, 1, 3} and {0, 1, 4}: 4 in all, 2 in common.
    assert found[3, 4] == round(math.log2(1 + 2 / 4) * tax.STEPS)
    # {0, 1, 3} and {0, 2, 5}: 5 in all, 1 in common.
    assert found[3, 5] == round(math.log2(1 + 4 / 5) * tax.STEPS)


@given(taxonomies())
def test_the_distance_is_a_metric_but_for_rounding(taxonomy: ConceptGraph) -> None:
    found = tax.distances(taxonomy)
    assert (found == found.T).all()
    assert not found.diagonal().any()
    assert (found[:, None, :] <= found[:, :, None] + found[None, :, :] + 2).all()


def counts(taxonomy: ConceptGraph, values: tax.Integers) -> tax.Integers:
    """How many of ``values`` are each concept."""
    return np.bincount(values, minlength=len(taxonomy.parents)).astype(np.int64)


def marginality(taxonomy: ConceptGraph, values: tax.Integers) -> tax.Integers:
    """For each concept the sum of its distances to ``values``, in steps."""
    return tax.distances(taxonomy) @ counts(taxonomy, values)


@given(taxonomies(), st.lists(st.integers(0, 7), min_size=1, max_size=6))
def test_the_centroid_is_the_least_marginal_concept(taxonomy: ConceptGraph, drawn: list[int]) -> None:
    size = len(taxonomy.parents)
    values = np.array([value % size for value in drawn])
    found = tax.distances(taxonomy)
    sums = [sum(int(found[concept, value]) for value in values) for concept in range(size)]
    assert marginality(taxonomy, values).tolist() == sums
    assert marginality(taxonomy, values).argmin() == sums.index(min(sums))


@given(taxonomies())
def test_no_record_moves_a_marginality_by_more_than_claimed_and_one_by_as_much(
    taxonomy: ConceptGraph,
) -> None:
    size = len(taxonomy.parents)
    rest = np.array([0, size - 1])
    marginalities = [marginality(taxonomy, np.append(rest, value)) for value in range(size)]
    moved = [abs(one - other).max() for one, other in product(marginalities, marginalities)]
    assert max(moved) == tax.sensitivity(taxonomy)


def test_the_boundaries_can_be_nearer_to_each_other_than_two_other_values() -> None:
    """Why the sensitivity of the private centroid is not the distance of the boundaries."""
    taxonomy = ConceptGraph(((), (0,), (0,), (1,), (0,), (4,)))
    low, high = tax.boundaries(taxonomy)
    assert tax.distances(taxonomy)[low, high] < tax.sensitivity(taxonomy)


def test_the_private_centroid_keeps_its_promise_exactly() -> None:
    """Every data set of three values against every neighbour: the ratio of the exact laws."""
    nano = NANO
    mechanism = Exponential.of(tax.sensitivity(SMALL), nano)
    size = len(SMALL.parents)
    laws = {}
    for values in combinations_with_replacement(range(size), 3):
        scores = (-marginality(SMALL, np.array(values))).tolist()
        # The distances are so many steps that exact powers are too long: the law in floats is enough for 1e-9.
        weights = np.exp((np.array(scores) - max(scores)) * nano / NANO / mechanism.spread)
        laws[values] = weights / weights.sum()
    worst = 0.0
    for values, law in laws.items():
        for place, value in product(range(3), range(size)):
            other = tuple(sorted((*values[:place], value, *values[place + 1 :])))
            worst = max(worst, float(np.log(law / laws[other]).max()))
    assert 0.5 < worst <= 1


def test_at_a_large_epsilon_the_private_centroid_is_the_centroid() -> None:
    values = np.array([3, 3, 4])
    histograms = counts(SMALL, values)[None, :]
    [drawn] = tax.private_centroids(SMALL, histograms, 1000 * NANO)
    assert drawn == marginality(SMALL, values).argmin()


def test_taxonomies_that_are_none_are_refused() -> None:
    for parents in ((), ((1,), (0,)), ((), (7,))):
        with pytest.raises(InvalidOption):
            tax.ancestors(ConceptGraph(parents))


def test_the_taxonomies_of_the_examples() -> None:
    names, occupation = read("occupation")
    assert len(names) == 31
    found = tax.distances(occupation)
    assert 0 < tax.width(occupation) < tax.STEPS
    sales, clerical, farming = (names.index(x) for x in ("Sales", "Adm-clerical", "Farming-fishing"))
    assert found[sales, clerical] < found[sales, farming]
