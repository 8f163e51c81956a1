"""One proxy of two processes: what an analyst can spend, see and cancel is the same as with one."""

import os
import select
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting.ledger import Ledger
from tests.bench.soak import family
from tests.clients.conftest import SLOW
from tests.crash.test_processes import DDL, POLICY, SPENT
from tests.proxies import ROOT, Proxy, command, end, environment, spawn, spawned, write_home

pytestmark = pytest.mark.whole
PLACES = 12
PATIENCE = 30.0
"""Seconds for what takes milliseconds where nothing else runs."""
Connection = psycopg.Connection[tuple[object, ...]]


def home(folder: Path) -> Path:
    return write_home(folder, DDL, POLICY, more=f"max_connections = {PLACES}", processes=2)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with spawned(home(tmp_path_factory.mktemp("several"))) as proxy:
        yield proxy


def connect(proxy: Proxy, user: str = "ann") -> Connection:
    return psycopg.connect(proxy.dsn(user), autocommit=True)


@pytest.fixture
def both(proxy: Proxy) -> Iterator[tuple[Connection, Connection]]:
    """A session at each process."""
    with ExitStack() as stack:
        yield apart(stack, proxy)


def apart(stack: ExitStack, proxy: Proxy) -> tuple[Connection, Connection]:
    """The process with the fewest clients gets the next; who has just left may not be known yet."""
    found: dict[int, Connection] = {}
    until = time.monotonic() + PATIENCE
    while len(found) < 2:
        assert time.monotonic() < until
        one = connect(proxy)
        if one.info.backend_pid % 2 in found:
            one.close()
            time.sleep(0.05)
        else:
            found[one.info.backend_pid % 2] = stack.enter_context(one)
    return found[0], found[1]


def eventually(proxy: Proxy, user: str = "ann") -> Connection:
    """A connection, once there is a place for it."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return connect(proxy, user)
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_ten_of_many_statements_at_both_are_charged(proxy: Proxy):
    with ExitStack() as stack, ThreadPoolExecutor(8) as pool:
        open_ = [stack.enter_context(eventually(proxy)) for _ in range(8)]
        assert {one.info.backend_pid % 2 for one in open_} == {0, 1}

        def one(number: int) -> str:
            told = ""
            for turn in range(4):
                try:
                    open_[number].execute(
                        f"SELECT count(*) FROM raced WHERE x < {8 * turn + number}".encode()
                    )
                except psycopg.Error as error:
                    told += f"{error.sqlstate} "
                else:
                    told += "answer "
            return told

        told = Counter("".join(pool.map(one, range(8))).split())
        assert told == {"answer": 10, "PD001": 22}
        for each in open_:
            spent = each.execute("SELECT spent FROM dp.budgets WHERE budget = 'raced'").fetchone()
            assert spent == (Decimal(1),)


def test_an_answer_of_one_is_free_at_the_other(both: tuple[Connection, Connection]):
    first = both[0].execute("SELECT sum(x) FROM asked").fetchall()
    both[0].execute("SELECT count(*) FROM asked")  # its charge takes the answer before it along
    before = both[1].execute(SPENT.encode()).fetchall()
    assert both[1].execute("SELECT sum(x) FROM asked").fetchall() == first
    assert both[1].execute(SPENT.encode()).fetchall() == before


def test_a_cancel_request_reaches_the_other_process(proxy: Proxy):
    """Whichever process it comes to: one of two requests comes to the other."""
    for _ in range(2):
        with ExitStack() as stack:
            first, second = apart(stack, proxy)
            with ThreadPoolExecutor(1) as pool:
                running = pool.submit(first.execute, SLOW)
                second.close()  # the next client, which is the request, is given to that process
                until = time.monotonic() + PATIENCE
                while not running.done():
                    assert time.monotonic() < until
                    time.sleep(0.2)
                    first.cancel()
                with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
                    running.result()


def test_an_administrator_ends_a_session_of_the_other_process(
    proxy: Proxy, both: tuple[Connection, Connection]
):
    with ExitStack() as stack:
        boss = stack.enter_context(connect(proxy, "root"))
        stranger = stack.enter_context(connect(proxy, "bob"))
        for one in both:
            call = f"SELECT pg_terminate_backend({one.info.backend_pid})".encode()
            assert stranger.execute(call).fetchone() == (False,)
            assert boss.execute(call).fetchone() == (True,)
        for one in both:
            assert "administrator" in farewell(one)


def farewell(connection: Connection) -> str:
    """What an idle session was told last. Nothing is sent: a closed connection resets, and what it said may be lost."""
    said: list[str | None] = []
    connection.add_notice_handler(lambda diagnostic: said.append(diagnostic.message_primary))
    select.select([connection.pgconn.socket], [], [], PATIENCE)
    connection.pgconn.consume_input()
    connection.pgconn.is_busy()
    return str(said)


def refusal(attempt: Callable[[], object]) -> str:
    """What an attempt is told, once each process knows what happened at the other."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            attempt()
        except psycopg.OperationalError as error:
            return str(error)
    raise AssertionError("it is let through")


