"""``python -m tests.bench.wide [--small] [--write] [--peer PYTHON --folder FOLDER]``: which method wins on which table.

200 random questions of three kinds for each build by each method, on tables of several widths and sizes. With
``--peer`` the published MST and AIM as well (SmartNoise Synthesizers): their releases are made in FOLDER, which takes
hours, and those that are there are not made again. ``--write`` stores the tables and the picture for docs/measured.md.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import ceil
from pathlib import Path
from typing import Final

import duckdb
import matplotlib as mpl
import numpy as np
import numpy.typing as npt

from dpproxy.anonymize import measures
from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import (
    Attribute,
    Categories,
    LatticeDomain,
    OptionValue,
    Table,
    ViewRequest,
    silent,
)
from dpproxy.anonymize.space import ends
from examples.thesis.census import NAMES, census
from tests.bench.report import conditions
from tests.bench.results import FOLDER, Result, write

mpl.use("Agg")
from matplotlib import pyplot as plt

Floats = npt.NDArray[np.float64]

ADULT = Path(__file__).parents[2] / "examples" / "data" / "adult.parquet"
NUMBERS: Final = {
    "age": (0, 120),
    "fnlwgt": (0, 1_500_000),
    "education_num": (1, 16),
    "capital_gain": (0, 100_000),
    "capital_loss": (0, 5_000),
    "hours_per_week": (0, 100),
}
"""The declared bounds of Adult's numbers; its other columns are categories."""
OTHERS: Final = ("workclass", "marital_status", "relationship", "race", "sex", "native_country", "income")
COLUMNS: Final[dict[int, tuple[str, ...]]] = {
    4: ("age", "education_num", "occupation", "hours_per_week"),
    8: (
        *("age", "workclass", "education_num", "marital_status"),
        *("occupation", "sex", "hours_per_week", "income"),
    ),
    14: (*NUMBERS, "occupation", *OTHERS),
}
EPSILONS: Final = tuple(map(Fraction, ("0.1", "1", "10")))
KINDS: Final = ("ranges", "cells", "averages")
QUESTIONS: Final = 200
PARTS: Final = 16
"""Numbers are cut into so many parts where cells of two columns are counted."""
FEWEST: Final = 100
"""Averages are asked of so many rows at least."""
PICTURE = FOLDER / "wide.png"
MUCH: Final = 4
"""A factor that is drawn so dark that its number is white."""


