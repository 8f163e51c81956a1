"""Small random tables with columns of every kind."""

import numpy as np
from hypothesis import strategies as st

from dpproxy.anonymize.model import Attribute, Categories, ConceptGraph, Domain, LatticeDomain, Role, Table

TREE = ConceptGraph(((), (0,), (0,), (1,), (1,), (2,), (2,)))
"""A root, two concepts, and two below each."""
DOMAINS: tuple[Domain, ...] = (
    LatticeDomain(-3, 40),
    LatticeDomain(0, 1),
    Categories(4),
    Categories(5, ordered=True),
    TREE,
)


def column(domain: Domain, rows: int) -> st.SearchStrategy[list[int]]:
    match domain:
        case LatticeDomain(low=low, high=high):
            values = st.integers(low, high)
        case Categories(size=size):
            values = st.integers(0, size - 1)
        case ConceptGraph(parents=parents):
            values = st.integers(0, len(parents) - 1)
    return st.lists(values, min_size=rows, max_size=rows)


@st.composite
def worlds(
    draw: st.DrawFn, least: int = 2, most: int = 40, domains: tuple[Domain, ...] = DOMAINS
) -> tuple[Table, tuple[Attribute, ...]]:
    """Rows and their attributes, at least ``least`` and one column."""
    rows = draw(st.integers(least, most))
    chosen = draw(st.lists(st.sampled_from(domains), min_size=1, max_size=4))
    attributes = tuple(Attribute(f"c{place}", domain, Role.BOTH) for place, domain in enumerate(chosen))
    columns = [draw(column(domain, rows)) for domain in chosen]
    return np.array(columns, dtype=np.int64).reshape(len(chosen), rows).T.copy(), attributes
