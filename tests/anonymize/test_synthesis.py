"""Rows made of leaves."""

import os
from collections import Counter

import numpy as np
from hypothesis import given

from dpproxy.anonymize.boxes import lines
from dpproxy.anonymize.dp_kdtree import synthetic
from dpproxy.anonymize.model import Attribute, Categories, ConceptGraph, LatticeDomain, Table, silent
from dpproxy.anonymize.space import ends, is_ordered
from tests.anonymize.worlds import worlds
from udfs.privacy import NANO, Loss

World = tuple[Table, tuple[Attribute, ...]]


@given(worlds(least=0, most=40))
def test_values_are_of_their_domains(world: World) -> None:
    rows, attributes = world
    found = synthetic(lines(attributes, scaled=True), Loss(NANO // 2), None, rows, os.urandom, silent)
    assert found.shape[1] == len(attributes)
    for column, attribute in enumerate(attributes):
        domain = attribute.domain
        if is_ordered(domain):
            low, high = ends(domain)
        else:
            low, high = 0, (len(domain.parents) if isinstance(domain, ConceptGraph) else domain.size) - 1
        assert (found[:, column] >= low).all()
        assert (found[:, column] <= high).all()


def test_without_noise_categories_come_back() -> None:
    rows = np.repeat(np.array([[0], [1], [3]]), [70, 50, 90], axis=0)
    ours = lines((Attribute("a", Categories(4)),), scaled=True)
    found = synthetic(ours, Loss(10**5 * NANO), None, rows, os.urandom, silent)
    assert Counter(found[:, 0].tolist()) == {0: 70, 1: 50, 3: 90}


def test_without_noise_middles_come_back() -> None:
    rows = np.repeat(np.array([[100], [900]]), [60, 40], axis=0)
    ours = lines((Attribute("a", LatticeDomain(0, 1000)),), scaled=True)
    found = synthetic(ours, Loss(10**5 * NANO), None, rows, os.urandom, silent)
    assert Counter(found[:, 0].tolist()) == {100: 60, 900: 40}
