"""``python -m tests.bench.soak [--minutes 30] [--connections 32]``: mixed traffic for long, and what it leaves behind.

Every client asks by turns for what is charged anew, what was released before, the catalogue, plans, what is refused,
exact answers; it describes, cancels, leaves transactions open and reconnects. Memory, open files and threads of the
proxy and of its worker are read every few seconds. Status 1 where memory grows, a client meets an error that is no
refusal, or the ledger does not verify.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg

from dpproxy.accounting.ledger import Ledger
from dpproxy.backends.secret import load_secret
from dpproxy.observe.audit_log import AuditLog
from tests.proxies import Proxy, spawned, write_home

DDL = (
    """CREATE TABLE people AS SELECT i AS id, 20 + i % 60 AS age, ['n', 's', 'w'][1 + i % 3] AS town, i % 1000 AS x
      FROM range(20000) AS r(i)""",
    """CREATE TABLE visits AS SELECT i // 3 AS person, ['a', 'b'][1 + i % 2] AS ward, i % 90 AS cost
      FROM range(50000) AS r(i)""",
    "CREATE TABLE towns AS SELECT * FROM (VALUES ('n', 1), ('s', 2), ('w', 3)) AS v (town, size)",
)
POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 1000000000;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110;
ALTER TABLE people ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 100000000;
ALTER TABLE people ALTER COLUMN town SET PRIVACY DOMAIN IN ('n', 's', 'w');
ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 3;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 100000000;
ALTER TABLE towns SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET lab LIMIT EPSILON 1000000000 MAX EPSILON 1 DEFAULT EPSILON 0.1;
GRANT SELECT ON people, visits TO analyst WITH PRIVACY BUDGET lab;
GRANT EXACT SELECT ON people, visits TO dpo;
"""
USERS = {"ann": ["analyst"], "dora": ["dpo"], "root": ["admin"]}
EVERY = 5.0
"""Seconds between readings."""
SETTLE = 0.3
"""The share of the time in which memory may grow: caches fill."""
GROWTH = 0.15
"""The share of its size by which memory may grow afterwards."""
NUMBERS = count()


@dataclass(frozen=True, slots=True)
class Reading:
    """What the processes of a proxy hold at a time: seconds, bytes, files, threads, processes."""

    at: float
    memory: int
    files: int
    threads: int
    each: tuple[int, ...]
    """Bytes of each process: the proxy, then its worker."""


@dataclass(slots=True)
class Report:
    """What happened so far; safe for several threads."""

    told: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, what: str) -> None:
        """One outcome."""
        with self.lock:
            self.told[what] += 1

    def fault(self, what: str) -> None:
        """One that is the proxy's fault."""
        self.add("fault")
        with self.lock:
            self.faults.append(what)


Connection = psycopg.Connection[tuple[object, ...]]
Step = Callable[[Connection], object]


def fresh(connection: Connection) -> object:
    """A question that nobody asked before."""
    n = next(NUMBERS)
    sql = f"SELECT town, count(*), sum(x) FROM people WHERE x <> {n} GROUP BY town"
    return connection.execute(sql.encode()).fetchall()


def joined(connection: Connection) -> object:
    n = next(NUMBERS)
    sql = f"SELECT ward, avg(cost) FROM people JOIN visits ON id = person WHERE cost <> {n} GROUP BY ward"
    return connection.execute(sql.encode()).fetchall()


def prepared(connection: Connection) -> object:
    values = (next(NUMBERS) % 300, 5)
    return connection.execute(
        "SELECT count(*) FROM people WHERE x > %s AND age > %s", values, prepare=True
    ).fetchall()


def cancelled(connection: Connection) -> object:
    timer = threading.Timer(0.003, connection.cancel)
    timer.start()
    try:
        return fresh(connection)
    except psycopg.errors.QueryCanceled:
        return None
    finally:
        timer.join()


def left_open(connection: Connection) -> object:
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM people WHERE age > 30")
    return connection.execute("ROLLBACK")


def asks(*statements: str) -> Step:
    """These, by turns."""

    def step(connection: Connection) -> object:
        sql = statements[next(NUMBERS) % len(statements)]
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else None

    return step


def refused(connection: Connection) -> object:
    try:
        asks("SELECT * FROM people", "SELECT nothing FROM people", "COPY people TO '/tmp/x'", "SELEC")(
            connection
        )
    except psycopg.errors.DatabaseError as error:
        if error.sqlstate in ("XX000", None):
            raise
        return None
    raise AssertionError("answered what is to be refused")


