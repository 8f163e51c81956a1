"""``python -m tests.bench.ledger [--seconds S] [FOLDER]``: charges per second, and the time a charge takes.

Each charge debits four accounts, as a statement does, and is durable when it returns. FOLDER is where the ledgers and
their marks are put: the disk whose fsync is measured.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Account, Charge, Debit
from tests.bench.report import markdown, number
from tests.postgres import running

THREADS = (1, 16, 64)
HEADER = ("ledger", "mark", "at once", "charges/s", "p50 ms", "p99 ms")


@dataclass(frozen=True, slots=True)
class Measured:
    """What callers waited for, in seconds, sorted; and how long all of them took together."""

    waits: Sequence[float]
    seconds: float

    @property
    def rate(self) -> float:
        return len(self.waits) / self.seconds

    def milliseconds(self, share: float) -> float:
        """The wait that this share of them did not pass."""
        return 1000 * self.waits[min(len(self.waits) - 1, int(share * len(self.waits)))]


def charge(who: str) -> Charge:
    """One that no limit refuses."""
    debits = (
        Debit(Account.session(f"session of {who}"), 10**15),
        Debit(Account.user("research", who), 10**15),
        Debit(Account.budget("research"), 10**15),
        Debit(Account.ceiling("people"), 10**15),
    )
    return Charge(
        who, bytes(32), 1, 1, "staircase x1", 100_000_000, debits, os.urandom(32), "count on people"
    )


def measure(ledgers: Sequence[Ledger], threads: int, seconds: float) -> Measured:
    """That many callers, each with one charge under way, shared out among the ledgers."""
    waits: list[list[float]] = [[] for _ in range(threads)]
    start = threading.Barrier(threads + 1)
    until = [0.0]

    def work(number: int) -> None:
        ledger, own = ledgers[number % len(ledgers)], waits[number]
        start.wait()
        while (begun := time.perf_counter()) < until[0]:
            ledger.reserve(charge(f"user {number}"))
            own.append(time.perf_counter() - begun)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    begun = time.perf_counter()
    until[0] = begun + seconds
    start.wait()
    for worker in workers:
        worker.join()
    return Measured(sorted(wait for own in waits for wait in own), time.perf_counter() - begun)


def fsync(folder: Path, times: int = 200) -> float:
    """Milliseconds that the disk takes, in the middle."""
    waits = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(times):
            file.write(bytes(4096))
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            waits.append(time.perf_counter() - begun)
    return 1000 * sorted(waits)[times // 2]


def rows(folder: Path, seconds: float, threads: Sequence[int] = THREADS) -> Iterator[tuple[str, ...]]:
    """Lines of the table; a ledger is begun for each kind and mark."""
    with running(folder) as server:
        for kind, has_mark in product(("SQLite", "PostgreSQL"), (False, True)):
            state = Path(tempfile.mkdtemp(dir=folder))
            url = server.url(server.database()) if kind == "PostgreSQL" else None
            mark = state / "mark" if has_mark else None
            with Ledger.open(state, url=url, high_water=mark) as ledger:
                for count in threads:
                    measured = measure([ledger], count, seconds)
                    figures = (measured.rate, measured.milliseconds(0.5), measured.milliseconds(0.99))
                    yield (kind, "yes" if has_mark else "no", str(count), *map(number, figures))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        Path(folder).chmod(0o755)
        sys.stdout.write(f"fsync of the disk: {number(fsync(Path(folder)))} ms\n\n")
        sys.stdout.write(markdown([HEADER, *rows(Path(folder), arguments.seconds)]) + "\n")


if __name__ == "__main__":
    main()
