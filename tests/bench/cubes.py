"""``python -m tests.bench.cubes [--write]``: how far off a cube is, against other strategies at the same epsilon.

The error is the root of the mean variance over all that is read, with pure noise of the shares of each strategy. It is
in closed form: nothing is drawn.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import cached_property
from math import prod, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from dpproxy.anonymize.strategies import Axis, Lattice, outer, shares
from tests.bench.report import conditions
from tests.bench.results import Result, write

Floats = npt.NDArray[np.float64]
CUBES: Final[dict[str, tuple[Axis, ...]]] = {
    "24 months x 4 wards x 5 reasons": (Axis(24, ordered=True), Axis(4), Axis(5)),
    "25 months x 4 wards x 3 sexes x 11 decades": (
        Axis(25, ordered=True),
        Axis(4),
        Axis(3),
        Axis(11, ordered=True),
    ),
    "11 x 11 x 11, ordered": (Axis(11, ordered=True),) * 3,
    "6 x 25 x 3 x 10": (Axis(6), Axis(25, ordered=True), Axis(3), Axis(10, ordered=True)),
}
BEGINNINGS: Final = 12
ROWS: Final = 10
"""Of a p-identity strategy for all cells of a dashboard; with more, descent ended higher."""
HEAD: Final = (
    "cube",
    "what is read",
    "ours",
    "single cells",
    "marginals alike",
    "p-identity",
    "marginals for it",
)


class Asked(Lattice, frozen=True):
    """A lattice with a workload of its own: the mean of some products of sets."""

    queries: Sequence[Sequence[Floats]]

    @cached_property
    def workload(self) -> Floats:
        """How much of what is read lies in each component, in the mean."""
        found = [
            outer([a.energies(q) for a, q in zip(self.axes, each, strict=True)]) for each in self.queries
        ]
        mean: Floats = np.mean(found, axis=0)
        return mean


def of(lattice: Lattice, share: Floats) -> float:
    """The error of shares of epsilon that add up to 1."""
    return sqrt(lattice.error((share / share.sum()) ** 2))


def gram(axis: Axis) -> Floats:
    """The mean of q q' over what is read along an axis, as ``Axis.workload`` has it."""
    n, basis = axis.cells, np.eye(axis.cells)
    ranges = np.array([[float(a <= i < b) for i in range(n)] for a in range(n) for b in range(a + 1, n + 1)])
    kinds = [np.ones((1, n)), basis, *([ranges] if axis.ordered else [])]
    found: Floats = np.mean([kind.T @ kind / len(kind) for kind in kinds], axis=0)
    return found


def p_identity(workload: Floats, rows: int, beginnings: int = BEGINNINGS) -> float:
    """The mean variance of the best p-identity strategy (McKenna et al., 2018) that descent finds, by a Gram matrix.

    The strategy is the identity above some ``rows``, each column divided by its sum.
    """
    n = len(workload)

    def error(given: Floats) -> tuple[float, Floats]:
        more = np.abs(given.reshape(rows, n))
        size = 1 + more.sum(axis=0)
        scaled = workload * np.outer(size, size)
        inner = np.linalg.inv(np.eye(rows) + more @ more.T) @ more
        left = scaled - (scaled @ more.T) @ inner
        both = left - inner.T @ (more @ left)
        slope = -2 * more @ both + 2 * np.diag(left) / size
        return float(np.trace(left)), (slope * np.sign(given.reshape(rows, n))).ravel()

    starts = (np.random.default_rng(seed).random(rows * n) for seed in range(beginnings))
    return float(min(minimize(error, start, jac=True, method="L-BFGS-B").fun for start in starts))


def best_marginals(lattice: Lattice) -> float:
    """Shares of all marginals, by descent from several beginnings."""

    def error(given: Floats) -> tuple[float, Floats]:
        share = np.exp(given - given.max())
        share = (share / share.sum()).reshape(lattice.shape)
        found = lattice.error(share**2)
        slope = -2 * share * lattice.gains(share**2) / found
        return float(np.log(found)), (share * (slope - (slope * share).sum())).ravel()

    starts = (np.random.default_rng(seed).normal(0, 2, prod(lattice.shape)) for seed in range(BEGINNINGS))
    found = min(minimize(error, start, jac=True, method="L-BFGS-B").fun for start in starts)
    return sqrt(np.exp(found))


def dashboard(axes: tuple[Axis, ...]) -> list[list[Floats]]:
    """Six charts under ten filters, on months, wards and reasons: the sets of cells along each axis."""
    months, wards, reasons = (np.eye(axis.size)[: axis.cells] for axis in axes)
    filters = [
        (slice(*months_of), slice(*wards_of), slice(*reasons_of))
        for months_of, wards_of, reasons_of in (
            ((0, 24), (0, 4), (0, 5)),
            ((0, 12), (0, 4), (0, 5)),
            ((3, 6), (0, 4), (0, 5)),
            ((13, 14), (0, 4), (0, 5)),
            ((9, 21), (0, 4), (0, 5)),
            ((0, 24), (0, 1), (0, 5)),
            ((0, 24), (0, 2), (0, 5)),
            ((0, 12), (0, 4), (1, 3)),
            ((9, 21), (1, 2), (1, 4)),
            ((3, 6), (1, 2), (0, 5)),
        )
    ]
    charts = ((0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0))
    found = []
    for chart in charts:
        for chosen in filters:
            blocks = (months[chosen[0]], wards[chosen[1]], reasons[chosen[2]])
            sets = [
                b if keyed else b.sum(axis=0, keepdims=True) for b, keyed in zip(blocks, chart, strict=True)
            ]
            found += [[a, b, c] for a in sets[0] for b in sets[1] for c in sets[2]]
    return found


def row(name: str, read: str, lattice: Lattice, product: float | None) -> tuple[str, ...]:
    """One line of the table: errors in units of the least one of the others."""
    single, alike = np.zeros(lattice.shape), np.ones(lattice.shape)
    single[(-1,) * single.ndim] = 1.0
    ours = of(lattice, shares(Lattice(lattice.axes), concentrated=False))
    others = [of(lattice, single), of(lattice, alike), product, best_marginals(lattice)]
    best = min(one for one in others if one is not None)
    shown = ("" if one is None else f"{one / best:.2f}" for one in others)
    return (name, read, f"{ours / best:.2f}", *shown)


def measured() -> list[tuple[str, ...]]:
    """The table."""
    rows: list[tuple[str, ...]] = [HEAD]
    for name, axes in CUBES.items():
        product = sqrt(prod(min(p_identity(gram(axis), p) for p in (1, 2)) for axis in axes))
        rows.append(row(name, "everything, a cell or a range, along each dimension", Lattice(axes), product))
    name, axes = next(iter(CUBES.items()))
    asked = dashboard(axes)
    vectors = np.array([outer([q[: a.cells] for a, q in zip(axes, of, strict=True)]).ravel() for of in asked])
    whole = sqrt(p_identity(vectors.T @ vectors / len(vectors), ROWS, 2))
    rows.append(row(name, "six charts, ten filters", Asked(axes, asked), whole))
    return rows


def main(arguments: Sequence[str]) -> int:
    """Print the table, and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    given, before = parser.parse_args(arguments), os.getloadavg()[0]
    rows = measured()
    result = Result(f"{conditions(before)}. Errors in units of the least of the other strategies.", rows)
    sys.stdout.write(f"{result}\n")
    if given.write:
        write("cubes", result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
