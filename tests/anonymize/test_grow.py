"""Clusters with a quota of every bucket, beside the plain form."""

from random import Random

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from dpproxy.anonymize.clusters import with_quotas
from dpproxy.anonymize.model import Attribute, Table
from dpproxy.anonymize.space import space
from tests.anonymize import plain
from tests.anonymize.worlds import worlds


@given(worlds(least=6), st.integers(1, 3), st.integers(1, 4), st.randoms(use_true_random=False))
def test_every_cluster_has_its_quotas(
    world: tuple[Table, tuple[Attribute, ...]], kinds: int, clusters: int, random: Random
):
    rows, attributes = world
    buckets = np.arange(len(rows)) % kinds
    sizes = np.bincount(buckets, minlength=kinds)
    quotas = np.array([[size // clusters for size in sizes]] * clusters)
    quotas[-1] += sizes - quotas.sum(axis=0)
    assume(quotas.sum(axis=1).all())
    emphasis = np.array([random.randrange(kinds) for _ in range(clusters)])
    made = space(rows, attributes)
    labels = with_quotas(made, buckets, quotas, emphasis)
    for cluster in range(clusters):
        found = np.bincount(buckets[labels == cluster], minlength=kinds)
        assert found.tolist() == quotas[cluster].tolist()
    assert labels.tolist() == plain.grow(made, buckets, quotas, emphasis).tolist()
