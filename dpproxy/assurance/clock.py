"""Timing attacks: does the time to an answer reveal one person's presence, on twins that pad their answers?"""

import time
from collections.abc import Iterator, Sequence

from dpproxy.assurance.homes import AUDITOR, Twins
from dpproxy.assurance.observed import Ask, observe, refusals
from dpproxy.assurance.run import Finding, Tell
from dpproxy.assurance.suite import Trial, trials
from dpproxy.assurance.wire import Wire

PADDING = "10ms"
"""The default of ``server.padding``: an answer is sent so long after its start, or 2, 4, 8 ... times that if late."""
RUNS = 5
LEAST = 0.005
"""Seconds by which every answer of one side must be later than all answers of the other to tell the sides apart.

Two equal sides are told apart with probability 1/126, and three times in a row with 1 in two million.
"""
LOOKS = 3
_LEAST_PAID, _STEP = 0.5, 1e-6


def timed(twins: Twins, tell: Tell) -> Iterator[Finding]:
    """Time every statement of the timed attacks. Errors: psycopg.Error, OSError if a proxy stops answering."""
    with twins.connected(AUDITOR) as sides:
        clock = Clock(sides)
        for trial in trials(twins.targets):
            if trial.attack.timed:
                tell(f"{trial.attack.name}, by the clock")
                yield clock.found(trial)


class Clock:
    """Times statements on two sides alternately; each run pays for a new draw."""

    def __init__(self, sides: tuple[Wire, Wire]) -> None:
        self._sides = sides
        self._asked = 0

    def found(self, trial: Trial) -> Finding:
        """The report line of a statement: a fault if ``LOOKS`` measurements in a row all tell the sides apart."""
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
        """The seconds of each run on each side."""
        found: tuple[list[float], list[float]] = [], []
        for run in range(runs):
            for place in (0, 1) if run % 2 else (1, 0):
                found[place].append(self._once(self._sides[place], sql))
        return found

    def _once(self, side: Wire, sql: str) -> float:
        """The seconds of one run, whose epsilon is larger than any before, so that no stored release answers it."""
        self._asked += 1
        side.query(f"SET dp.epsilon = {_LEAST_PAID + self._asked * _STEP:.6f}")
        begun = time.perf_counter()
        side.query(sql)
        return time.perf_counter() - begun


def told_apart(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether every time of one side is more than ``LEAST`` above all times of the other."""
    return max(one) + LEAST < min(other) or max(other) + LEAST < min(one)


def _line(trial: Trial, text: str, *, kept: bool) -> Finding:
    sql = trial.sql if len(trial.sql) < 100 else f"{trial.sql[:97]}..."
    faults = () if kept else (f"{trial.attack.name} over {trial.target.table}: {text}",)
    return Finding("time", sql, "the seconds tell nothing", text, kept, faults)
