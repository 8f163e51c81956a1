"""How long a statement may take, from its plan and the declared sizes alone: what it was answered at must tell nothing.

The work of one unit is in it at its worst, so that one person's rows do not decide whether it is kept. Without EXPECTED
ROWS of every table the size of the data is not in it; the answer then leaves at a power of two of what is.
"""

from collections.abc import Sequence

from dpproxy.plan import Part
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Rows

PLAIN = 40
"""Nanoseconds for one row that the statement takes as it is; 12 to 56 were measured over 10 million."""
BOUNDED = 600
"""The same where the statement itself cuts each unit's rows; 500 were measured."""
JOINED = 1000
"""For one more row of a unit after joins; generous, since it stands for the worst person."""
DRAWN = 500
"""For one released number."""


def widen(planning: Planning, rows: Rows) -> None:
    """Take note of a relation that something is released of."""
    least = min((s.most for s in rows.scans if s.owner is not None), default=1)
    planning.worst = max(planning.worst, rows.most)
    planning.fan = max(planning.fan, rows.most // max(1, least))


def expected(planning: Planning) -> int | None:
    """The declared rows of all protected tables of the statement; None where one has no hint."""
    tables = planning.context.policy.tables
    sizes = [tables[name].expected_rows for name in {t.table for t in planning.tables}]
    known = [size for size in sizes if size is not None]
    return sum(known) if sizes and len(known) == len(sizes) else None


def deadline(planning: Planning, parts: Sequence[Part]) -> float:
    """Seconds of the exact stages and the draws of ``parts``."""
    rows = (expected(planning) or 0) * planning.fan
    charged = [p for p in parts if not p.vacuous]
    spent = sum(rows * (BOUNDED if p.truncated else PLAIN) + planning.worst * JOINED for p in charged)
    return (spent + sum(p.groups * p.measures * DRAWN for p in charged)) / 1e9
