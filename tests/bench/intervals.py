"""``python -m tests.bench.intervals [--small] [--write]``: how often intervals hold, and how near they are to the best.

Of each kind of answer 300 are drawn on data of several shapes, from the exact stage that the proxy would run. The best
half-width that is possible is the 95 % quantile of the distances that noise makes, on the largest of the shapes; where
released values choose the rows that are shown, of the largest distances of all rows that could be. Order statistics are
asked of a proxy: their best is that of answers without bounds, which take no epsilon from them.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
from msgspec import Struct

from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from tests.assurance.test_coverage import ANN, DDL, GROUPS, POLICY, RANKED, SHAPES, TIGHT, WIDE, answered
from tests.bench.results import command
from tests.golden.world import World, build, plan_of
from tests.planner.release.test_intervals import shown
from tests.proxies import started, write_home

ANSWERS, MANY, TOTALS = 300, 20_000, 600
"""Of each shape; of the largest, for the quantile; the same of answers of several groups."""
KINDS = (*TIGHT, *WIDE)
EPSILONS = ("0.1", "1")


class Several(Struct, frozen=True):
    """A statement over groups; ``rest`` lets released values choose which of its rows are shown."""

    written: str
    sql: str
    rest: str = ""


COUNTED = "SELECT y / 10 AS b, count(*) AS n FROM {shape} GROUP BY 1"
SEVERAL = (
    Several("sum(n) of 11 counts", f"SELECT sum(n) FROM ({COUNTED}) AS q"),
    Several(
        "sum(a) of 3 averages", "SELECT sum(a) FROM (SELECT k, avg(x) AS a FROM {shape} GROUP BY 1) AS q"
    ),
    Several(
        "sum(a) of 11 averages",
        "SELECT sum(a) FROM (SELECT y / 10, avg(x) AS a FROM {shape} GROUP BY 1) AS q",
    ),
    Several(
        "sum(count(*)) OVER", "SELECT y / 10, sum(count(*)) OVER (ORDER BY y / 10) FROM {shape} GROUP BY 1"
    ),
    Several("sum(avg(x)) OVER", "SELECT k, sum(avg(x)) OVER (ORDER BY k) FROM {shape} GROUP BY 1"),
    Several(
        "count(*) - lag(count(*)) OVER",
        "SELECT y / 10, count(*) - lag(count(*)) OVER (ORDER BY y / 10) FROM {shape} GROUP BY 1",
    ),
    Several("n - lag(n) OVER", f"SELECT b, n - lag(n) OVER (ORDER BY b) FROM ({COUNTED}) AS q"),
    Several("HAVING count(*) > 1800", COUNTED, "HAVING count(*) > 1800"),
    Several("ORDER BY n DESC LIMIT 3", COUNTED, "ORDER BY n DESC LIMIT 3"),
    Several("WHERE n > 1800 outside", f"SELECT b, n FROM ({COUNTED}) AS q", "WHERE n > 1800"),
)
Drawn = dict[object, tuple[float, float, float]]
"""By the key of a row: a value and its bounds."""


def main() -> None:
    command(
        "intervals",
        lambda small: measured(KINDS[:1], 20) if small else measured(KINDS, ANSWERS, SEVERAL, RANKED),
    )


def measured(
    kinds: Sequence[str], answers: int, several: Sequence[Several] = (), ranked: Sequence[str] = ()
) -> list[list[str]]:
    """A row for each kind of answer."""
    head = [f"{what}, epsilon {e}" for e in EPSILONS for what in ("hold, %", "half-width over the best")]
    world = build([*DDL, *filter(None, (each.strip() for each in POLICY.split(";")))])
    with duckdb.connect(config={"threads": "1"}) as data:
        for sql in DDL:
            data.execute(sql)
        rows = [[kind, *_row(world, data, kind, answers)] for kind in kinds]
        rows += [[kind.written, *_of_several(world, data, kind, answers)] for kind in several]
        if ranked:
            with (
                tempfile.TemporaryDirectory() as home,
                started(write_home(Path(home), DDL, POLICY)) as engine,
            ):
                engine.open(ANN)
                rows += [[written, *_of_ranks(engine, data, written, answers)] for written in ranked]
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


def _of_several(world: World, data: duckdb.DuckDBPyConnection, kind: Several, answers: int) -> list[str]:
    """Of rows, each by itself; of statements, where released values choose rows: those without one that misses hold."""
    cells: list[str] = []
    for epsilon in EPSILONS:
        inside = stated = 0
        nearest = ""
        for shape in SHAPES:
            options = {"dp.epsilon": epsilon, "dp.intervals": "columns"}
            many = TOTALS if shape == "many" else answers
            [before], _ = _drawn(world, data, kind.sql.format(shape=shape), options, 0)
            _, drawn = _drawn(world, data, kind.sql.format(shape=shape), options, many)
            asked = (
                drawn
                if not kind.rest
                else _drawn(world, data, f"{kind.sql} {kind.rest}".format(shape=shape), options, answers)[1]
            )
            held = [
                [low - 1e-6 <= before[key][0] <= high + 1e-6 for key, (_, low, high) in rows.items()]
                for rows in asked[:answers]
            ]
            found = [all(rows) for rows in held] if kind.rest else [one for rows in held for one in rows]
            inside, stated = inside + sum(found), stated + len(found)
            if shape == "many":
                nearest = f"{_over_best(before, drawn, asked, together=bool(kind.rest)):.2f}"
        cells += [f"{100 * inside / stated:.0f}", nearest]
    return cells


def _over_best(before: Drawn, drawn: Sequence[Drawn], asked: Sequence[Drawn], *, together: bool) -> float:
    """The middle of half-widths over the quantile of distances: of each row, or of the farthest of each answer."""
    off = {
        key: [abs(rows[key][0] - value) for rows in drawn if key in rows]
        for key, (value, *_) in before.items()
    }
    farthest = np.quantile(np.max(list(off.values()), axis=0), 0.95) if together else None
    halves = [
        ((high - low) / 2) / (farthest or np.quantile(off[key], 0.95))
        for rows in asked
        for key, (_, low, high) in rows.items()
    ]
    return float(np.median(halves))


def _drawn(
    world: World, data: duckdb.DuckDBPyConnection, sql: str, options: Mapping[str, str], many: int
) -> tuple[list[Drawn], list[Drawn]]:
    """What is shown of the exact numbers, and of so many draws around them; rows without a value or bounds left out."""
    plan = plan_of(world, sql, dict(options))
    [part] = plan.parts
    assert part.mechanism is not None
    exact = data.sql(part.exact, params={"1": "00"} if part.truncated else {}).fetchall()
    by_key = {int(key): [int(n) for n in numbers] for key, *numbers in exact}
    [keys] = part.keys
    numbers = np.array([by_key.get(int(str(key)), [0] * part.measures) for (key,) in keys.rows], dtype=object)
    noise = part.mechanism.draw(many * len(numbers)).reshape(many, *numbers.shape)
    place = next(i for i, output in enumerate(plan.outputs) if output.bound is not None)

    def read(released: Sequence[Sequence[int]]) -> Drawn:
        rows = ((row[: place - 1], row[place - 1 : place + 2]) for row in shown(plan, released))
        return {key: tuple(float(str(v)) for v in found) for key, found in rows if None not in found}  # type: ignore[misc]

    return [read(numbers.tolist())], [read((numbers + each).tolist()) for each in noise]


def _of_ranks(engine: Engine, data: duckdb.DuckDBPyConnection, written: str, answers: int) -> list[str]:
    cells: list[str] = []
    for epsilon in EPSILONS:
        inside = stated = 0
        nearest = ""
        for shape in (name for name, (rows, *_) in SHAPES.items() if rows):
            sql = f"SELECT k, {written} FROM {shape} GROUP BY k"
            true = {float(key): float(value) for key, value in data.execute(sql).fetchall()}
            found = list(_asked(engine, sql, epsilon, "columns", answers))
            inside += sum(low - 1e-6 <= true[key] <= high + 1e-6 for key, _, low, high in found)
            stated += len(found)
            if shape == "many":
                off = np.quantile(
                    [abs(v - true[k]) for k, v in _asked(engine, sql, epsilon, "off", answers)], 0.95
                )
                half = np.median([(high - low) / 2 for _, _, low, high in found])
                nearest = f"{half / off:.2f}" if off else f"{half:.3g} over 0"
        cells += [f"{100 * inside / stated:.0f}", nearest]
    return cells


def _asked(
    engine: Engine, sql: str, epsilon: str, intervals: str, answers: int
) -> Iterator[tuple[float, ...]]:
    """Rows of so many answers of ``GROUPS``, each a new draw."""
    more = {"dp.epsilon": epsilon, "dp.reuse": "never", "dp.intervals": intervals, "dp.notices": "off"}
    settings = {**DEFAULTS, **more}
    for _ in range(answers // GROUPS):
        asked = Request(ANN, engine.prepare(ANN, sql, (), settings), (), settings)
        yield from (tuple(float(str(n)) for n in row) for row in engine.run(asked).rows if None not in row)


if __name__ == "__main__":
    main()
