"""``python -m tests.bench.results``: the tables of docs/measured.md, filled from the files in docs/measured/.

A benchmark with ``--write`` stores its table as a file, cells between tabs, below a line that says when and on what it
was measured, and fills the page. In the page each table has a place, between two comments that name its file.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.report import conditions, markdown

DOCS = Path(__file__).parents[2] / "docs"
PAGE, FOLDER = DOCS / "measured.md", DOCS / "measured"
PLACE = re.compile(r"(<!-- measured: ([\w-]+): begin -->\n).*?(<!-- measured: \2: end -->)", re.DOTALL)
SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Result:
    """A table of cells, its head first, and the conditions it was measured under."""

    conditions: str
    rows: Sequence[Sequence[str]]

    def cell(self, row: Sequence[str], column: str) -> str:
        """In the first row that begins with ``row``, below the first heading ``column``."""
        first = next(cells for cells in self.rows if list(cells[: len(row)]) == list(row))
        return first[self.rows[0].index(column)]

    def __str__(self) -> str:
        table = markdown(self.rows)
        return f"{self.conditions}\n\n{table}" if self.conditions else table


Cell = tuple[str, tuple[str, ...], str]
"""A file, how a row of it begins, a column."""
HEADLINES: tuple[tuple[str, Cell, str, Cell], ...] = (
    (
        "error of a count at epsilon 1 (root mean square)",
        ("utility", ("count",), "proxy"),
        "Laplace noise",
        ("utility", ("count",), "Laplace, split evenly"),
    ),
    (
        "error of each of ten sums in one statement, values from 0 to 100, epsilon 1 for all ten",
        ("utility", ("10 sums",), "proxy"),
        "Laplace noise",
        ("utility", ("10 sums",), "Laplace, split evenly"),
    ),
    (
        "error of an average age of 30,162 people at epsilon 1",
        ("rivals-errors", ("Adult, 30,162 people", "1", "an average"), "dpproxy"),
        "diffprivlib",
        ("rivals-errors", ("Adult, 30,162 people", "1", "an average"), "diffprivlib"),
    ),
    (
        "count, average and sum of 10 million rows in 20 groups",
        ("proxy", ("20 regions, 10 M rows",), "proxy"),
        "DuckDB without privacy",
        ("proxy", ("20 regions, 10 M rows",), "bare DuckDB"),
    ),
    (
        "a count of 1,000 rows",
        ("proxy", ("smallest statement, charged",), "proxy"),
        "DuckDB in the same process",
        ("proxy", ("smallest statement, bare DuckDB in process",), "proxy"),
    ),
    (
        "charged answers per second on 16 connections",
        ("throughput", ("freshly charged",), "answers/s"),
        "the same question again, free",
        ("throughput", ("replayed",), "answers/s"),
    ),
    (
        "fetching a million rows of a protected view with psql",
        ("rows", ("protected view", "psql, text"), "proxy"),
        "PostgreSQL",
        ("rows", ("protected view", "psql, text"), "PostgreSQL"),
    ),
)
"""What is measured, where; beside what, where."""


def read(name: str) -> Result:
    """The stored table of that name."""
    first, *lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return Result(first.removeprefix("#").strip(), [line.split("\t") for line in lines])


def write(name: str, result: Result) -> None:
    """Store a table and fill the page anew."""
    lines = [f"# {result.conditions}".strip(), *("\t".join(row) for row in result.rows)]
    (FOLDER / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    main()


def command(name: str, measured: Callable[[bool], Sequence[Sequence[str]]]) -> None:
    """Print a table, measured as a whole or ``--small``, and ``--write`` it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="few of it: shows that it works")
    parser.add_argument("--write", action="store_true", help="store the table for docs/measured.md")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    rows = measured(options.small)
    result = Result(f"{conditions(before)}.", rows)
    sys.stdout.write(f"{result}\n")
    if options.write:
        write(name, result)


def summary() -> Result:
    """One line for each headline, from the other tables."""
    rows = [["", "dpproxy", "compared with", ""]]
    for what, ours, beside, theirs in HEADLINES:
        values = (read(name).cell(row, column) for name, row, column in (ours, theirs))
        rows.append([what, next(values), beside, next(values)])
    return Result("", rows)


def filled(page: str) -> str:
    """The page with every table as it is stored.

    >>> filled("no table")
    'no table'
    """

    def place(found: re.Match[str]) -> str:
        result = summary() if found[2] == SUMMARY else read(found[2])
        return f"{found[1]}\n{result}\n\n{found[3]}"

    return PLACE.sub(place, page)


def main() -> None:
    """Fill the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