@dataclass(frozen=True, slots=True)
class World:
    """A table with its declared domains."""

    name: str
    rows: Table
    attributes: tuple[Attribute, ...]

    def build(self, method: str, options: Mapping[str, OptionValue]) -> Table:
        """What the method releases of it."""
        request = ViewRequest(self.attributes, options, len(self.rows))
        return METHODS[method].check(request).make(self.rows, os.urandom, silent).rows

    def some(self, count: int) -> "World":
        """Every so many-th of the rows."""
        return World(
            f"{self.name}, {count} rows", self.rows[:: len(self.rows) // count][:count], self.attributes
        )


def adult(columns: int) -> World:
    """30,162 people."""
    found, attributes = [], []
    with duckdb.connect() as connection:
        read = connection.sql(f"SELECT {', '.join(COLUMNS[columns])} FROM '{ADULT}'").fetchnumpy()
    for name in COLUMNS[columns]:
        if name in NUMBERS:
            found.append(read[name].astype(np.int64))
            attributes.append(Attribute(name, LatticeDomain(*NUMBERS[name])))
        else:
            values, places = np.unique(read[name].astype(str), return_inverse=True)
            found.append(places.astype(np.int64))
            attributes.append(Attribute(name, Categories(values.size)))
    return World(f"Adult, {columns} columns", np.stack(found, axis=1), tuple(attributes))


def taxes() -> World:
    """1,080 households, 13 amounts with long tails; domains to 1.5 times the largest."""
    rows = census()
    tops = rows.max(axis=0).tolist()
    attributes = (Attribute(n, LatticeDomain(0, ceil(1.5 * top))) for n, top in zip(NAMES, tops, strict=True))
    return World("Census, 13 columns", rows, tuple(attributes))


def visits(count: int = 600) -> World:
    """A small made-up table of six columns that depend on each other, the same in every run."""
    random = np.random.default_rng(19)
    ward, sex = random.integers(0, 5, count), random.integers(0, 2, count)
    age = np.clip(random.normal(30 + 10 * ward, 12), 0, 100)
    days = np.clip(random.geometric(0.5 / (1 + ward)), 1, 30)
    cost = np.clip(days * random.normal(300 + 2 * age, 60), 0, 20_000)
    rows = np.column_stack([ward, sex, age, days, cost, random.integers(0, 12, count)]).astype(np.int64)
    domains = (
        Categories(5),
        Categories(2),
        LatticeDomain(0, 100),
        LatticeDomain(1, 30),
        LatticeDomain(0, 20_000),
        LatticeDomain(0, 11),
    )
    names = ("ward", "sex", "age", "days", "cost", "month")
    return World("Visits, 6 columns", rows, tuple(map(Attribute, names, domains)))


WORLDS: Final[tuple[Callable[[], World], ...]] = (*(partial(adult, c) for c in COLUMNS), taxes, visits)
SHOWN: Final[dict[str, tuple[str, dict[str, OptionValue]]]] = {
    "dp_kdtree": ("dp_kdtree", {}),
    "dp_marginals": ("dp_marginals", {}),
    "the same, delta 1E-6": ("dp_marginals", {"delta": Fraction(1, 10**6)}),
    "dp_individual_ranking": ("dp_individual_ranking", {}),
}
"""What is compared: a method and its options."""
PEERS: Final = {
    "mst": "MST, delta 1E-6",
    "aim": "AIM, delta 1E-6",
    "mst-pure": "MST, no delta",
    "aim-pure": "AIM, no delta",
}
"""Those without a delta are published by nobody: they are made elsewhere, with Laplace noise and losses that add up."""


def errors(world: World, released: Table, seed: int) -> Floats:
    """The mean errors of questions of each kind, in percent; the same questions for the same seed."""
    rows, attributes = world.rows, world.attributes
    random = np.random.default_rng(seed)
    numbers = [place for place, a in enumerate(attributes) if isinstance(a.domain, LatticeDomain)]
    found: tuple[list[float], ...] = ([], [], [])

    def condition(place: int) -> tuple[int, int, int]:
        drawn = random.choice(rows[:, place], 2 if place in numbers else 1)
        return place, int(drawn.min()), int(drawn.max())

    for _ in range(QUESTIONS):
        first, second = (condition(int(place)) for place in random.choice(len(attributes), 2, replace=False))
        counts = [(_selected(table, first) & _selected(table, second)).sum() for table in (rows, released)]
        found[0].append(abs(counts[1] - counts[0]) / len(rows))
        cells = [_cells(table, attributes, (first[0], second[0])) for table in (rows, released)]
        found[1].append(float(np.abs(cells[1] - cells[0]).sum()) / 2)
        asked = int(random.choice(numbers))
        where = condition(int(random.choice([p for p in range(len(attributes)) if p != asked])))
        low, high = ends(attributes[asked].domain)
        exact, made = (table[_selected(table, where), asked] for table in (rows, released))
        if exact.size >= FEWEST:
            mean = made.mean() if made.size else (low + high) / 2
            found[2].append(abs(float(mean - exact.mean())) / (high - low))
    return 100 * np.array([np.mean(kind) for kind in found])


def _selected(table: Table, condition: tuple[int, int, int]) -> npt.NDArray[np.bool_]:
    place, low, high = condition
    chosen: npt.NDArray[np.bool_] = (table[:, place] >= low) & (table[:, place] <= high)
    return chosen


def _cells(table: Table, attributes: Sequence[Attribute], pair: tuple[int, int]) -> Floats:
    parts = []
    for place in pair:
        low, high = ends(attributes[place].domain)
        number = isinstance(attributes[place].domain, LatticeDomain)
        parts.append((table[:, place] - low) * PARTS // (high - low + 1) if number else table[:, place])
    return np.bincount(parts[0] * 64 + parts[1], minlength=64 * 64) / max(len(table), 1)


Found = dict[tuple[str, Fraction, str], Floats]
"""By world, epsilon and method."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    worlds: Sequence[Callable[[], World]] = WORLDS
    epsilons: Sequence[Fraction] = EPSILONS
    builds: int = 10
    matched: int = 10
    small: Sequence[Callable[[], World]] = field(
        default=(*(lambda c=c: adult(c).some(500) for c in COLUMNS), taxes, visits)
    )


SMALL: Final = Effort((visits,), EPSILONS[1:2], 1, 1, (partial(visits, 60),))


def measure(effort: Effort, folder: Path | None) -> Iterator[tuple[tuple[str, Fraction, str], Floats]]:
    """The errors of every method in every world; of peers where their releases are in ``folder``."""
    for world in (make() for make in effort.worlds):
        for epsilon in effort.epsilons:
            for shown, (method, options) in SHOWN.items():
                if any(isinstance(a.domain, Categories) for a in world.attributes) and "ranking" in method:
                    continue
                made = [world.build(method, {"epsilon": epsilon, **options}) for _ in range(effort.builds)]
                found = [errors(world, table, seed) for seed, table in enumerate(made)]
                yield (world.name, epsilon, shown), np.mean(found, axis=0)
            for peer, shown in PEERS.items():
                path = folder and folder / f"{world.name}.{peer}.{float(epsilon):g}.npz"
                if path and path.exists():
                    released = np.load(path)["rows"]
                    found = [errors(world, released, seed) for seed in range(effort.builds)]
                    yield (world.name, epsilon, shown), np.mean(found, axis=0)


def released_by_peers(python: str, folder: Path, effort: Effort) -> None:
    """Give the tables to the peers' script, which makes their releases in ``folder``."""
    for world in (make() for make in effort.worlds):
        domains = [(*ends(a.domain), isinstance(a.domain, LatticeDomain)) for a in world.attributes]
        np.savez(folder / f"{world.name}.npz", rows=world.rows, domains=np.array(domains))
    script = Path(__file__).parent / "rivals" / "with_synthesizers.py"
    subprocess.run(
        [python, str(script), str(folder), *(f"{float(e):g}" for e in effort.epsilons)], check=True
    )


def table(found: Found) -> list[list[str]]:
    """A row for each world and epsilon."""
    order = sorted(
        (*SHOWN, *PEERS.values()), key=lambda name: "1E-6" in name
    )  # beside those of the same promise
    methods = [name for name in order if any(key[2] == name for key in found)]
    rows = [["table", "epsilon", *methods]]
    for world, epsilon in dict.fromkeys(key[:2] for key in found):
        cells = [found.get((world, epsilon, method)) for method in methods]
        shown = ["" if e is None else " / ".join(f"{value:.2f}" for value in e) for e in cells]
        rows.append([world, f"{float(epsilon):g}", *shown])
    return rows


def matched(effort: Effort) -> Iterator[list[str]]:
    """A table: the mean matched error over that of one exact mean, by the methods that ``auto`` chooses from."""
    yield ["table", "epsilon", "dp_kdtree", "dp_marginals", "one noisy mean", "auto chose"]
    for world in (make() for make in effort.small):
        mean: dict[str, OptionValue] = {"k": len(world.rows)}
        for epsilon in effort.epsilons:
            chosen = (
                METHODS["auto"]
                .check(ViewRequest(world.attributes, {"epsilon": epsilon}, len(world.rows)))
                .method
            )
            cells = []
            for method, options in (("dp_kdtree", {}), ("dp_marginals", {}), ("dp_microaggregation", mean)):
                made = [world.build(method, {"epsilon": epsilon, **options}) for _ in range(effort.matched)]
                worst = [matched_error(world, one) for one in made]
                cells.append(f"{np.mean(worst):.2f}")
            yield [world.name, f"{float(epsilon):g}", *cells, chosen]


def matched_error(world: World, released: Table) -> float:
    """The matched error over that of the exact mean; without a row, that of the middle of the domain."""
    if not len(released):
        middle = [sum(ends(a.domain)) // 2 for a in world.attributes]
        released = np.array([middle])
    most = measures.spread(world.rows, world.attributes)
    return measures.matched_error(world.rows, released, world.attributes) / most


def draw(found: Found, path: Path) -> None:
    """Which of ``dp_kdtree`` and ``dp_marginals`` has the smaller error, and by how much."""
    worlds, epsilons = (list(dict.fromkeys(key[at] for key in found)) for at in (0, 1))
    figure, axes = plt.subplots(1, len(KINDS), figsize=(9, 3.2), layout="constrained", sharey=True)
    for kind, (axis, name) in enumerate(zip(axes, KINDS, strict=True)):
        factors = np.array(
            [
                [found[w, e, "dp_kdtree"][kind] / found[w, e, "dp_marginals"][kind] for e in epsilons]
                for w in worlds
            ]
        )
        axis.imshow(np.log2(factors), cmap="RdBu", vmin=-3, vmax=3, aspect="auto")
        for row, column in np.ndindex(factors.shape):
            factor = factors[row, column]
            shown = f"{max(factor, 1 / factor):.{int(max(factor, 1 / factor) < 10)}f}x"
            colour = "white" if factor > MUCH or factor < 1 / MUCH else "black"
            axis.text(column, row, shown, color=colour, ha="center", va="center")
        axis.set(title=name, xticks=range(len(epsilons)), yticks=range(len(worlds)), xlabel="epsilon")
        axis.set_xticklabels([f"{float(e):g}" for e in epsilons])
        axis.set_yticklabels(worlds)
    figure.suptitle(
        "blue: dp_marginals is so many times as exact as dp_kdtree; red: the other way round", size="medium"
    )
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.wide", description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="one table and one build: shows that it works")
    parser.add_argument("--write", action="store_true", help="store the tables and the picture")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has smartnoise-synth")
    parser.add_argument("--folder", type=Path, help="where the releases of peers are")
    options = parser.parse_args(arguments)
    effort, load = SMALL if options.small else Effort(), os.getloadavg()[0]
    if options.peer and options.folder:
        released_by_peers(options.peer, options.folder, effort)
    found = dict(measure(effort, options.folder))
    about = f"{conditions(load)}. Means of {effort.builds} builds of ours and one of each peer"
    tables = {
        "wide": Result(f"{about}; in percent: {' / '.join(KINDS)}.", table(found)),
        "auto": Result(f"{conditions(load)}. Means of {effort.matched} builds.", list(matched(effort))),
    }
    for name, result in tables.items():
        sys.stdout.write(f"{result}\n\n")
        if options.write:
            write(name, result)
    if options.write:
        draw(found, PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
