"""``python -m tests.bench.stages [--write]``: the exact stage alone, by the processor time of all threads.

Statements as the bare engine takes them, over prepared tables, and with rows bounded by the statement itself; on one
connection with the product's settings, in turns, the fastest of several runs. Other work on the machine hardly shows.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dpproxy.algebra.plan import Caller, Part, Plan
from dpproxy.analysis.scopes import Parameters
from dpproxy.backends.duckdb.prepared import PreparedTables, prepared_file
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_query
from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from tests.backends.inline import Inline
from tests.bench.cases import BY_CELL, BY_REGION, EACH, VISITS
from tests.bench.data import FULL, Sizes, make, policy
from tests.bench.report import conditions, markdown
from tests.bench.results import Result, write

SECRET = b"\0" * 32
STATEMENTS = {
    "20 regions, 10 M rows": BY_REGION.format(table="large", where=""),
    "the same with a WHERE": BY_REGION.format(table="large", where="WHERE income > 1.25"),
    "the same, columns not declared NOT NULL": BY_REGION.format(table="large_open", where=""),
    "the same, 2 % NULLs in each column": BY_REGION.format(table="large_nullable", where=""),
    "1,500 groups, 10 M rows": BY_CELL.format(where=""),
    "key unit, 10 M rows of 1 M people, MAX ROWS 12": VISITS.format(where=""),
    "key unit, with a WHERE": VISITS.format(where="WHERE spend > 1.25"),
    "values of each person, then over people": EACH.format(where=""),
}


def measure(folder: Path, sizes: Sizes, rounds: int) -> Iterator[list[str]]:
    """What, then milliseconds of each form, with its ratio to the first."""
    data = folder / "data.duckdb"
    make(data, sizes)
    backend = Inline(DuckDB(data, threads=2, prepared=prepared_file(folder, data, SECRET)))
    tables, declared, schema = PreparedTables(backend, SECRET, say), Policy(), backend.schema()
    for statement in filter(None, map(str.strip, policy().split(";"))):
        declared = apply(declared, change_of(statement), schema)
    caller = Caller("ann", frozenset({"analyst"}), "ann")

    def part(sql: str, layouts: dict[str, object] | None) -> Part:
        context = Context(declared, schema, caller, DEFAULTS, prepared=layouts)
        plan = plan_query(accept(parse(sql)), context, Parameters())
        assert isinstance(plan, Plan)
        return plan.parts[0]

    for what, sql in STATEMENTS.items():
        once, each = part(sql, {}), part(sql, None)
        with tables.ready(once.prepares, lambda: False):
            forms = [
                (sql, {}),
                *((p.exact, {"1": SECRET.hex()} if p.truncated else {}) for p in (once, each)),
            ]
            best = [min(times) for times in zip(*(timed(backend, forms) for _ in range(rounds)), strict=True)]
        yield [what, *(f"{1000 * t:.0f} ms ({t / best[0]:.2f}x)" for t in best)]
    tables.close()
    backend.close()


def timed(backend: Inline, forms: Sequence[tuple[str, Mapping[str, object]]]) -> list[float]:
    """Seconds of processor time of each."""
    times = []
    for sql, parameters in forms:
        begun = time.process_time()
        backend.engine.run(sql, parameters, "bench")
        times.append(time.process_time() - begun)
    return times


def say(text: str) -> None:
    """Progress."""
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="dpproxy-bench-") as place:
        cells = [["", "bare DuckDB", "prepared", "bounded per query"], *measure(Path(place), FULL, 6)]
    sys.stdout.write(markdown(cells) + "\n")
    if "--write" in sys.argv[1:]:
        write("stages", Result(f"{conditions(before)}.", cells))
