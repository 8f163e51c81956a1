"""``python -m tests.bench.rivals [--small] [--write] [--json FILE] [--plot FILE]``: beside other products.

The same rows, questions, bounds and epsilon for this proxy, bare DuckDB, SmartNoise SQL, OpenDP with Polars and
diffprivlib. Who is not installed is left out, and named: ``make bench PEERS=1`` installs them. ``--write`` puts the
tables and the picture into docs/measured/, and from there into docs/measured.md.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench import results
from tests.bench.report import conditions
from tests.bench.rivals import page
from tests.bench.rivals.candidates import PEERS
from tests.bench.rivals.measuring import Effort, Found, as_json, measure, say
from tests.bench.rivals.questions import ADULTS, World, generated

ROWS = 1_000_000
FULL: tuple[tuple[World, tuple[float, ...], Effort], ...] = (
    (ADULTS, (1.0, 0.1), Effort()),
    (generated(ROWS), (1.0,), Effort(single=100, grouped=30, limit=6.0)),
)
SMALL = ((generated(2000), (1.0,), Effort(single=5, grouped=5, limit=2.0)),)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rivals", description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="few rows and runs: shows that it works")
    parser.add_argument(
        "--write", action="store_true", help="put the tables and the picture into the documentation"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here as well")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the picture here")
    options = parser.parse_args(arguments)
    for one in PEERS:
        if not one.installed:
            say(f"{one.name} is not installed: make bench PEERS=1 installs it")
    load, begun = os.getloadavg()[0], time.monotonic()
    found: list[Found] = []
    versions: dict[str, str] = {}
    for world, epsilons, effort in SMALL if options.small else FULL:
        for versions, part in measure(world, epsilons, effort):  # noqa: B007 - the last is of all
            found += part
            say("; ".join(f"{one.candidate} {one.again:.2f} ms, {one.runs} runs" for one in part))
    took = (time.monotonic() - begun) / 60
    told = f"{conditions(load)}, in {took:.0f} minutes."
    tables = page.tables(found, versions, told)
    sys.stdout.write("\n\n".join(map(str, tables.values())) + "\n")
    for name, table in tables.items() if options.write else ():
        results.write(name, table)
    for path in filter(None, (options.plot, page.PICTURE if options.write else None)):
        page.draw(found, path)
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(found), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
