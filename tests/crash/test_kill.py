"""kill -9 under load: whatever was answered is in the ledger when the proxy comes back, and asked again it is free.

``DPPROXY_CRASH_ROUNDS`` (default 2) says how often it is killed.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting.book import Connection
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


def charges(connection: Connection) -> int:
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
    assert (status, told) == (0, "")
    assert load.broken == []
    with Ledger.open(tmp_path / "state" / "main") as ledger:
        assert len(ledger.entries()) >= len(load.answered)
