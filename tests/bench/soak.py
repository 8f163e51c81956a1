"""``python -m tests.bench.soak [--minutes 60] [--connections 64] [--processes 1] [--rate N]``: mixed traffic.

Every client asks by turns for what is charged anew, what was released before, rows of a view, the catalogue, plans,
what is refused, exact answers; it describes, cancels, leaves transactions open and reconnects. In the first half the
proxy is ended and started again twice, and killed once. Memory, open files and threads of the proxy and of its worker
are read every few seconds. Status 1 where memory grows after the last start, a client meets an error that is no
refusal, more new questions were answered than charged, or the ledger does not verify.
"""

import argparse
import signal
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
from dpproxy.accounting.model import EntryKind
from dpproxy.backends.secret import load_secret
from dpproxy.observe.audit_log import AuditLog
from tests.proxies import Proxy, end, spawn, write_home

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
CREATE PROTECTED VIEW ages WITH (method = dp_kdtree, epsilon = 1, charge = lab) AS SELECT age, town FROM people;
GRANT SELECT ON ages TO analyst;
"""
USERS = {"ann": ["analyst"], "dora": ["dpo"], "root": ["admin"]}
STOPS = ((1 / 8, signal.SIGTERM), (1 / 4, signal.SIGKILL), (3 / 8, signal.SIGTERM))
"""When the proxy is ended, as shares of the time, and how; it is started again at once."""
GONE = ("57P01", "57P03", "08006", None)
"""What a client is told whose proxy ends; None by nobody."""
NEW = ("fresh", "joined")
"""Steps that ask what nobody asked before: each answer has a charge of its own."""
EVERY = 5.0
"""Seconds between readings."""
SETTLED = 10.0
"""Seconds after a start in which all connections log in at once and each statement is planned for the first time."""
SETTLE = 0.3
"""The share of the time in which memory may grow: caches fill."""
GROWTH = 0.15
"""The share of its size by which memory may grow afterwards."""
PATIENCE = 300.0
"""Seconds for a proxy to end: its report is lost otherwise."""
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
    """Since the last start."""
    waits: list[tuple[float, float]] = field(default_factory=list)
    """Of replayed answers: seconds after a start of the proxy, and for how many the answer was waited for."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, what: str) -> None:
        """One outcome."""
        with self.lock:
            self.told[what] += 1

    def fault(self, what: str) -> None:
        """One that is the proxy's fault."""
        self.add("fault")
        with self.lock:
            if what not in self.faults:
                say(f"FAULT: {what}")
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
    def cancel() -> None:
        with suppress(psycopg.OperationalError):  # the proxy has just ended
            connection.cancel()

    timer = threading.Timer(0.003, cancel)
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
    ("view", asks("SELECT * FROM ages", "SELECT town, count(*) FROM ages GROUP BY town")),
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


@dataclass(slots=True)
class Running:
    """The proxy that runs now; ``starts`` is odd while there is none."""

    proxy: Proxy
    starts: int = 0
    since: float = field(default_factory=time.monotonic)


def stop(running: Running, file: Path, number: signal.Signals) -> None:
    """End the proxy, and start it again."""
    running.starts += 1
    end(running.proxy, number, PATIENCE)
    running.proxy = spawn(file)
    running.starts, running.since = running.starts + 1, time.monotonic()


def client(running: Running, number: int, until: float, report: Report, pause: float = 0.0) -> None:
    """One client, who reconnects now and then, and waits so many seconds after a statement."""
    user, steps = ("dora", OFFICER) if number == 0 else ("root", ADMIN) if number == 1 else ("ann", ANALYST)
    while time.monotonic() < until:
        starts = running.starts
        try:
            with psycopg.connect(running.proxy.dsn(user), autocommit=True) as connection:
                for turn in range(40):
                    name, step = steps[(number + turn) % len(steps)]
                    begun = time.monotonic()
                    step(connection)
                    report.add(name)
                    if name == "replayed":
                        report.waits.append((begun - running.since, time.monotonic() - begun))
                    time.sleep(pause)
                    if time.monotonic() > until:
                        return
        except (psycopg.Error, AssertionError) as error:
            state = error.sqlstate if isinstance(error, psycopg.Error) else "assertion"
            if state in GONE and (starts % 2 or starts != running.starts):
                report.add("lost with the proxy")
            else:
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


