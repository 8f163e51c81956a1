"""``python -m tests.bench.parity [--small] [--write]``: structure that only three or four columns show together.

A column is the parity of two or three others, beside columns of numbers that tell nothing. All fewer columns of them
are independent, so that a model of pairs has none of it: half of its rows contradict the parity. ``--write`` stores
the figures and the picture for docs/views-methods.md.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import Attribute, Categories, LatticeDomain, ViewRequest, silent
from tests.bench.report import conditions
from tests.bench.results import FOLDER, Result, write
from udfs.randomness import Words

mpl.use("Agg")
from matplotlib import pyplot as plt

ROWS: Final = 8000
EPSILONS: Final = tuple(map(Fraction, ("0.25", "0.5", "1", "2", "4", "8")))
BUILDS: Final = 5
BESIDE: Final = 3
CASES: Final = {"the third of three": 3, "the fourth of four": 4}
COMPARED: Final = ("dp_marginals", "dp_kdtree")
PICTURE = FOLDER / "parity.png"


def parity(columns: int, count: int) -> npt.NDArray[np.int64]:
    """Columns of 0 and 1 of which the last is the parity of the others: all fewer of them are independent."""
    others = np.arange(count)[:, None] >> np.arange(columns - 1) & 1
    return np.column_stack([others, others.sum(axis=1) % 2])


def contradicting(
    method: str,
    rows: npt.NDArray[np.int64],
    epsilon: Fraction | int,
    beside: int = 0,
    words: Words = os.urandom,
) -> float:
    """The share of the released rows that contradict the parity; ``beside`` columns of numbers tell nothing."""
    columns = rows.shape[1]
    attributes = (
        *(Attribute(name, Categories(2)) for name in "abcd"[:columns]),
        *(Attribute(name, LatticeDomain(0, 9)) for name in "efgh"[:beside]),
    )
    numbers = np.random.default_rng(1).integers(0, 10, (len(rows), beside))
    build = METHODS[method].check(ViewRequest(attributes, {"epsilon": epsilon}))
    made = build.make(np.column_stack([rows, numbers]), words, silent).rows[:, :columns]
    return float(np.mean(made.sum(axis=1) % 2))


def measure(
    epsilons: Sequence[Fraction], builds: int, count: int
) -> Iterator[tuple[str, Fraction, list[float]]]:
    """Of each case and epsilon the mean share by each method."""
    for case, columns in CASES.items():
        rows = parity(columns, count)
        for epsilon in epsilons:
            shares = (
                [contradicting(method, rows, epsilon, BESIDE) for _ in range(builds)] for method in COMPARED
            )
            yield case, epsilon, [float(np.mean(each)) for each in shares]


def draw(found: Sequence[tuple[str, Fraction, list[float]]], path: Path) -> None:
    """The shares against epsilon, with that of a model of pairs."""
    figure, axes = plt.subplots(1, len(CASES), figsize=(8, 3), layout="constrained", sharey=True)
    for axis, case in zip(axes, CASES, strict=True):
        own = [(epsilon, shares) for name, epsilon, shares in found if name == case]
        for place, method in enumerate(COMPARED):
            axis.plot([float(e) for e, _ in own], [100 * s[place] for _, s in own], marker="o", label=method)
        axis.axhline(50, color="grey", linestyle="--", label="pairs alone")
        axis.set(title=f"{case} is the parity", xscale="log", xlabel="epsilon", ylim=(0, 60))
        axis.set_xticks([float(e) for e, _ in own], [f"{float(e):g}" for e, _ in own])
        axis.minorticks_off()
    axes[0].set_ylabel("rows that contradict it, in percent")
    axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.parity", description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="one build of few rows: shows that it works")
    parser.add_argument("--write", action="store_true", help="store the table and the picture")
    options = parser.parse_args(arguments)
    load, epsilons, builds, count = os.getloadavg()[0], EPSILONS, BUILDS, ROWS
    if options.small:
        epsilons, builds, count = EPSILONS[-2:-1], 1, 1000
    found = list(measure(epsilons, builds, count))
    shown = [[case, f"{float(e):g}", *(f"{100 * s:.1f} %" for s in shares)] for case, e, shares in found]
    about = f"{conditions(load)}. {count} rows, {BESIDE} columns of numbers beside; means of {builds} builds."
    result = Result(about, [["parity", "epsilon", *COMPARED], *shown])
    sys.stdout.write(f"{result}\n")
    if options.write:
        write("parity", result)
        draw(found, PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
