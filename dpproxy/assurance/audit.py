"""``dpproxy audit``: ask two proxies whose data differ by one person the same, many times; bound epsilon from below.

The columns that vary are the features of ``udfs.audit``, and so is the time that an answer takes. Every run of a
statement asks for a little more accuracy than the run before, so that none is answered from what was released before.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import psycopg
from numpy.typing import NDArray

from dpproxy.assurance.twins import ADDITIVE, DELTA, FOUND, KNOWN, MECHANISMS, ORDERED, twins
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import put, tell
from dpproxy.terminal.display import render
from dpproxy.values.errors import StartupError
from udfs.audit import SURE, audit

FEATURES: Final = ("value", "noise size", "low bits", "together", "seconds")
STEP: Final = Fraction(1, 10**9)
"""What a run's epsilon is above that of the run before; the last run's is the whole promise."""
LEAST_RUNS: Final = 10
PAUSE: Final = 5.0
"""Seconds between lines of progress."""

Connection = psycopg.Connection[tuple[object, ...]]
Tell = Callable[[str], None]
"""Takes a line of progress."""


def command(arguments: Arguments) -> int:
    """Status 1 where a promise is not kept."""
    shown, kept = run(arguments.url, arguments.sql or (), arguments.epsilon, arguments.runs, tell)
    put(shown)
    if not kept:
        tell("a bound exceeds the promise: what is marked BROKEN loses more than it says")
    return 0 if kept else 1


class AuditFailed(StartupError):
    """A statement that cannot be audited, and why."""


@dataclass(frozen=True, slots=True)
class Question:
    """A statement, the mechanism to answer it, None for the session's own, and what it may give away besides."""

    sql: str
    mechanism: str | None = None
    delta: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """What an audit of one question found: for each feature the least epsilon that explains the answers."""

    question: Question
    bounds: dict[str, float]
    epsilon: float

    @property
    def kept(self) -> bool:
        """Whether no bound exceeds the promise."""
        return max(self.bounds.values()) <= self.epsilon


@dataclass(slots=True)
class _Side:
    """One proxy's answers so far: numbers of each run's rows, and the seconds each run took."""

    connection: Connection
    runs: list[list[list[float]]]
    seconds: list[float]

    def ask(self, sql: str, epsilon: Fraction) -> None:
        """Run the statement once.

        Errors: AuditFailed where it was answered from a stored release; psycopg.Error where it was refused.
        """
        self.connection.execute(f"SET dp.epsilon = {float(epsilon):.9f}".encode())
        begun = time.perf_counter()
        rows = self.connection.execute(sql.encode()).fetchall()
        self.seconds.append(time.perf_counter() - begun)
        self.runs.append([[_number(value) for value in row] for row in rows])
        cost = self.connection.execute("SHOW dp.last_cost").fetchone()
        if cost is None or not float(str(cost[0]) or 0):
            raise AuditFailed(
                f"answered from what was released before, or free of charge: {sql}; audit proxies with a new state"
            )


def run(
    urls: Sequence[str], statements: Sequence[str], epsilon: Fraction, runs: int, tell: Tell
) -> tuple[str, bool]:
    """Audit made-up twins, or two given proxies; the table, and whether every promise was kept.

    A kept promise fails the whole audit with probability 1/1000 at most.

    Errors: AuditFailed, StartupError.
    """
    if urls and not statements:
        raise AuditFailed("expected --sql: what to ask the two proxies")
    if len(urls) not in (0, 2):
        raise AuditFailed("expected two URLs, one for each side, or none")
    if runs < LEAST_RUNS:
        raise AuditFailed(f"expected {LEAST_RUNS} runs or more")
    with ExitStack() as stack:
        questions = [Question(sql) for sql in statements]
        if not urls:
            tell("starting two proxies")
            urls = stack.enter_context(twins())
            questions = list(_every(statements))
        try:
            lines = list(audited(urls, questions, epsilon, runs, tell))
        except psycopg.Error as error:
            told = error.diag.message_primary or " ".join(str(error).split())
            raise AuditFailed(f"{error.sqlstate or 'no answer'}: {told}") from None
    return table(lines), all(line.kept for line in lines)


