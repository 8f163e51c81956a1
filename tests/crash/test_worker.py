"""The process of the exact stage ends under load, or hangs: errors are clean, charges stand, the next statement works.

Statements are held in flight by stopping that process, so that what is killed is never between two statements.
"""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting.model import NANO, Account
from dpproxy.backends.process import remote
from dpproxy.backends.process.remote import Remote
from tests.crash.test_kill import DDL, POLICY, question
from tests.proxies import Proxy, serving, write_home

CLIENTS = 16
LOST = "the statement could not be computed: its process ended; it stays charged"


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with serving(write_home(tmp_path, DDL, POLICY, padding="10ms")) as found:
        with psycopg.connect(found.dsn(), autocommit=True) as client:
            client.execute(question(0))  # what it reads is prepared
        yield found


def backend(proxy: Proxy) -> Remote:
    assert proxy.engine is not None
    assert isinstance(proxy.engine._backend, Remote)
    return proxy.engine._backend


def spent(proxy: Proxy) -> float:
    assert proxy.engine is not None
    return proxy.engine._ledger.spent(Account.ceiling("t")) / NANO


def ask(proxy: Proxy, number: int) -> tuple[str | None, str | None]:
    with psycopg.connect(proxy.dsn(), autocommit=True) as client:
        try:
            client.execute(question(number))
        except psycopg.Error as error:
            return error.sqlstate, error.diag.message_primary
    return None, None


def in_flight(proxy: Proxy, pool: ThreadPoolExecutor, first: int) -> list[object]:
    """Ask ``CLIENTS`` questions of a process that does not move, and wait until it has them all."""
    os.kill(backend(proxy)._keeper.child().process.pid, signal.SIGSTOP)
    asked: list[object] = [pool.submit(ask, proxy, first + number) for number in range(CLIENTS)]
    until = time.monotonic() + 30
    while len(backend(proxy)._running) < CLIENTS and time.monotonic() < until:
        time.sleep(0.01)
    return asked


def test_all_that_a_killed_process_ran_fails_and_stays_charged(proxy: Proxy):
    before = spent(proxy)
    with ThreadPoolExecutor(CLIENTS) as pool:
        asked = in_flight(proxy, pool, 1)
        backend(proxy)._keeper.child().kill()
        told = [future.result() for future in asked]  # type: ignore[attr-defined]
    assert told == [("XX000", LOST)] * CLIENTS
    assert spent(proxy) - before == pytest.approx(0.01 * CLIENTS)
    assert ask(proxy, 1) == (None, None)
    assert spent(proxy) - before == pytest.approx(
        0.01 * (CLIENTS + 1)
    )  # nothing was given back, nothing was kept


def test_one_that_hangs_is_replaced_at_the_limit(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remote, "GRACE", 0.3)
    before = spent(proxy)
    with ThreadPoolExecutor(CLIENTS) as pool:
        asked = in_flight(proxy, pool, 100)
        for call in list(backend(proxy)._running.values()):
            call.until = time.monotonic()
        told = {future.result() for future in asked}  # type: ignore[attr-defined]
    assert ("57014", "canceling statement due to statement timeout") in told
    assert told <= {("57014", "canceling statement due to statement timeout"), ("XX000", LOST)}
    assert spent(proxy) - before == pytest.approx(0.01 * CLIENTS)
    assert ask(proxy, 200) == (None, None)


def test_a_timeout_leaves_on_the_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remote, "GRACE", 0.1)
    with serving(write_home(tmp_path, DDL, POLICY, padding="500ms")) as proxy:
        assert ask(proxy, 0) == (None, None)
        backend(proxy)._limit = 0.55
        os.kill(backend(proxy)._keeper.child().process.pid, signal.SIGSTOP)
        with psycopg.connect(proxy.dsn(), autocommit=True) as client:
            start = time.monotonic()
            with pytest.raises(psycopg.errors.QueryCanceled):
                client.execute(question(1))
            took = time.monotonic() - start
    assert took >= 0.99  # the second instant of its grid, or a later one, not 0.65 s
