"""``python -m tests.bench [--small] [--write] [--peers PYTHON] [--json FILE]``: DuckDB, TPC-H, mechanisms, views.

``--peers`` names an interpreter that has OpenDP and diffprivlib; they then do the mechanisms' work as well.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import duckdb

from tests.bench import anonymize, mechanisms, results, tpch
from tests.bench.cases import CASES, Bench
from tests.bench.data import FULL, QUICK, make
from tests.bench.proxy import serving
from tests.bench.report import Line, as_json, conditions, markdown, table
from tests.bench.timing import fsync_time


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and end with status 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--small", action="store_true", help="few rows and runs: shows that it works, not how fast"
    )
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="measure OpenDP and diffprivlib with it")
    parser.add_argument("--write", action="store_true", help="store the tables for docs/measured.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here as well")
    options = parser.parse_args(arguments)
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="dpproxy-bench-") as folder:
        lines = measure(Path(folder), small=options.small)
    say("TPC-H")
    with tempfile.TemporaryDirectory(prefix="dpproxy-bench-") as folder:
        queries = list(tpch.measure(Path(folder), small=options.small))
    say("the mechanisms")
    drawn = list(mechanisms.measure(options.peers, small=options.small))
    say("protected views")
    built = list(anonymize.measure(small=options.small))
    tables = {
        "proxy": table(lines),
        "tpch-times": tpch.rows(queries),
        "mechanisms": mechanisms.rows(drawn),
        "views": anonymize.rows(built),
    }
    sys.stdout.write("\n\n".join(map(markdown, tables.values())) + "\n")
    for name, cells in tables.items() if options.write else ():
        results.write(name, results.Result(f"{conditions(before)}.", cells))
    if options.json is not None:
        numbers = as_json(lines) + tpch.as_json(queries) + mechanisms.as_json(drawn)
        numbers += anonymize.as_json(built)
        options.json.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    missed = any(line.verdict == "MISSED" for line in lines) or not all(line.met for line in (*drawn, *built))
    return 1 if missed and not options.small else 0


def measure(folder: Path, *, small: bool) -> list[Line]:
    """Every line, told on standard error as it comes."""
    threads = os.cpu_count() or 1
    data = folder / "bench.duckdb"
    say("making the tables")
    make(data, QUICK if small else FULL)
    fsync = fsync_time(folder)
    lines = [Line("fsync of the disk", fsync)]
    with (
        closing(duckdb.connect(str(data), read_only=True, config={"threads": str(threads)})) as bare,
        serving(folder, data, threads) as url,
    ):
        bench = Bench(bare, url, fsync, rounds=1 if small else 9)
        with bench.client:
            for case in CASES:
                for line in case(bench):
                    say(f"{line.what}: {line.proxy:.3f} {line.unit} {line.verdict}")
                    lines.append(line)
    return lines


def say(text: str) -> None:
    """Progress."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