def _every(statements: Sequence[str]) -> Iterator[Question]:
    """Statements by every mechanism; where none are given, every aggregate and what no mechanism changes."""
    for one in MECHANISMS:
        yield from (Question(sql, one, DELTA if one == "gaussian" else 0.0) for sql in statements or ADDITIVE)
    if not statements:
        yield from (Question(sql) for sql in ORDERED + KNOWN)
        yield from (Question(sql, delta=DELTA) for sql in FOUND)


def audited(
    urls: Sequence[str], questions: Sequence[Question], epsilon: Fraction, runs: int, tell: Tell
) -> Iterator[Line]:
    """Ask each question of both sides by turns, every time at more epsilon: what was released follows from no other."""
    last = len(questions) * runs - 1
    confidence = 1 - (1 - SURE) / len(questions)
    for number, question in enumerate(questions, 1):
        with (
            psycopg.connect(urls[0], autocommit=True) as left,
            psycopg.connect(urls[1], autocommit=True) as right,
        ):
            sides = [_Side(connection, [], []) for connection in (left, right)]
            for side in sides:
                _settle(side.connection, question)
            told = time.monotonic()
            for done in range(runs):
                for side in sides[:: 1 if done % 2 else -1]:
                    side.ask(question.sql, epsilon - (last - (number - 1) * runs - done) * STEP)
                if time.monotonic() > told + PAUSE:
                    told = time.monotonic()
                    tell(f"{number} of {len(questions)}, run {done + 1} of {runs}: {question.sql}")
        line = Line(question, _bounds(sides, confidence, question.delta), float(epsilon))
        tell(f"{number} of {len(questions)} done: {question.sql}: {max(line.bounds.values()):.2f}")
        yield line


def _settle(connection: Connection, question: Question) -> None:
    connection.execute("SET dp.clamp = off")
    connection.execute("SET dp.notices = off")
    if question.mechanism is not None:
        connection.execute(f"SET dp.mechanism = '{question.mechanism}'".encode())
    if question.delta:
        connection.execute(f"SET dp.delta = '{question.delta}'".encode())


def _bounds(sides: Sequence[_Side], confidence: float, delta: float) -> dict[str, float]:
    """The largest bound of each feature."""
    shapes = {(len(rows), len(row)) for side in sides for rows in side.runs for row in rows or [[]]}
    if len(shapes) != 1 or (0, 0) in shapes:
        raise AuditFailed(
            "the answers differ in their number of rows; leave out HAVING and LIMIT over released values"
        )
    left, right = (np.array(side.runs) for side in sides)
    noisy = _varies(left, right)
    if not noisy.any():
        raise AuditFailed("no number in the answers varies from run to run")
    seconds = sides[0].seconds, sides[1].seconds
    found = audit(left[:, :, noisy], right[:, :, noisy], seconds=seconds, confidence=confidence, delta=delta)
    return {
        feature: max(one.bound for one in found if one.feature == feature)
        for feature in FEATURES
        if any(one.feature == feature for one in found)
    }


def _varies(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which columns are no keys: those where some row's number is not always the same."""
    both = np.concatenate([left, right])
    result: NDArray[np.bool_] = ~((both == both[:1]) | np.isnan(both)).all(axis=(0, 1))
    return result


def _number(value: object) -> float:
    """NaN for NULL and for what is no number; 0 and 1 for false and true."""
    try:
        return float(value if isinstance(value, bool) else str(value))
    except ValueError:
        return float("nan")


def table(lines: Sequence[Line]) -> str:
    """One line for each question, the bounds beside the promise."""
    rows = [
        [
            line.question.sql,
            line.question.mechanism or "",
            *(f"{line.bounds[feature]:.2f}" if feature in line.bounds else "" for feature in FEATURES),
            f"{line.epsilon:g}",
            "kept" if line.kept else "BROKEN",
        ]
        for line in lines
    ]
    return render(["statement", "mechanism", *FEATURES, "promised", "verdict"], rows)
