"""Chapter 6 of the thesis, differential privacy by microaggregation: its numbers beside ours, on Census and Adult.

    python -m examples.thesis.microaggregation [--builds 20] [--out FOLDER]

The thesis is J. Soria-Comas, "Improving data utility in differential privacy and k-anonymity", 2013. Its builds are
made again here for comparison only: they are not differentially private. Figures go to examples/thesis/out and need
the extra: pip install 'dpproxy[plots]'.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from dpproxy.anonymize import insensitive, measures, taxonomy
from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import Attribute, ConceptGraph, OptionValue, Role, ViewRequest, silent
from examples.thesis.adult import adult, distances_apart, transported
from examples.thesis.census import FOUR, Rows, census, declared
from examples.thesis.command import options, show
from examples.thesis.tables import Figure, compared, table
from udfs.mechanisms import Laplace, Staircase
from udfs.privacy import NANO

BUILDS = 5
EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(10))
PUBLISHED = {Fraction(1, 10): (100, "1.5"), Fraction(1): (30, "0.25"), Fraction(10): (5, "0.098")}
"""By epsilon: k and the matched squared error of the thesis' build, in 1E11."""
METHODS_HERE: dict[str, tuple[str, dict[str, OptionValue]]] = {
    "private boundaries": ("dp_kdtree", {}),
    "private boundaries, in dollars": ("dp_kdtree", {"scale": "none"}),
    "individual ranking": ("dp_individual_ranking", {"joint": "none"}),
    "insensitive, one point": ("dp_microaggregation", {}),
    "insensitive, corners": ("dp_microaggregation", {"reference": "corners"}),
}
TARGETS = {Fraction(1, 10): ("1.6", "1.4"), Fraction(1): ("0.45", "0.25"), Fraction(10): ("0.11", "0.09")}
"""What this project set out for, and hoped for, in 1E11."""
ADULT_SIZES = {Fraction(1, 10): 300, Fraction(1): 100, Fraction(10): 25}
"""k of the thesis' build on Adult."""


@cache
def four() -> tuple[Rows, tuple[Attribute, ...]]:
    """FICA, FEDTAX, INTVAL, POTHVAL, and their domains from 0 to 1.5 times the largest value."""
    rows = census(FOUR)
    return rows, declared(rows, FOUR, [Role.BOTH] * len(FOUR))


def error(released: Rows) -> float:
    """Matched squared error in squared dollars."""
    rows, attributes = four()
    return measures.matched_error(rows, released, attributes, "none") if len(released) else np.inf


@dataclass(frozen=True, slots=True)
class Errors:
    """Mean over builds, its standard error, and the largest."""

    mean: float
    sure: float
    worst: float


def several(build: object, builds: int) -> Errors:
    """Judge ``builds`` releases of a function without arguments."""
    assert callable(build)
    found = [error(build()) for _ in range(builds)]
    return Errors(float(np.mean(found)), float(np.std(found) / len(found) ** 0.5), max(found))


def ours(name: str, epsilon: Fraction, builds: int) -> Errors:
    """One of our methods, k chosen by itself."""
    rows, attributes = four()
    method, options = METHODS_HERE[name]
    build = METHODS[method].check(ViewRequest(attributes, {"epsilon": epsilon, **options}, 1000))
    return several(lambda: build.make(rows, os.urandom, silent).rows, builds)


