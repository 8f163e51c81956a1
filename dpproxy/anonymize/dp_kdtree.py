"""Private boundaries: a tree of boxes, each leaf released as its noisy centroid, noisily many times.

One row is in one leaf, so losses do not add up over leaves, and a leaf's noise is of the size of the leaf. What is
afterwards made of the noisy numbers (counts that agree along the tree, centroids shrunk towards that of the box above)
is free. A domain of few cells is released cell by cell. Proof: ``dp_kdtree.md``.
"""

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np
from msgspec import Struct

from dpproxy.anonymize import boxes, flat, leaves, options, population, price
from dpproxy.anonymize.boxes import Line
from dpproxy.anonymize.model import Anonymized, InvalidOption, Progress, Table, ViewBuild, ViewRequest
from dpproxy.anonymize.shuffle import order
from dpproxy.anonymize.space import is_ordered
from dpproxy.anonymize.synthesis import rows as rows_of
from dpproxy.anonymize.tree import TreeBudget, grown
from udfs.mechanisms import Staircase
from udfs.privacy import Loss
from udfs.randomness import Words


class DpKdtree(Struct, frozen=True):
    """Leaves of a private tree."""

    name: ClassVar[str] = "dp_kdtree"
    private: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {
        "epsilon": price.EPSILON_HELP,
        "k": "rows to a leaf, about, or auto (the default): as few as the noise allows",
        "scale": "range (sides in parts of their domain, the default) | none (in steps: columns of one unit)",
    }

    def check(self, request: ViewRequest) -> ViewBuild:
        """Validate and price. Errors: InvalidOption."""
        options.only(request, self.options)
        price.attributes(request)
        total, k = price.epsilon(request), price.cluster_size(request)
        scaled = options.word(request, "scale", ("range", "none")) == "range"
        if not scaled and not all(is_ordered(a.domain) for a in request.attributes):
            raise InvalidOption("scale", "scale = none is for columns with an order", "Write scale = range.")
        lines = boxes.lines(request.attributes, scaled=scaled)
        return price.guaranteed(partial(_make, lines, total, k, request.expected_rows), total)


def _make(
    lines: tuple[Line, ...],
    total: Loss,
    k: int | None,
    expected: int | None,
    rows: Table,
    words: Words,
    progress: Progress,
) -> Anonymized:
    if k is None and flat.cells(lines) <= flat.MOST_CELLS:
        if expected is None:
            counting = price.counting(total)
            expected = population.noisy(len(rows), counting.nano, 0, words)
            total = Loss(total.nano - counting.nano)
        if flat.suits(lines, total.nano, expected):
            released = flat.synthetic(lines, total.nano, rows, words)
            return Anonymized(released[order(len(released), words)])
    released = synthetic(lines, total, k, rows, words, progress)
    return Anonymized(released[order(len(released), words)])


def synthetic(
    lines: tuple[Line, ...], total: Loss, k: int | None, rows: Table, words: Words, progress: Progress
) -> Table:
    """Release rows like ``rows``, neighbouring ones near each other; costs ``total``."""
    positions = np.stack([line.positions(rows[:, j]) for j, line in enumerate(lines)])
    budget = TreeBudget.of(total.nano, sum(line.depth for line in lines))
    levels, arranged = grown(positions, lines, budget, k, words, progress)
    found = [leaves.released(level, positions, lines, arranged, words) for level in levels]
    variance = float(Staircase.best((1,), budget.each).variance()[0]) if budget.levels else 1.0
    return rows_of(levels, found, lines, variance, words)
