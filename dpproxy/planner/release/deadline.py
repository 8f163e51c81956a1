"""How long a statement may take, from its plan, the declared sizes and public tables alone.

What it was answered at must tell nothing. The work of one unit is in it at its worst, everything that is computed on
its rows included, so that one person's rows do not decide whether it is kept. Everybody's is an estimate: without
EXPECTED ROWS of every table the size of the data is not in it; the answer then leaves at a power of two of what is.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Part
from dpproxy.analysis.work import CALL, Costs, row_work
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.fanout import FanOut, fan_out
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.values.errors import TooComplex

PLAIN = 40
"""Nanoseconds for one row that the statement takes as it is; 12 to 56 were measured over 10 million."""
BOUNDED = 600
"""The same where the statement itself cuts each unit's rows; 500 were measured."""
JOINED = 1000
"""For one more row of a unit after joins, beside what is computed on it."""
DRAWN = 500
"""For one released number."""
RANKED = 1_000_000
"""For one released order statistic, whatever the number of groups; 200,000 to 650,000 were measured."""
RANKED_GROUP = 100_000
"""For one of each group; 20,000 to 90,000 were measured."""
CELL = 800
"""For each cell with rows of a histogram, in each draw; 120 to 400 were measured, and 200 to put it together."""
BATCH = 2048
"""Rows that an engine computes on together."""


def widen(planning: Planning, most: int, least: int, met: FanOut) -> None:
    """Take note of a relation of protected rows.

    ``most`` are the rows of one unit in it, ``least`` those of one before it was joined with others, ``met`` the public
    rows that are among them.
    """
    own = max(1, most // met.most)
    planning.own = max(planning.own, own)
    planning.worst = max(planning.worst, own * met.work, most)
    planning.met += met.read
    planning.fan = max(planning.fan, max(1, own // max(1, least)) * met.mean)


Meet = Callable[[JoinedRows, Sequence[nodes.Expr], JoinedRows], None]


@contextmanager
def nested(planning: Planning) -> Iterator[Meet]:
    """Take note of a subquery of an expression: what is yielded takes its rows, what equates them, and those around.

    Each row around it may meet so many rows, and each of these those of a subquery inside it.
    """
    before, planning.inner = planning.inner, 1

    def meet(inside: JoinedRows, conditions: Sequence[nodes.Expr], rows: JoinedRows) -> None:
        most = inside.most
        if not inside.owner:
            met = fan_out(inside.scans, [*inside.conditions, *conditions], list(_around(rows)), planning)
            most, planning.met = met.work, planning.met + met.read
        planning.inner *= most

    try:
        yield meet
    finally:
        planning.inner = max(before, planning.inner)


def _around(rows: JoinedRows) -> Iterator[Scan]:
    yield from rows.scans
    if rows.outer is not None:
        yield from _around(rows.outer)


def expected(planning: Planning) -> list[int]:
    """The declared rows of each protected table of the statement; empty where one has no hint."""
    tables = planning.context.policy.tables
    sizes = [tables[name].expected_rows for name in {t.table for t in planning.tables}]
    known = [size for size in sizes if size is not None]
    return known if len(known) == len(sizes) else []


def deadline(planning: Planning, parts: Sequence[Part]) -> float:
    """Seconds of the exact stages and the draws of ``parts``. Raises ``TooComplex`` where one unit takes too long."""
    rows = ceil(sum(expected(planning)) * planning.fan)
    charged = [p for p in parts if not p.vacuous]
    costs = Costs(planning.parameters.longest)
    # A histogram is read once for all its draws (``engine.answers``).
    read = list({p.query if p.mechanism is None else n: p for n, p in enumerate(charged)}.values())
    worst = sum(_worst(planning, p.query, costs) for p in read)
    if worst > planning.context.longest_work * 1e9:
        raise TooComplex(
            f"what is computed on the {planning.worst * planning.inner} rows that one privacy unit may have here could "
            f"take {_seconds(worst)} s, more than {planning.context.longest_work:g}",
            detail="How long an answer takes must not tell whose rows there are: each answer would wait for it.",
            hint="Compute less on each row, or join public tables on a column whose values few of their rows share.",
        )
    spent = sum(rows * (BOUNDED if p.truncated else PLAIN) for p in read) + worst
    return (spent + sum(_drawing(p, rows) for p in charged)) / 1e9


def _drawing(part: Part, rows: int) -> int:
    """Nanoseconds of the draws; a histogram has no more cells than there are rows."""
    if part.histogram is None:
        return part.groups * part.measures * DRAWN
    cells, draws = part.histogram
    return (
        part.measures * (RANKED + part.groups * RANKED_GROUP) + min(part.groups * cells, rows) * draws * CELL
    )


def _seconds(nanoseconds: int) -> str:
    """Whole seconds where there are many, two digits where there are few: nothing is never more than a limit."""
    seconds = nanoseconds / 1e9
    return f"{seconds:.0f}" if seconds >= 9.95 else f"{seconds:.2g}"


def _worst(planning: Planning, query: nodes.Query, costs: Costs) -> int:
    """Nanoseconds of one unit's rows, which may stand alone in as many batches as there are."""
    work = row_work(query, costs)
    rows, own = planning.worst * planning.inner, planning.own * planning.inner
    alone = min(rows, own + (planning.met + rows) // BATCH + 1)
    return rows * (JOINED + work.nanoseconds) + own * work.before + alone * work.operations * CALL
