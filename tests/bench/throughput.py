"""``python -m tests.bench.throughput [--seconds 8] [--small] [--write]``: the smallest statement on 16 connections.

Answers per second, replayed and freshly charged, without padding; what the slowest answers of a connection wait beside
its median; and the processor time an answer takes of the proxy, of its worker and of the client, which is apart.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.data import QUICK, make
from tests.bench.load import Load, Waited, apart
from tests.bench.proxy import serving
from tests.bench.report import conditions, number
from tests.bench.results import Result, write
from tests.bench.soak import family
from tests.bench.timing import fsync_time

CONNECTIONS = 16
SPREAD = 10.0
"""How many of its medians the 99th percentile of a connection may take."""
REPLAYED = "SELECT count(*) FROM small WHERE income > 0.5"
CHARGED = "SELECT count(*) FROM small WHERE income > {}.25"
HEADER = (
    "", "answers/s", "target", "p50 ms", "p99 ms", "worst p99/p50", "target",
    "fewest of a connection", "most", "proxy ms", "worker ms", "client ms",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """One kind of statement; processor seconds of the proxy and of what it started, with the uncounted answers."""

    what: str
    least: float
    waited: Waited
    proxy: float
    worker: float

    @property
    def met(self) -> bool:
        return self.waited.rate >= self.least and self.waited.starved <= SPREAD

    @property
    def row(self) -> list[str]:
        """Cells for ``HEADER``."""
        waited = self.waited
        answers = waited.answers + waited.warm
        each = [self.proxy / answers, self.worker / answers, waited.client / waited.answers]
        counts = [len(own) for own in waited.waits]
        return [
            self.what,
            f"{waited.rate:,.0f}",
            f">= {self.least:,.0f}" + ("" if waited.rate >= self.least else ", missed"),
            number(waited.milliseconds(0.5)),
            number(waited.milliseconds(0.99)),
            f"{waited.starved:.1f}",
            f"<= {SPREAD:.0f}" + ("" if waited.starved <= SPREAD else ", missed"),
            str(min(counts)),
            str(max(counts)),
            *(number(1000 * seconds) for seconds in each),
        ]


def processor(process: int) -> float:
    """Seconds that a process has computed so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(folder: Path, seconds: float) -> Iterator[Measured]:
    """Replayed, then charged."""
    data = folder / "bench.duckdb"
    make(data, QUICK)
    with serving(folder, data, os.cpu_count() or 1) as url:
        proxy, *workers = family(os.getpid())[1:]
        for what, sql, least in (
            ("replayed", REPLAYED, 1500.0),
            ("freshly charged", CHARGED, 500.0),
        ):
            load = Load((url,), sql, CONNECTIONS, seconds, warm=min(1.0, seconds))
            before = processor(proxy), sum(map(processor, workers))
            waited = apart(load)
            after = processor(proxy), sum(map(processor, workers))
            yield Measured(what, least, waited, after[0] - before[0], after[1] - before[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.throughput", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="of each kind")
    parser.add_argument("--small", action="store_true", help="an instant: shows that it works")
    parser.add_argument("--write", action="store_true", help="store the table for docs/measured.md")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dpproxy-throughput-") as name:
        folder = Path(name)
        before, fsync = os.getloadavg()[0], fsync_time(folder)
        found = list(measure(folder, 0.3 if options.small else options.seconds))
    told = f"{conditions(before)}, fsync {number(fsync)} ms; ms of processor time are of one answer."
    result = Result(told, [list(HEADER), *(one.row for one in found)])
    sys.stdout.write(f"{result}\n")
    if options.write:
        write("throughput", result)
    return 0 if options.small or all(one.met for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
