"""``dpproxy audit``: run statements often on two proxies whose data differ by one person; bound epsilon from below.

The columns that vary, and the time that an answer takes, are the samples of ``udfs.audit``. Every run of a statement
has a slightly larger epsilon than the run before and reuses nothing, so that no answer is made of earlier draws, too.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import Final

import numpy as np
import psycopg
from msgspec import Struct
from numpy.typing import NDArray

from dpproxy.assurance.twins import ADDITIVE, DELTA, FOUND, KNOWN, ORDERED, twins
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, tell
from dpproxy.terminal.display import render
from dpproxy.values.errors import StartupError
from udfs.audit import SURE, audit
from udfs.mechanisms import MECHANISMS

FEATURES: Final = ("value", "noise size", "low bits", "together", "seconds")
STEP: Final = Fraction(1, 10**9)
"""By how much the epsilon of a run exceeds that of the run before; the last run has the audited epsilon."""
LEAST_RUNS: Final = 10
PAUSE: Final = 5.0
"""Seconds between lines of progress."""

Connection = psycopg.Connection[tuple[object, ...]]
Tell = Callable[[str], None]
"""Takes a line of progress."""


def command(arguments: Arguments) -> int:
    """Run the command; exit status 1 if a bound exceeds the promised epsilon."""
    shown, kept = run(arguments.url, arguments.sql or (), arguments.epsilon, arguments.runs, tell)
    print_result(shown)
    if not kept:
        tell("a bound exceeds the promise: what is marked BROKEN loses more than it says")
    return 0 if kept else 1


class AuditFailed(StartupError):
    """A statement that cannot be audited, and why."""


class Question(Struct, frozen=True):
    """A statement, the value of dp.mechanism (None: leave it unchanged), and the delta of one answer."""

    sql: str
    mechanism: str | None = None
    delta: float = 0.0


class Line(Struct, frozen=True):
    """The result for one question: for each feature a lower bound on epsilon, beside the promised ``epsilon``."""

    question: Question
    bounds: dict[str, float]
    epsilon: float

    @property
    def kept(self) -> bool:
        """Whether no bound exceeds the promise."""
        return max(self.bounds.values()) <= self.epsilon


class _Side(Struct):
    """One proxy and its answers so far: ``runs[run][row][column]`` as numbers, and the seconds of each run."""

    connection: Connection
    runs: list[list[list[float]]]
    seconds: list[float]

    def ask(self, sql: str, epsilon: Fraction) -> None:
        """Run the statement once.

        Errors: AuditFailed where it was answered without a draw; psycopg.Error where it was refused.
        """
        self.connection.execute(f"SET dp.epsilon = {float(epsilon):.9f}".encode())
        begun = time.perf_counter()
        rows = self.connection.execute(sql.encode()).fetchall()
        self.seconds.append(time.perf_counter() - begun)
        self.runs.append([[_number(value) for value in row] for row in rows])
        cost = self.connection.execute("SHOW dp.last_cost").fetchone()
        if cost is None or not float(str(cost[0]) or 0):
            raise AuditFailed(f"answered free of charge: {sql}")


def run(
    urls: Sequence[str], statements: Sequence[str], epsilon: Fraction, runs: int, tell: Tell
) -> tuple[str, bool]:
    """Audit the proxies at ``urls``, or synthetic twins if there are none; return the table, and whether it passed.

    If every promise is kept, the whole audit fails with probability 1/1000 at most.

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
    """Each statement with every mechanism; without statements, a built-in list (see ``twins``) takes their place."""
    for one, kind in MECHANISMS.items():
        yield from (Question(sql, one, DELTA if kind.CONCENTRATED else 0.0) for sql in statements or ADDITIVE)
    if not statements:
        yield from (Question(sql) for sql in ORDERED + KNOWN)
        yield from (Question(sql, delta=DELTA) for sql in FOUND)


def audited(
    urls: Sequence[str], questions: Sequence[Question], epsilon: Fraction, runs: int, tell: Tell
) -> Iterator[Line]:
    """Ask both sides each question alternately, with more epsilon each time: no answer derives from an earlier one."""
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
    connection.execute("SET dp.reuse = 'never'")
    if question.mechanism is not None:
        connection.execute(f"SET dp.mechanism = '{question.mechanism}'".encode())
    if question.delta:
        connection.execute(f"SET dp.delta = '{question.delta}'".encode())


def _bounds(sides: Sequence[_Side], confidence: float, delta: float) -> dict[str, float]:
    """The largest lower bound on epsilon of each feature, over all columns."""
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
    """Which columns have noise (the others are keys): those where some row's number varies between runs or sides."""
    both = np.concatenate([left, right])
    result: NDArray[np.bool_] = ~((both == both[:1]) | np.isnan(both)).all(axis=(0, 1))
    return result


def _number(value: object) -> float:
    """A value as a float: NaN for NULL and for whatever is not a number; 0 and 1 for false and true."""
    try:
        return float(value if isinstance(value, bool) else str(value))
    except ValueError:
        return float("nan")


def table(lines: Sequence[Line]) -> str:
    """The report: one line for each question, with its bounds and the promised epsilon."""
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