def thesis(epsilon: Fraction, k: int, builds: int) -> Errors:
    """The build of the thesis: noise of width / (k epsilon) on each record's centroid, however many clusters."""
    rows, attributes = four()
    arranged = rows[insensitive.arranged(rows, attributes, insensitive.corners(attributes), k)]
    sizes = insensitive.sizes(len(rows), k)
    middles = np.repeat(np.add.reduceat(arranged, np.cumsum(sizes) - sizes) // sizes[:, None], sizes, axis=0)
    tops = np.array([a.domain.high for a in attributes])  # type: ignore[union-attr]
    widths = tuple(-(-int(top) // k) for top in tops)
    law = Laplace(widths, int(epsilon * NANO), 1)
    return several(lambda: np.clip(middles + law.draw(len(rows)), 0, tops), builds)


def mean_alone(epsilon: Fraction, builds: int) -> Errors:
    """Nothing but the noisy mean, in one joint draw."""
    rows, attributes = four()
    tops = np.array([a.domain.high for a in attributes])  # type: ignore[union-attr]
    law = Staircase.best((*(int(top) // 2 + 1 for top in tops), 1), int(epsilon * NANO))

    def build() -> Rows:
        *sums, count = (np.append((rows - tops // 2).sum(axis=0), len(rows)) + law.draw(1)[0]).tolist()
        middle = tops // 2 + np.array(sums) // max(count, 1)
        return np.repeat(np.clip(middle, 0, tops)[None, :], len(rows), axis=0)

    return several(build, builds)


def on_census(builds: int) -> Iterator[list[str]]:
    """One row for each build and epsilon; errors in 1E11."""
    for epsilon in EPSILONS:
        k, printed = PUBLISHED[epsilon]
        again = thesis(epsilon, k, builds)
        loss = len(four()[0]) // k * len(FOUR)
        why = f"really loses up to {loss} times epsilon, and {k} times as much for a draw per record"
        yield _line(f"{float(epsilon):g}", f"thesis, k = {k}", again, float(printed), why)
        yield _line("", "noisy mean alone", mean_alone(epsilon, builds), float(printed), "")
        for name in METHODS_HERE:
            found = ours(name, epsilon, builds)
            aims = ", ".join(
                f"{aim} {'met' if found.mean / 1e11 <= float(aim) else 'missed'}" for aim in TARGETS[epsilon]
            )
            yield _line(
                "", name, found, float(printed), f"aims: {aims}" if name.startswith("private") else ""
            )


def _line(epsilon: str, name: str, found: Errors, printed: float, why: str) -> list[str]:
    mean = found.mean / 1e11
    return [
        epsilon,
        name,
        f"{printed:g}",
        f"{mean:.3f} +- {found.sure / 1e11:.3f}",
        f"{found.worst / 1e11:.2f}",
        f"{mean / printed - 1:+.0%}",
        why,
    ]


def on_adult(builds: int) -> Iterator[list[str]]:
    """Occupation and native country: how far released frequencies are off, and the matched semantic error."""
    rows, attributes = adult()
    for epsilon in EPSILONS:
        k = ADULT_SIZES[epsilon]
        build = METHODS["dp_kdtree"].check(ViewRequest(attributes, {"epsilon": epsilon}, 30_000))
        both = {
            f"thesis' way, k = {k}: not private": lambda epsilon=epsilon, k=k: thesis_on_adult(
                rows, attributes, epsilon, k
            ),
            "dp_kdtree": lambda build=build: build.make(rows, os.urandom, silent).rows,
        }
        for name, make in both.items():
            made = [make() for _ in range(builds)]
            apart = np.mean([distances_apart(rows, one, attributes) for one in made], axis=0)
            errors = [transported(rows, one, attributes) for one in made[:2]]
            yield [
                f"{float(epsilon):g}",
                name,
                *(f"{value:.4f}" for value in apart),
                f"{np.mean(errors):.1f}",
            ]


def thesis_on_adult(rows: Rows, attributes: tuple[Attribute, ...], epsilon: Fraction, k: int) -> Rows:
    """A full epsilon for every cluster: drawn centroids of insensitive clusters."""
    arranged = rows[insensitive.arranged(rows, attributes, insensitive.corners(attributes), k)]
    sizes = insensitive.sizes(len(rows), k)
    labels = np.repeat(np.arange(sizes.size), sizes)
    columns = []
    for place, attribute in enumerate(attributes):
        tree = attribute.domain
        assert isinstance(tree, ConceptGraph)
        concepts = len(tree.parents)
        counts = np.bincount(labels * concepts + arranged[:, place], minlength=sizes.size * concepts)
        drawn = taxonomy.private_centroids(tree, counts.reshape(sizes.size, concepts), int(epsilon * NANO))
        columns.append(np.repeat(drawn, sizes))
    return np.stack(columns, axis=1)


def sensitivities() -> Iterator[Figure]:
    """The sensitivity of a centroid on each taxonomy, beside the distance of the boundaries that the thesis takes."""
    for attribute in adult()[1]:
        tree = attribute.domain
        assert isinstance(tree, ConceptGraph)
        low, high = taxonomy.boundaries(tree)
        taken = taxonomy.distances(tree)[low, high] / taxonomy.STEPS
        needed = taxonomy.sensitivity(tree) / taxonomy.STEPS
        why = "" if needed <= taken else "two other concepts are farther apart than the boundaries"
        yield Figure(f"sensitivity of a centroid, {attribute.name}", f"{taken:.4f}", needed, why)


def tables(builds: int = BUILDS) -> Iterator[str]:
    """Every table, as text."""
    head = ["epsilon", "", "thesis", "here", "worst", "deviation", ""]
    title = f"Census, four attributes: matched squared error in 1E11, mean of {builds} builds (one mean for all: 1.4)"
    yield table(title, head, list(on_census(builds)))
    head = ["epsilon", "", "joint", "occupation", "native_country", "matched error"]
    title = "Adult: total variation distances, and the matched squared semantic error"
    yield table(title, head, list(on_adult(builds)))
    yield compared(
        "Taxonomies: the boundaries' distance (thesis) and what a record can really move",
        list(sensitivities()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables and draw the figures."""
    parser = options("microaggregation", __doc__)
    parser.add_argument(
        "--builds", type=int, default=BUILDS, metavar="N", help="builds that means are taken of"
    )
    given = parser.parse_args(arguments)
    return show("microaggregation", tables(given.builds), given.out)


if __name__ == "__main__":
    sys.exit(main())
