"""``python -m tests.bench.utility [--small] [--write] [--peers PYTHON]``: root mean square errors at epsilon 1 in all.

The proxy is asked over the wire, by groups, many times; beside it Laplace noise with epsilon split evenly over
the measures, and, with ``--peers``, OpenDP and diffprivlib. The same rows for everybody.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import psycopg

from dpproxy.config.users import add_user
from dpproxy.system.process import serving
from tests.bench.mechanisms import asked
from tests.bench.proxy import CONFIG, PASSWORD
from tests.bench.report import conditions, number
from tests.bench.results import Result, write

GROUPS, ROWS, TOP = 200, 100, 100
STEP = Fraction(1, 10**9)
"""Each run asks for so much more accuracy than the run before, or its answer would be replayed."""
SUMS = (2, 4, 10)
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked in one statement, and what each answer is called."""

    name: str
    answers: tuple[str, ...]

    @property
    def sql(self) -> str:
        aggregates = {"count": "count(*)", "sum": "sum(x0)", "avg": "avg(x0)"}
        asked = [aggregates.get(answer, answer) for answer in self.columns]
        fresh = QUESTIONS.index(self) + 1  # or one question would be answered from what another released
        return f"SELECT {', '.join(asked)} FROM t WHERE k > -{fresh} GROUP BY k ORDER BY k"

    @property
    def columns(self) -> tuple[str, ...]:
        if not self.name.endswith(" sums"):
            return self.answers
        return tuple(f"sum(x{i})" for i in range(int(self.name.split()[0])))


QUESTIONS = (
    Question("count", ("count",)),
    Question("sum", ("sum",)),
    Question("avg", ("avg",)),
    Question("count, sum, avg", ("count", "sum", "avg")),
    *(Question(f"{d} sums", ("each",)) for d in SUMS),
)

Errors = dict[str, list[float]]
"""Of each question the error of each answer."""