def soak(
    folder: Path,
    minutes: float,
    connections: int,
    stops: Sequence[tuple[float, signal.Signals]] = STOPS,
    processes: int = 1,
    pause: float = 0.0,
) -> Report:
    """Let the traffic run over a proxy of its own."""
    report = Report()
    # A place is held until the cancelled work of a client that has gone is over.
    places = f"max_connections = {2 * connections}"
    file = write_home(folder, DDL, POLICY, users=USERS, padding="1ms", processes=processes, more=places)
    running = Running(spawn(file))
    try:
        begun = time.monotonic()
        until = begun + minutes * 60
        due = [(begun + share * minutes * 60, number) for share, number in stops]
        with ThreadPoolExecutor(connections) as pool:
            clients = [
                pool.submit(client, running, number, until, report, pause) for number in range(connections)
            ]
            every = min(EVERY, minutes * 60 / 10)
            while time.monotonic() < until:
                time.sleep(every)
                if due and time.monotonic() >= due[0][0]:
                    say(f"{time.monotonic() - begun:6.0f} s  {due[0][1].name}")
                    stop(running, file, due.pop(0)[1])
                    report.readings.clear()
                assert running.proxy.process is not None
                now = reading(running.proxy.process.pid, time.monotonic() - begun)
                report.readings.append(now)
                sizes = " + ".join(f"{one / 2**20:.1f}" for one in now.each)
                say(
                    f"{now.at:6.0f} s  {sizes} MiB  {now.files:4} files  {now.threads:4} threads  "
                    f"{report.told.total():8} statements  {len(report.faults)} faults"
                )
        for one in clients:
            if (error := one.exception()) is not None:
                report.fault(f"a client ended: {error!r}")
    finally:
        end(running.proxy, patience=PATIENCE)
    return report


def uncharged(report: Report, ledger: Ledger) -> int:
    """How many more new questions were answered than the ledger has charges of analysts."""
    answered = sum(report.told[name] for name in NEW)
    return max(0, answered - sum(entry.kind == EntryKind.CHARGE.value for entry in ledger.entries("ann")))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, report; 1 where something grew or failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--processes", type=int, default=1, help="that serve")
    parser.add_argument("--rate", type=float, help="statements a second at most, of all connections")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dpproxy-soak-") as folder:
        pause = options.connections / options.rate if options.rate else 0.0
        report = soak(
            Path(folder), options.minutes, options.connections, processes=options.processes, pause=pause
        )
        state = Path(folder) / "state" / "main"
        with Ledger.open(state) as ledger, AuditLog.open(state, load_secret(state)) as log:
            say(f"ledger: {ledger.verify()} entries verify; audit log: {log.verify()}")
            free = uncharged(report, ledger)
    for since, when in ((0.0, ""), (SETTLED, f", later than {SETTLED:.0f} s after a start")):
        if waits := sorted(wait for at, wait in report.waits if at >= since):
            middle, late = (waits[int(len(waits) * share)] for share in (0.5, 0.99))
            say(
                f"replayed answers{when}: median {1000 * middle:.1f} ms, 99 % within {late / middle:.1f} medians"
            )
    more = grown(report.readings)
    say(", ".join(f"{name} {number}" for name, number in report.told.most_common()))
    for fault, times in Counter(report.faults).most_common(10):
        say(f"FAULT {times} times: {fault}")
    say(f"{free} answers to new questions without a charge")
    say(f"memory grew by {more:.1%} after the first {SETTLE:.0%} of the time, {GROWTH:.0%} allowed")
    return 1 if report.faults or free or more > GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
