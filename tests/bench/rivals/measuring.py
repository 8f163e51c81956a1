"""Every candidate's errors and times, taken in turns."""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np

from tests.bench.rivals.candidates import BARE, Ask, Told, everybody
from tests.bench.rivals.questions import (
    QUESTIONS,
    Numbers,
    Question,
    World,
    export,
    shaped,
    statements,
    truths,
)

TURNS = 5
FEW = 3
LEAST = 30
PATIENCE = 4


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is asked: runs of a question of one value and of one by groups.

    After ``limit`` seconds a candidate is asked ``LEAST`` runs at most, and after ``PATIENCE`` times as many none.
    """

    single: int = 400
    grouped: int = 100
    limit: float = 7.0

    def left(self, told: Sequence[Told], spent: float) -> float:
        """Seconds that are left to somebody who took that long; none after a refusal."""
        if told and told[-1].refused:
            return 0.0
        few = sum(len(part.rows) for part in told) < LEAST
        return self.limit * (PATIENCE if few else 1) - spent


@dataclass(frozen=True, slots=True)
class Found:
    """What one candidate did with a question: an error for each measure, and milliseconds, or why not."""

    world: str
    question: str
    epsilon: float
    candidate: str
    runs: int = 0
    errors: Sequence[float] = ()
    first: float = 0.0
    again: float = 0.0
    refused: str = ""


def measure(
    world: World, epsilons: Sequence[float], effort: Effort
) -> Iterator[tuple[dict[str, str], list[Found]]]:
    """For each question the versions of who was asked and what was found; smaller epsilons come first."""
    with tempfile.TemporaryDirectory(prefix="dpproxy-rivals-") as name:
        folder, exported = Path(name) / "home", Path(name) / "columns"
        exported.mkdir()
        prepared = Path(name) / "truth.duckdb"
        with closing(duckdb.connect(prepared)) as connection:
            for statement in statements(world):
                connection.execute(statement)
            true = {question.name: truths(connection, question) for question in QUESTIONS}
        export(prepared, exported)
        with everybody(folder, statements(world), exported) as asked:
            versions = {name: version for name, (version, _) in asked.items()}
            for question in QUESTIONS:
                for epsilon in sorted(epsilons):
                    told = in_turns(
                        {name: ask for name, (_, ask) in asked.items()}, question, epsilon, effort
                    )
                    yield (
                        versions,
                        [
                            summed(world, question, epsilon, candidate, parts, true[question.name])
                            for candidate, parts in told.items()
                        ],
                    )


def in_turns(
    asks: dict[str, Ask], question: Question, epsilon: float, effort: Effort
) -> dict[str, list[Told]]:
    """The runs of each, a part of them at a time; who has used up the limit, or refused, is not asked again."""
    runs = effort.grouped if question.key else effort.single
    told: dict[str, list[Told]] = {name: [] for name in asks}
    spent = dict.fromkeys(asks, 0.0)
    for _ in range(TURNS):
        for name, ask in asks.items():
            left = 10 if name == BARE else max(2, runs // TURNS)
            while left and (seconds := effort.left(told[name], spent[name])) > 0:
                part = min(left, fitting(told[name], seconds))
                begun = time.perf_counter()
                told[name].append(ask(question, epsilon, part))
                spent[name] += time.perf_counter() - begun
                left -= part
    return told


def fitting(told: Sequence[Told], seconds: float) -> int:
    """How many runs fit in that time, by those there were."""
    later = [t for part in told for t in part.later]
    return max(FEW, int(seconds / statistics.median(later))) if later else FEW


def summed(
    world: World, question: Question, epsilon: float, candidate: str, parts: Sequence[Told], true: Numbers
) -> Found:
    """Root mean squares over all runs, and all groups; medians of the times."""
    key = (world.name, question.name, epsilon, candidate)
    if parts[-1].refused:
        return Found(*key, refused=parts[-1].refused)
    rows = [row for part in parts for row in part.rows]
    errors: list[float] = []
    if rows:
        off = np.stack([shaped(question, run) for run in rows]) - true
        errors = np.sqrt(np.mean(off**2, axis=(0, 1))).tolist()
    first = statistics.median(part.first for part in parts)
    again = statistics.median([t for part in parts for t in part.later] or [first])
    return Found(*key, len(rows), errors, 1000 * first, 1000 * again)


def as_json(found: Sequence[Found]) -> list[dict[str, object]]:
    return [asdict(one) for one in found]


def say(text: str) -> None:
    """Progress."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
