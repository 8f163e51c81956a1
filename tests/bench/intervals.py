"""``python -m tests.bench.intervals [--small] [--write]``: how often intervals hold, and how near they are to the best.

Of each kind of answer 300 are drawn on data of several shapes, from the exact stage that the proxy would run. The best
half-width that is possible is the 95 % quantile of the distances that noise makes, on the largest of the shapes.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa

from dpproxy.algebra.plan import Part, Plan
from tests.assurance.test_coverage import DDL, POLICY, SHAPES, TIGHT, WIDE
from tests.bench.report import conditions
from tests.bench.results import Result, write
from tests.golden.world import World, build, plan_of
from tests.planner.release.test_intervals import shown

ANSWERS, MANY = 300, 20_000
"""Of each shape; of the largest, for the quantile."""
MORE = (
    "1.0 * sum(x) / count(*)",
    "stddev_samp(x)",
    "covar_pop(y, x)",
    "regr_slope(y, x)",
    "regr_intercept(y, x)",
    "corr(y, x)",
    "regr_r2(y, x)",
)
KINDS = (*TIGHT, *WIDE, *MORE)
EPSILONS = ("0.1", "1")
Held = tuple[int, int]
"""How many intervals hold, of how many."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    kinds = KINDS[:1] if options.small else KINDS
    rows = measured(kinds, 20 if options.small else ANSWERS)
    found = Result(f"{conditions(before)}.", rows)
    sys.stdout.write(f"{found}\n")
    if options.write:
        write("intervals", found)


def measured(kinds: Sequence[str], answers: int) -> list[list[str]]:
    """A row for each kind of answer."""
    head = [f"{what}, epsilon {e}" for e in EPSILONS for what in ("hold, %", "half-width over the best")]
    world = build([*DDL, *filter(None, (each.strip() for each in POLICY.split(";")))])
    with duckdb.connect(config={"threads": "1"}) as data:
        for sql in DDL:
            data.execute(sql)
        rows = [[kind, *_row(world, data, kind, answers)] for kind in kinds]
    return [["of", *head], *rows]


def _row(world: World, data: duckdb.DuckDBPyConnection, kind: str, answers: int) -> list[str]:
    cells: list[str] = []
    for epsilon in EPSILONS:
        inside = stated = 0
        nearest = ""
        for shape in SHAPES:
            options = {"dp.epsilon": epsilon, "dp.intervals": "columns"}
            plan = plan_of(world, f"SELECT {kind} FROM {shape}", options)
            [part] = plan.parts
            exact = data.sql(part.exact, params={"1": "00"} if part.truncated else {}).to_arrow_table()
            [[truth]] = data.execute(f"SELECT ({kind})::DOUBLE FROM {shape}").fetchall()
            if truth is None:
                continue
            drawn = _summed(plan, part, exact, answers)
            known = [(low, high) for _, low, high in drawn[:answers] if low is not None]
            stated += len(known)
            inside += sum(low - 1e-6 <= truth <= high + 1e-6 for low, high in known)
            if shape == "many":
                off = np.quantile([abs(value - truth) for value, _, _ in drawn], 0.95)
                nearest = f"{np.median([high - low for low, high in known]) / 2 / off:.2f}"
        cells += [f"{100 * inside / stated:.0f}", nearest]
    return cells


def _summed(plan: Plan, part: Part, exact: pa.Table, answers: int) -> list[tuple[float, ...]]:
    """Answers from as many draws around the exact sums."""
    assert part.mechanism is not None
    sums = [int(column[0].as_py() or 0) for column in exact.columns]
    noise = part.mechanism.draw(max(answers, MANY)).tolist()
    released = [[s + n for s, n in zip(sums, row, strict=True)] for row in noise]
    return [_numbers(row) for row in shown(plan, released)]


def _numbers(row: Sequence[object]) -> tuple[float, ...]:
    return tuple(None if v is None else float(str(v)) for v in row[:3])  # type: ignore[misc]


if __name__ == "__main__":
    main()
