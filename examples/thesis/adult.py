"""Occupation and native country of Adult on their two taxonomies, and how far a release of them is off."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from dpproxy.anonymize import measures, taxonomy
from dpproxy.anonymize.model import Attribute, ConceptGraph, Role
from examples.thesis.census import Rows

FOLDER = Path(__file__).parents[1] / "data"
NAMES = ("occupation", "native_country")


def tree(name: str) -> tuple[dict[str, int], ConceptGraph]:
    """A taxonomy from its file, and the place of each concept."""
    with (FOLDER / f"{name}_taxonomy.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    places = {line["code"]: place for place, line in enumerate(lines)}
    return places, ConceptGraph(tuple((places[line["parent"]],) if line["parent"] else () for line in lines))


def adult() -> tuple[Rows, tuple[Attribute, ...]]:
    """The rows as places in the taxonomies, shape (30162, 2)."""
    with duckdb.connect() as connection:
        found = connection.sql(f"SELECT {', '.join(NAMES)} FROM '{FOLDER / 'adult.parquet'}'").fetchall()
    trees = [tree(name) for name in NAMES]
    rows = np.array([[places[value] for (places, _), value in zip(trees, row, strict=True)] for row in found])
    return rows, tuple(
        Attribute(name, taxonomy, Role.BOTH) for name, (_, taxonomy) in zip(NAMES, trees, strict=True)
    )


def frequencies(rows: Rows, attributes: Sequence[Attribute]) -> np.ndarray:
    """Shares of rows, shape (concepts of the first attribute, of the second)."""
    counts = np.zeros([len(a.domain.parents) for a in attributes])  # type: ignore[union-attr]
    np.add.at(counts, tuple(rows.T), 1)
    return counts / max(len(rows), 1)


def distances_apart(rows: Rows, released: Rows, attributes: Sequence[Attribute]) -> list[float]:
    """Total variation distance of both columns together, of the first, and of the second."""
    apart = frequencies(rows, attributes) - frequencies(released, attributes)
    return [float(np.abs(part).sum()) / 2 for part in (apart, apart.sum(axis=1), apart.sum(axis=0))]


def transported(rows: Rows, released: Rows, attributes: Sequence[Attribute]) -> float:
    """The least sum of squared semantic distances over all one-to-one matchings in which equal rows stay together.

    A transport problem of what is then left. A release of another size is first resized at random.
    """
    released = measures.resized(released, len(rows), os.urandom)
    apart = frequencies(rows, attributes) - frequencies(released, attributes)
    moved = np.rint(apart * len(rows))
    here, there = np.argwhere(moved > 0), np.argwhere(moved < 0)
    supply, demand = moved[moved > 0], -moved[moved < 0]
    if not len(here):
        return 0.0
    costs = np.zeros((len(here), len(there)))
    for place, attribute in enumerate(attributes):
        domain = attribute.domain
        assert isinstance(domain, ConceptGraph)
        scaled = taxonomy.distances(domain) / taxonomy.width(domain)
        costs += scaled[np.ix_(here[:, place], there[:, place])] ** 2
    first, second = (grid.ravel() for grid in np.meshgrid(*map(np.arange, costs.shape), indexing="ij"))
    flows = np.arange(costs.size)
    lines = np.concatenate([first, len(here) + second])
    sums = coo_array((np.ones(2 * costs.size), (lines, np.concatenate([flows, flows]))))
    found = linprog(
        costs.ravel(), A_eq=sums.tocsr(), b_eq=np.concatenate([supply, demand]), method="highs-ds"
    )
    assert found.success
    return float(found.fun)
