"""Threads that answer statements stay on one processor, and nothing else does."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from dpproxy.system import processor
from dpproxy.system.processor import Processor, any_processor
from tests.bench.soak import family
from tests.proxies import spawned, write_home

ALL = frozenset(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(ALL) < 2, reason="there is one processor")


@contextmanager
def thread(name: str) -> Iterator[int]:
    """A thread that does nothing."""
    end = threading.Event()
    one = threading.Thread(target=end.wait, name=name)
    one.start()
    try:
        yield one.native_id or 0
    finally:
        end.set()
        one.join()


async def kept(seconds: float = 0.0) -> dict[int, set[int]]:
    """Where each thread may be, a while after the processor was settled on."""
    task = asyncio.create_task(Processor().keep(asyncio.sleep))
    await asyncio.sleep(seconds)
    found = {t.native_id: os.sched_getaffinity(t.native_id) for t in threading.enumerate() if t.native_id}
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return found


def test_the_loop_and_the_threads_of_statements_stay_together_until_it_ends():
    with thread("statement_0") as statement, thread("ledger") as ledger, thread("measure") as other:
        found = asyncio.run(kept())
        own = found[threading.get_native_id()]
        assert len(own) == 1
        assert found[statement] == found[ledger] == own
        assert found[other] == ALL
        assert {frozenset(os.sched_getaffinity(one)) for one in (0, statement, ledger)} == {ALL}


def test_what_takes_long_is_anywhere_and_comes_back():
    async def scene() -> None:
        task = asyncio.create_task(Processor().keep(asyncio.sleep))
        await asyncio.sleep(0)
        home = os.sched_getaffinity(0)
        assert len(home) == 1
        with any_processor():
            assert os.sched_getaffinity(0) == ALL
        assert os.sched_getaffinity(0) == home
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(scene())


def test_who_is_away_is_not_moved():
    with any_processor():
        assert asyncio.run(kept())[threading.get_native_id()] == ALL


def test_who_ends_meanwhile_does_no_harm(monkeypatch: pytest.MonkeyPatch):
    def gone(_thread: int, _where: frozenset[int]) -> None:
        raise ProcessLookupError

    monkeypatch.setattr(os, "sched_setaffinity", gone)
    asyncio.run(kept())


@pytest.mark.parametrize(
    ("waited", "used", "moves"), [(0.5, 0.2, True), (0.5, 0.95, False), (0.1, 0.2, False)]
)
def test_a_processor_that_others_use_is_left_for_another_one(
    monkeypatch: pytest.MonkeyPatch, waited: float, used: float, *, moves: bool
):
    seen: list[frozenset[int]] = []
    monkeypatch.setattr(processor, "TICK", 0.001)
    monkeypatch.setattr(Processor, "_settle", lambda _, where: seen.append(where))
    monkeypatch.setattr(Processor, "_shares", lambda _: (waited, used))
    asyncio.run(kept(0.05))
    settled = [len(where) == 1 for where in seen]
    assert settled[0]
    assert settled[-1] is False
    assert (settled.count(True) > 1) is moves
    if moves:  # let go in between, so that the system may choose
        assert settled[:4] == [True, False, True, False]


def test_the_shares_are_of_the_time_since_the_last_look():
    one = Processor()
    one._shares()
    until = time.monotonic() + 0.05
    while time.monotonic() < until:
        pass
    waited, used = one._shares()
    assert 0 <= waited <= 1
    assert used > 0.01
    time.sleep(0.05)
    assert one._shares()[1] < 0.9


@pytest.mark.parametrize("choice", [frozenset({0}), frozenset[int]()])
def test_nothing_is_done_where_there_is_no_choice(monkeypatch: pytest.MonkeyPatch, choice: frozenset[int]):
    monkeypatch.setattr(processor, "_ALL", choice)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: pytest.fail("a thread was moved"))
    asyncio.run(Processor().keep(asyncio.sleep))


def test_the_process_with_the_data_may_be_anywhere_also_when_it_is_started_anew(tmp_path: Path):
    def allowed(process: int) -> set[int]:
        return set(os.sched_getaffinity(process))

    home = write_home(tmp_path, ["CREATE TABLE t AS SELECT 1 AS x"], "ALTER TABLE t SET PRIVACY PUBLIC;")
    with spawned(home) as proxy, psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        assert proxy.process is not None
        worker = family(proxy.process.pid)[1]
        assert connection.execute("SELECT x FROM t").fetchone() == (1,)
        assert len(allowed(proxy.process.pid)) == 1
        assert allowed(worker) == ALL
        os.kill(worker, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with suppress(psycopg.Error):
                if connection.execute("SELECT x + 1 FROM t").fetchone() == (2,):
                    break
            time.sleep(0.1)
        another = family(proxy.process.pid)[1]
        assert another != worker
        assert allowed(another) == ALL


def test_what_cannot_be_looked_up_is_looked_up_at_the_next_tick(monkeypatch: pytest.MonkeyPatch):
    failures, looks = iter([OSError("no file is left")] * 2), list[int]()

    def current() -> int:
        looks.append(1)
        for failure in failures:
            raise failure
        return min(ALL)

    monkeypatch.setattr(processor, "_current", current)
    monkeypatch.setattr(processor, "TICK", 0.01)
    monkeypatch.setattr(Processor, "_is_crowded", lambda _: True)

    async def scene() -> None:
        task = asyncio.create_task(Processor().keep(asyncio.sleep))
        while len(looks) < 3:
            await asyncio.sleep(0.01)
            assert not task.done()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(scene(), 30))
