"""``python -m tests.bench.intervals [--small] [--write]``: how often intervals hold, and how near they are to the best.

Of each kind of answer 300 are drawn on data of several shapes, from the exact stage that the proxy would run. The best
half-width that is possible is the 95 % quantile of the distances that noise makes, on the largest of the shapes.
"""

from collections.abc import Sequence

import duckdb
import numpy as np

from tests.assurance.test_coverage import DDL, POLICY, SHAPES, TIGHT, WIDE, answered
from tests.bench.results import command
from tests.golden.world import World, build

ANSWERS, MANY = 300, 20_000
"""Of each shape; of the largest, for the quantile."""
KINDS = (*TIGHT, *WIDE)
EPSILONS = ("0.1", "1")
Held = tuple[int, int]
"""How many intervals hold, of how many."""


def main() -> None:
    command("intervals", lambda small: measured(KINDS[:1], 20) if small else measured(KINDS, ANSWERS))


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
            found = answered(
                world, data, kind, shape, options={"dp.epsilon": epsilon}, many=max(answers, MANY)
            )
            if found is None:
                continue
            truth, drawn = found
            known = [(low, high) for _, low, high in drawn[:answers] if low is not None]
            stated += len(known)
            inside += sum(low - 1e-6 <= truth <= high + 1e-6 for low, high in known)
            if shape == "many":
                off = np.quantile([abs(value - truth) for value, _, _ in drawn], 0.95)
                nearest = f"{np.median([high - low for low, high in known]) / 2 / off:.2f}"
        cells += [f"{100 * inside / stated:.0f}", nearest]
    return cells


if __name__ == "__main__":
    main()
