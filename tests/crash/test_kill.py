"""kill -9 under load: whatever was answered is in the ledger when the proxy comes back, and asked again it is free.

``DPPROXY_CRASH_ROUNDS`` (default 2) says how often it is killed.
"""

import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting.book import StoreConnection
from dpproxy.accounting.ledger import Ledger
from tests.proxies import Proxy, end, spawn, spawned, write_home

ROUNDS = int(os.environ.get("DPPROXY_CRASH_ROUNDS", "2"))
CLIENTS = 16
SETTLED = 0.5
"""Seconds after which an answer is long on the disk; it is written with the next charge, or after 50 ms."""
EPSILON = Decimal("0.01")
DDL = ("CREATE TABLE t AS SELECT CAST(i AS INTEGER) AS x FROM range(1000) AS r(i)",)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 10000;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 1000000;
CREATE PRIVACY BUDGET b LIMIT EPSILON 10000 DEFAULT EPSILON 0.01;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""


@dataclass
class Load:
    """Questions that nobody asked before, from many connections until the server is gone."""

    numbers: Iterator[int]
    answered: dict[int, tuple[float, object]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def run(self, dsn: str) -> None:
        try:
            with psycopg.connect(dsn, autocommit=True) as connection:
                while True:
                    number = next(self.numbers)
                    row = connection.execute(question(number)).fetchone()
                    self.answered[number] = (time.monotonic(), row)
        except psycopg.OperationalError:
            pass
        except psycopg.Error as error:
            self.broken.append(str(error))


def question(number: int) -> str:
    return f"SELECT count(*) FROM t WHERE x < {number}"


def charges(connection: StoreConnection) -> int:
    return int(connection.execute("SELECT count(*) FROM entry WHERE kind = 'charge'").fetchone()[0])


def load_until_killed(proxy: Proxy, load: Load, seconds: float) -> float:
    """Kill it so long after every client had its first answer, however slow the machine is."""
    first = len(load.answered) + CLIENTS
    threads = [threading.Thread(target=load.run, args=(proxy.dsn(),)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while len(load.answered) < first and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(seconds)
    killed = time.monotonic()
    end(proxy, signal.SIGKILL)
    for thread in threads:
        thread.join(30)
    return killed


def test_answered_is_never_more_than_charged(tmp_path: Path):
    file = write_home(tmp_path, DDL, POLICY)
    file.write_text(file.read_text().replace("[state]\n", '[state]\nhigh_water = "mark"\n'))
    load = Load(count(1))
    charged = 0
    settled: dict[int, object] = {}
    for round_ in range(ROUNDS):
        known = set(load.answered)
        proxy = spawn(file)
        killed = load_until_killed(proxy, load, 1.0 + 0.13 * (round_ % 7))
        assert load.broken == []
        fresh = load.answered.keys() - known
        assert len(fresh) >= CLIENTS
        settled |= {n: load.answered[n][1] for n in fresh if load.answered[n][0] < killed - SETTLED}
        with Ledger.open(
            tmp_path / "state" / "main", high_water=tmp_path / "mark"
        ) as ledger:  # verifies all of it
            before, charged = charged, ledger.read(charges)
            assert charged >= len(load.answered)
            # Lost with each kill is at most what was under way: one statement of each connection.
            assert charged - before <= len(fresh) + CLIENTS
        sys.stdout.write(f"kill {round_ + 1}: {len(load.answered)} answered, {charged} charged\n")
        sys.stdout.flush()
    with spawned(file) as proxy, psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        spent = connection.execute("SELECT spent FROM dp.budgets").fetchone()
        assert spent is not None
        assert spent[0] >= EPSILON * len(load.answered)
        assert settled
        for number in list(settled)[-50:]:
            assert connection.execute(question(number)).fetchone() == settled[number]
        assert connection.execute("SELECT spent FROM dp.budgets").fetchone() == spent


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_with_clients_at_work(tmp_path: Path, number: signal.Signals):
    proxy = spawn(write_home(tmp_path, DDL, POLICY))
    load = Load(count(1))
    threads = [threading.Thread(target=load.run, args=(proxy.dsn(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(load.answered) < 20 and not load.broken:
        time.sleep(0.01)
    status, told = end(proxy, number)
    for thread in threads:
        thread.join(30)
    # A slow machine is told that a table is being prepared.
    assert (status, [line for line in told.splitlines() if "prepar" not in line]) == (0, [])
    assert load.broken == []
    with Ledger.open(tmp_path / "state" / "main") as ledger:
        assert len(ledger.entries()) >= len(load.answered)


def test_a_build_that_is_killed_leaves_a_charge_that_is_named(tmp_path: Path):
    """Killed once it is charged, while its rows are made: the view is not declared, and what it cost is listed."""
    ddl = (
        "CREATE TABLE p AS SELECT CAST(hash(i) % 1000 AS INTEGER) AS x, i AS id FROM range(2000000) AS r(i)",
    )
    policy = """
    ALTER TABLE p SET PRIVACY KEY (id);
    ALTER TABLE p SET PRIVACY CEILING EPSILON 10;
    ALTER TABLE p ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
    """
    file = write_home(tmp_path, ddl, policy)
    build = "CREATE PROTECTED VIEW v WITH (method = dp_microaggregation, k = 50, epsilon = 0.5) AS SELECT x FROM p"
    proxy = spawn(file)

    def send() -> None:
        with suppress(psycopg.Error), psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
            root.execute(build.encode())

    thread = threading.Thread(target=send)
    thread.start()
    with Ledger.open(tmp_path / "state" / "main") as ledger:
        while not ledger.read(charges):
            time.sleep(0.01)
    log = tmp_path / "state" / "main" / "audit.sqlite"
    while not recorded(log):
        time.sleep(0.01)
    end(proxy, signal.SIGKILL)
    thread.join()
    with spawned(file) as proxy, psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        [view] = root.execute("SHOW PRIVACY VIEWS").fetchall()
        assert (view[0], view[2], view[4]) == ("v", "build 1 is charged and was not finished", Decimal("0.5"))
        entries = root.execute("SHOW PRIVACY AUDIT").fetchall()
        assert [(e[2], e[4], e[5], e[8]) for e in entries if e[5]] == [
            ("root", "building", Decimal("0.5"), build)
        ]


def recorded(log: Path) -> int:
    with closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM entry").fetchone()[0])
