"""Chapters 2 and 3 of the thesis, microaggregation and swapping: its numbers recomputed on Census.

    python -m examples.thesis.kanonymity [--out FOLDER]

The thesis is J. Soria-Comas, "Improving data utility in differential privacy and k-anonymity", 2013. Figures go to
examples/thesis/out and need the extra: pip install 'dpproxy[plots]'.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpproxy.anonymize import measures
from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import Anonymized, Attribute, Role, ViewRequest, silent
from examples.thesis.census import FOUR, NAMES, QUASI, Rows, census, declared
from examples.thesis.command import options, show
from examples.thesis.tables import Figure, compared, table

SIZES = (5, 11, 25, 100, 300)
BUILDS = 5
"""Builds of what is random, of which the mean is shown."""
PRINTED = {
    "mdav": (".055", ".078", ".11", ".17", ".38"),
    "mdav_swap": (".037", ".061", ".091", ".19", ".37"),
    "ir_swap": (".0021", ".0038", ".0061", ".020", ".087"),
}
"""Mean change of correlations at each of ``SIZES``."""
PRINTED_SD = {"mdav": ".064", "mdav_swap": ".045", "ir_swap": ".0041"}
"""Its standard deviation at k = 5."""
TITLES = {"mdav": "MDAV-ID", "mdav_swap": "MDAV-SWAP", "ir_swap": "IR-SWAP"}
WHY = {
    "mdav": "not explained: nothing is random here, and no order of the rows gives another value",
    "mdav_swap": "other permutations were drawn",
    "ir_swap": "other permutations were drawn; a few outliers decide",
}
"""Where the number printed is not ours when rounded."""
MICROAGGREGATED = {
    2: ("3.0655E9", "45.28"),
    5: ("1.2015E10", "18.43"),
    15: ("2.4100E10", "6.48"),
    30: ("4.0043E10", "3.33"),
}
"""By k: the sum of squared errors and the percentage of correct links."""


def built(
    name: str, rows: Rows, attributes: tuple[Attribute, ...], k: int, scale: str = "none", **more: str
) -> Anonymized:
    """A release by the product's own method."""
    options = {"k": k, **more} if name == "ir_swap" else {"k": k, "scale": scale, **more}
    return METHODS[name].check(ViewRequest(attributes, options)).make(rows, os.urandom, silent)


@dataclass(frozen=True, slots=True)
class Aggregated:
    """MDAV on the four attributes: squared error in raw units, and correct links in percent."""

    k: int
    error: float
    links: float


def microaggregated(sizes: Sequence[int] = tuple(MICROAGGREGATED)) -> Iterator[Aggregated]:
    """Distances by 1.5 times the largest values."""
    rows = census(FOUR)
    attributes = declared(rows, FOUR, [Role.QUASI] * len(FOUR))
    for k in sizes:
        made = built("mdav", rows, attributes, k, "range")
        assert made.source is not None
        error = measures.squared_error(rows[made.source], made.rows, attributes, "none")
        yield Aggregated(k, error, measures.linkage(rows, made.rows, made.source, attributes))


def microaggregation() -> Iterator[Figure]:
    """Each number to the digits printed."""
    for found in microaggregated():
        error, links = MICROAGGREGATED[found.k]
        digits, power = error.split("E")
        yield Figure(f"squared error / 1E{power}, k = {found.k}", digits, found.error / 10 ** int(power))
        yield Figure(f"correct links, percent, k = {found.k}", links, found.links)


@dataclass(frozen=True, slots=True)
class Change:
    """Mean and standard deviation of the change of correlations; pairs of quasi-identifiers count as 0."""

    mean: float
    sd: float


def change(name: str, k: int, scale: str = "none", builds: int = 1, **more: str) -> Change:
    """Of one method on all 13 attributes: MDAV-ID aggregates them all, swapping moves the confidential ones."""
    rows = census()
    known = Role.BOTH if name == "mdav" else Role.QUASI
    hidden = Role.BOTH if name == "mdav" else Role.SENSITIVE
    attributes = declared(rows, NAMES, [known] * QUASI + [hidden] * (len(NAMES) - QUASI))
    before, pairs = measures.correlations(rows), np.triu_indices(len(NAMES), 1)
    found = []
    for _ in range(1 if name == "mdav" else builds):
        apart = np.abs(measures.correlations(built(name, rows, attributes, k, scale, **more).rows) - before)
        apart[:QUASI, :QUASI] = 0
        found.append((apart[pairs].mean(), apart[pairs].std()))
    return Change(*(float(number) for number in np.mean(found, axis=0)))


def correlations() -> Iterator[list[str]]:
    """Rows of the table of chapter 3, and what distances by declared widths make of it."""
    for name, printed in PRINTED.items():
        for k, mean in zip(SIZES, printed, strict=True):
            found = change(name, k, builds=BUILDS)
            figure = Figure(f"{TITLES[name]}, k = {k}", mean, found.mean)
            off = found.mean / float(mean) - 1
            shown = f"{mean} ({PRINTED_SD[name]})" if k == SIZES[0] else mean
            scaled = "" if name == "ir_swap" else f"{change(name, k, 'range', BUILDS).mean:.4f}"
            yield [
                figure.what,
                shown,
                f"{found.mean:.4f} ({found.sd:.4f})",
                f"{off:+.1%}",
                scaled,
                "" if figure.agrees == "yes" else WHY[name],
            ]


def uninformed() -> Iterator[list[str]]:
    """Rows of a table: the same for swapping that keeps the confidential values of a row together."""
    for k in SIZES:
        found = [
            change("mdav_swap", k, scale, BUILDS, intruder="uninformed").mean for scale in ("none", "range")
        ]
        yield [f"k = {k}", *(f"{mean:.4f}" for mean in found)]


def tables() -> Iterator[str]:
    """Every table, as text."""
    yield compared(
        "MDAV on FICA, FEDTAX, INTVAL, POTHVAL, each over 1.5 times its maximum", list(microaggregation())
    )
    head = ["", "thesis", "here", "deviation", "by widths", ""]
    yield table(
        "Mean (standard deviation) of |change| of all correlations, 13 attributes, unscaled",
        head,
        list(correlations()),
    )
    yield table(
        "The same, MDAV-SWAP for uninformed intruders", ["", "unscaled", "by widths"], list(uninformed())
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables and draw the figures."""
    return show("kanonymity", tables(), options("kanonymity", __doc__).parse_args(arguments).out)


if __name__ == "__main__":
    sys.exit(main())