def test_the_places_are_those_of_one_proxy(proxy: Proxy):
    with ExitStack() as stack:
        open_ = [stack.enter_context(eventually(proxy)) for _ in range(PLACES)]
        assert {one.info.backend_pid % 2 for one in open_} == {0, 1}
        assert "too many connections" in refusal(lambda: connect(proxy).close())


def test_a_killed_process_takes_its_own_sessions_alone(tmp_path: Path):
    proxy = spawn(home(tmp_path))
    try:
        assert proxy.process is not None
        with ExitStack() as stack:
            lost, kept = apart(stack, proxy)
            lost.execute("SELECT count(*) FROM raced")
            (tmp_path / "dpproxy.toml").write_text("under = 'work'")  # read by all processes or by none
            os.kill(serving(proxy)[0], signal.SIGKILL)
            with pytest.raises(psycopg.OperationalError):
                lost.execute("SELECT count(*) FROM asked")
            kept.execute("SELECT count(*) FROM together")
            again, _ = apart(stack, proxy)  # it is started again
            again.execute("SELECT sum(x) FROM together")
            told = again.execute("SELECT budget, spent FROM dp.budgets ORDER BY budget").fetchall()
            spent = dict(told)
            assert spent["raced"] == Decimal("0.1")
            assert spent["together"] == Decimal("0.2")
    finally:
        status, words = end(proxy)
    assert status == 0
    assert "process 1 of 2 ended with status -9; it is started again" in words
    with Ledger.open(tmp_path / "state" / "main") as ledger:
        assert ledger.verify() == 3


def serving(proxy: Proxy) -> list[int]:
    """The processes that serve, the first to be started before the others."""
    assert proxy.process is not None
    found: list[int] = []
    for task in Path(f"/proc/{proxy.process.pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return sorted(found)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_all_processes_end_with_the_first(tmp_path: Path, number: signal.Signals):
    proxy = spawn(home(tmp_path))
    assert proxy.process is not None
    own = family(proxy.process.pid)
    assert len(own) == 5, "the one that listens, two that serve, and an engine of each"
    with ExitStack() as stack:
        apart(stack, proxy)[1].execute("SELECT count(*) FROM asked")
        status, _ = end(proxy, number)
    assert status == (0 if number is signal.SIGTERM else -number)
    until = time.monotonic() + PATIENCE
    while any(
        Path(f"/proc/{one}/stat").exists() and " Z " not in Path(f"/proc/{one}/stat").read_text()
        for one in own
    ):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_first_process_that_does_not_start_says_why(tmp_path: Path):
    file = home(tmp_path)
    (tmp_path / "policy.sql").write_text("ALTER TABLE nothing SET PRIVACY PUBLICLY;")
    done = subprocess.run(
        command(file), cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "policy.sql" in done.stderr
    assert "the first process did not start" in done.stderr.splitlines()[-1]