ANALYST: tuple[tuple[str, Step], ...] = (
    ("fresh", fresh),
    ("joined", joined),
    ("prepared", prepared),
    ("replayed", asks("SELECT count(*) FROM people", "SELECT ward, count(*) FROM visits GROUP BY ward")),
    ("public", asks("SELECT * FROM towns ORDER BY size", "SELECT count(*) FROM towns")),
    (
        "catalogue",
        asks("SELECT relname FROM pg_class", "SELECT * FROM dp.budgets", "SHOW dp.budget_remaining"),
    ),
    ("explained", asks("EXPLAIN (PRIVACY) SELECT count(*) FROM people WHERE age > 9")),
    ("refused", refused),
    ("cancelled", cancelled),
    ("left open", left_open),
)
OFFICER: tuple[tuple[str, Step], ...] = (
    (
        "exact",
        asks(
            "SELECT count(*) FROM people", "SELECT * FROM people WHERE id = 7", "SELECT max(cost) FROM visits"
        ),
    ),
)
ADMIN: tuple[tuple[str, Step], ...] = (
    ("administered", asks("SHOW PRIVACY BUDGETS", "SHOW PRIVACY AUDIT LIMIT 20", "SHOW PRIVACY GRANTS")),
)


def client(proxy: Proxy, number: int, until: float, report: Report) -> None:
    """One client, who reconnects now and then."""
    user, steps = ("dora", OFFICER) if number == 0 else ("root", ADMIN) if number == 1 else ("ann", ANALYST)
    while time.monotonic() < until:
        try:
            with psycopg.connect(proxy.dsn(user), autocommit=True) as connection:
                for turn in range(40):
                    name, step = steps[(number + turn) % len(steps)]
                    step(connection)
                    report.add(name)
                    if time.monotonic() > until:
                        return
        except (psycopg.Error, AssertionError) as error:
            state = error.sqlstate if isinstance(error, psycopg.Error) else None
            report.fault(f"{state}: {error}".splitlines()[0])
            time.sleep(0.1)


def family(process: int) -> list[int]:
    """A process and all below it."""
    found = [process]
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # a thread that ended just now
            for child in task.read_text().split():
                found += family(int(child))
    return found


def reading(process: int, at: float) -> Reading:
    """What a proxy and what it started hold now."""
    own = family(process)
    each: list[int] = []
    files = threads = 0
    for one in own:
        try:
            status = Path(f"/proc/{one}/status").read_text()
            opened = len(list(Path(f"/proc/{one}/fd").iterdir()))
        except OSError:  # it ended just now
            continue
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if "VmRSS" not in fields:  # it ended, and was not waited for yet
            continue
        each.append(int(fields["VmRSS"].split()[0]) * 1024)
        threads += int(fields["Threads"])
        files += opened
    return Reading(at, sum(each), files, threads, tuple(each))


def grown(readings: Sequence[Reading]) -> float:
    """How much more memory the last fifth of the time took than what followed the start, as a share."""
    settled = readings[int(len(readings) * SETTLE) :]
    part = max(1, len(settled) // 5)
    first = sum(r.memory for r in settled[:part]) / part
    last = sum(r.memory for r in settled[-part:]) / part
    return last / first - 1


def soak(folder: Path, minutes: float, connections: int) -> Report:
    """Let the traffic run over a proxy of its own."""
    report = Report()
    with spawned(write_home(folder, DDL, POLICY, users=USERS, padding="1ms")) as proxy:
        assert proxy.process is not None
        begun = time.monotonic()
        until = begun + minutes * 60
        with ThreadPoolExecutor(connections) as pool:
            for number in range(connections):
                pool.submit(client, proxy, number, until, report)
            every = min(EVERY, minutes * 60 / 10)
            while time.monotonic() < until:
                time.sleep(every)
                now = reading(proxy.process.pid, time.monotonic() - begun)
                report.readings.append(now)
                sizes = " + ".join(f"{one / 2**20:.1f}" for one in now.each)
                say(
                    f"{now.at:6.0f} s  {sizes} MiB  {now.files:4} files  {now.threads:4} threads  "
                    f"{report.told.total():8} statements  {len(report.faults)} faults"
                )
    return report


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, report; 1 where something grew or failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--connections", type=int, default=32)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dpproxy-soak-") as folder:
        report = soak(Path(folder), options.minutes, options.connections)
        state = Path(folder) / "state" / "main"
        with Ledger.open(state) as ledger, AuditLog.open(state, load_secret(state)) as log:
            say(f"ledger: {ledger.verify()} entries verify; audit log: {log.verify()}")
    more = grown(report.readings)
    say(", ".join(f"{name} {number}" for name, number in report.told.most_common()))
    for fault, times in Counter(report.faults).most_common(10):
        say(f"FAULT {times} times: {fault}")
    say(f"memory grew by {more:.1%} after the first {SETTLE:.0%} of the time, {GROWTH:.0%} allowed")
    return 1 if report.faults or more > GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
