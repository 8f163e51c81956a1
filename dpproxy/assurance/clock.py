"""Read one person's presence off a clock: the seconds to an answer, over twins whose answers leave at deadlines."""

import time
from collections.abc import Iterator, Sequence

from dpproxy.assurance.homes import AUDITOR, Twins
from dpproxy.assurance.observed import Ask, observe, refusals
from dpproxy.assurance.run import Found, Tell
from dpproxy.assurance.suite import Trial, trials
from dpproxy.assurance.wire import Wire

PADDING = "10ms"
"""As a proxy has it unless it is configured otherwise."""
RUNS = 5
LEAST = 0.005
"""Seconds by which every answer of one side has to be later than all of the other's.

Two sides that are alike come out so once in 126 times, and three times in a row once in two million.
"""
LOOKS = 3
_LEAST_PAID, _STEP = 0.5, 1e-6


def timed(twins: Twins, tell: Tell) -> Iterator[Found]:
    """Every statement of the attacks that are timed. Errors: psycopg.Error, OSError where a proxy stops answering."""
    with twins.connected(AUDITOR) as sides:
        clock = Clock(sides)
        for trial in trials(twins.targets):
            if trial.attack.timed:
                tell(f"{trial.attack.name}, by the clock")
                yield clock.found(trial)


class Clock:
    """Asks two sides by turns, each time for a draw of its own."""

    def __init__(self, sides: tuple[Wire, Wire]) -> None:
        self._sides = sides
        self._asked = 0

    def found(self, trial: Trial) -> Found:
        """Whether the times of one side can be told from those of the other."""
        for side in self._sides:
            side.query(f"SET dp.epsilon = {_LEAST_PAID}")
        first, *_ = told = [refusals(observe(side, Ask(trial.sql))) for side in self._sides]
        if any(told):
            return _line(trial, f"refused ({', '.join(first)})", kept=told[0] == told[1])
        for look in range(LOOKS):
            one, other = self.seconds(trial.sql)
            text = f"{min(one):.3f} to {max(one):.3f} s without, {min(other):.3f} to {max(other):.3f} s with"
            kept = not told_apart(one, other)
            if kept or look == LOOKS - 1:
                return _line(trial, text, kept=kept)
        raise AssertionError("there is a last look")

    def seconds(self, sql: str, runs: int = RUNS) -> tuple[list[float], list[float]]:
        """How long both sides took, run by run."""
        found: tuple[list[float], list[float]] = [], []
        for run in range(runs):
            for place in (0, 1) if run % 2 else (1, 0):
                found[place].append(self._once(self._sides[place], sql))
        return found

    def _once(self, side: Wire, sql: str) -> float:
        """More is paid each time: a stored answer of less is not given again."""
        self._asked += 1
        side.query(f"SET dp.epsilon = {_LEAST_PAID + self._asked * _STEP:.6f}")
        begun = time.perf_counter()
        side.query(sql)
        return time.perf_counter() - begun


def told_apart(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether every time of one side is above all of the other's."""
    return max(one) + LEAST < min(other) or max(other) + LEAST < min(one)


def _line(trial: Trial, text: str, *, kept: bool) -> Found:
    sql = trial.sql if len(trial.sql) < 100 else f"{trial.sql[:97]}..."
    faults = () if kept else (f"{trial.attack.name} over {trial.target.table}: {text}",)
    return Found("time", sql, "the seconds tell nothing", text, kept, faults)