def values() -> Floats:
    """Whole numbers from 0 to TOP, shape (columns, groups, rows), the same in every run."""
    count = max(SUMS) * GROUPS * ROWS
    mixed = (np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (mixed % np.uint64(TOP + 1)).astype(np.float64).reshape(max(SUMS), GROUPS, ROWS)


@contextmanager
def proxy(data: Floats) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A proxy over the rows, and an analyst's connection."""
    columns = range(len(data))
    with tempfile.TemporaryDirectory(prefix="dpproxy-utility-") as name:
        folder = Path(name)
        rows = {"k": np.repeat(np.arange(GROUPS), ROWS), **{f"x{i}": data[i].ravel() for i in columns}}
        with duckdb.connect(str(folder / "data.duckdb")) as connection:
            connection.register("rows", rows)
            kept = ", ".join(f"CAST(x{i} AS INTEGER) AS x{i}" for i in columns)
            connection.execute(
                "CREATE TABLE t (k INTEGER NOT NULL, "
                + ", ".join(f"x{i} INTEGER NOT NULL" for i in columns)
                + ")"
            )
            connection.execute(f"INSERT INTO t SELECT k, {kept} FROM rows")
        (folder / "policy.sql").write_text(policy(len(data)), encoding="utf-8")
        config = CONFIG.format(data="data.duckdb", threads=2)
        (folder / "dpproxy.toml").write_text(config, encoding="utf-8")
        add_user(folder / "users.toml", "ann", ["analyst"], PASSWORD)
        with serving(folder / "dpproxy.toml") as (_, address):
            url = f"postgresql://ann:{PASSWORD.replace(' ', '%20')}@{address}/main"
            with psycopg.connect(url, autocommit=True) as client:
                yield client


def policy(columns: int) -> str:
    """The statements that declare the table."""
    domains = {"k": GROUPS - 1, **{f"x{i}": TOP for i in range(columns)}}
    return "".join(
        f"{statement};\n"
        for statement in (
            "ALTER TABLE t SET PRIVACY KEY ROW",
            "ALTER TABLE t SET PRIVACY CEILING EPSILON 100000",
            *(
                f"ALTER TABLE t ALTER COLUMN {c} SET PRIVACY DOMAIN BETWEEN 0 AND {top}"
                for c, top in domains.items()
            ),
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 100000 DEFAULT EPSILON 1",
            "GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b",
        )
    )


def truths(data: Floats, question: Question) -> Floats:
    """Shape (groups, columns)."""
    known = {
        "count": np.full(GROUPS, float(ROWS)),
        "sum": data[0].sum(axis=1),
        "avg": data[0].mean(axis=1),
        **{f"sum(x{i})": column.sum(axis=1) for i, column in enumerate(data)},
    }
    return np.stack([known[column] for column in question.columns], axis=1)


def of_proxy(data: Floats, runs: int) -> Errors:
    """Measured over the wire."""
    found = {}
    with proxy(data) as client:
        client.execute("SET dp.clamp = off")
        client.execute("SET dp.reuse = 'never'")
        left = (
            len(QUESTIONS) * runs
        )  # each at more epsilon than all before: none follows from another's release
        for question in QUESTIONS:
            truth, squares = truths(data, question), []
            for _ in range(runs):
                left -= 1
                client.execute(f"SET dp.epsilon = {float(1 - left * STEP):.9f}".encode())
                answer = np.array(client.execute(question.sql.encode()).fetchall(), dtype=np.float64)
                squares.append((answer - truth) ** 2)
                if client.execute("SHOW dp.last_cost").fetchone() == ("0",):
                    raise RuntimeError(f"{question.name}: replayed, so not a new draw")
            say(f"{question.name}: {runs} runs")
            each = np.sqrt(np.mean(squares, axis=(0, 1)))
            found[question.name] = (
                list(each) if len(question.answers) > 1 else [float(np.sqrt(np.mean(squares)))]
            )
    return found


def of_laplace(data: Floats, runs: int) -> Errors:
    """Drawn in floats: the textbook's noise. An average is made of a centred sum and a count, half of epsilon each."""
    generator = np.random.default_rng()

    def noise(width: float, epsilon: float) -> Floats:
        return generator.laplace(scale=width / epsilon, size=(runs, GROUPS))

    half = TOP // 2
    total, count = noise(half, 0.5), noise(1, 0.5)
    centred = data[0].sum(axis=1) - half * ROWS + total
    average = np.clip(half + centred / np.maximum(ROWS + count, 1), 0, TOP) - data[0].mean(axis=1)
    return {
        "count": [rms(noise(1, 1))],
        "sum": [rms(noise(TOP, 1))],
        "avg": [rms(average)],
        "count, sum, avg": [rms(count), rms(total + half * count), rms(average)],
        **{f"{d} sums": [rms(noise(TOP, 1 / d))] for d in SUMS},
    }


def rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def rows(proxies: Errors, laplace: Errors, peers: dict[str, Errors]) -> list[list[str]]:
    """Cells of the table, its head first."""
    others = tuple(peers)
    found = [
        [
            "asked together",
            "error of",
            "proxy",
            "Laplace, split evenly",
            *others,
            "variance, Laplace over proxy",
        ]
    ]
    for question in QUESTIONS:
        for place, answer in enumerate(question.answers):
            ours, split = proxies[question.name][place], laplace[question.name][place]
            beside = [peers[name][question.name][place] for name in others]
            numbers = [number(x) for x in (ours, split, *beside)]
            found.append([question.name, answer, *numbers, f"{(split / ours) ** 2:.2f}"])
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.utility", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--small", action="store_true", help="few runs: shows that it works")
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="measure OpenDP and diffprivlib with it")
    parser.add_argument("--write", action="store_true", help="store the table for docs/measured.md")
    options = parser.parse_args(arguments)
    before = os.getloadavg()[0]
    data, runs = values(), 3 if options.small else 100
    request = {"groups": data[0].astype(int).tolist(), "runs": runs, "top": TOP}
    peers = asked(options.peers, {"errors": request}).get("errors", {})
    cells = rows(of_proxy(data, runs), of_laplace(data, 10 * runs), peers)
    result = Result(f"{conditions(before)}.", cells)
    sys.stdout.write(f"{result}\n")
    if options.write:
        write("utility", result)
    return 0


def say(text: str) -> None:
    """Progress."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
