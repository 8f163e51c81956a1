import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import pytest

from dpproxy.accounting import writer as module
from dpproxy.accounting.batch import Batch
from dpproxy.accounting.database import Unwritten
from dpproxy.accounting.writer import PendingRelease, Writer
from dpproxy.values.errors import BudgetExceeded, LedgerUnavailable, ShuttingDown

T = TypeVar("T")


class Disk:
    """Stands for the database: holds commits back, and fails those with answers or all, as told."""

    largest = 50
    owes = False

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.entered = threading.Event()
        self.broken = False
        self.full_for_answers = False
        self.commits: list[int] = []
        self.kept: list[bytes] = []

    def commit(self, fill: Callable[["Disk"], T]) -> T:
        self.entered.set()
        if not self.free.wait(5):
            raise TimeoutError
        kept = len(self.kept)
        result = fill(self)
        if self.broken or (self.full_for_answers and len(self.kept) > kept):
            del self.kept[kept:]
            raise Unwritten
        self.commits.append(len(result) if isinstance(result, list) else 0)
        return result

    def keep(self, origin: int, key: bytes, nano: int, payload: bytes) -> None:  # noqa: ARG002
        self.kept.append(payload)

    def has(self, origin: int) -> bool:  # noqa: ARG002
        return True

    def checkpoint(self) -> None:
        """Nothing to move."""

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def writer(disk: Disk) -> Writer:
    return Writer(disk)  # type: ignore[arg-type]


def answered(origin: int, payload: bytes = b"rows") -> PendingRelease:
    return PendingRelease(origin, b"key", 1, payload)


def soon(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 5
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
    return condition()


def refuse(_: Batch) -> None:
    raise BudgetExceeded("too much")


def test_whoever_waits_during_a_commit_shares_the_next(disk: Disk, writer: Writer):
    disk.free.clear()
    with ThreadPoolExecutor(21) as pool:
        tasks: list[Future[int]] = [pool.submit(writer.submit, lambda _: 0)]
        assert disk.entered.wait(5)
        tasks += [pool.submit(writer.submit, lambda _, n=n: n) for n in range(1, 21)]
        assert soon(lambda: writer._queue.qsize() == 20)
        disk.free.set()
        assert [task.result(5) for task in tasks] == list(range(21))
    assert disk.commits == [1, 20]
    writer.close()


def test_no_commit_is_larger_than_the_database_likes(disk: Disk, writer: Writer):
    disk.free.clear()
    with ThreadPoolExecutor(121) as pool:
        tasks: list[Future[int]] = [pool.submit(writer.submit, lambda _: 0)]
        assert disk.entered.wait(5)
        tasks += [pool.submit(writer.submit, lambda _: 0) for _ in range(120)]
        assert soon(lambda: writer._queue.qsize() == 120)
        disk.free.set()
        assert [task.result(5) for task in tasks] == [0] * 121
    assert disk.commits == [1, 50, 50, 20]
    writer.close()


def test_a_refusal_is_for_its_own_caller_only(disk: Disk, writer: Writer):
    disk.free.clear()
    with ThreadPoolExecutor(3) as pool:
        tasks = [pool.submit(writer.submit, apply) for apply in (refuse, lambda _: 1, refuse)]
        disk.free.set()
        assert tasks[1].result(5) == 1
        for task in (tasks[0], tasks[2]):
            with pytest.raises(BudgetExceeded):
                task.result(5)
    writer.close()


def test_when_answers_are_written_depends_on_the_clock_alone(monkeypatch: pytest.MonkeyPatch):
    """Not on when one was drawn: it would show as soon as others may see it."""
    found = set[float]()
    for moment in (8.0001, 8.01, 8.02, 8.0249):
        monkeypatch.setattr(time, "monotonic", lambda moment=moment: moment)
        found.add(round(module._next(), 9))
    monkeypatch.undo()
    assert found == {8.05}


def test_a_failed_commit_answers_nobody_until_it_works_again(disk: Disk, writer: Writer):
    disk.broken = True
    for apply in (lambda _: 1, refuse):
        with pytest.raises(LedgerUnavailable):
            writer.submit(apply)
    disk.broken = False
    assert writer.submit(lambda _: 2) == 2
    writer.close()


def test_an_answer_is_written_by_itself_after_a_while(disk: Disk, writer: Writer):
    begun = time.monotonic()
    writer.keep(answered(1))
    assert [a.origin for a in writer.waiting()] == [1]
    assert soon(lambda: not writer.waiting())
    assert time.monotonic() - begun >= module.LINGER / 2
    assert disk.kept == [b"rows"]
    writer.close()


def test_an_answer_goes_with_the_next_charge(disk: Disk, writer: Writer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LINGER", 60)
    writer.keep(answered(1))
    writer.submit(lambda _: 0)
    assert soon(lambda: not writer.waiting())
    assert disk.commits == [1]
    writer.close()


def test_an_answer_without_room_does_not_stop_charges_and_is_tried_again(
    disk: Disk, writer: Writer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(module, "RETRY", 0.05)
    disk.full_for_answers = True
    writer.keep(answered(1))
    assert [writer.submit(lambda _, n=n: n) for n in range(5)] == list(range(5))
    assert len(writer.waiting()) == 1
    disk.full_for_answers = False
    assert soon(lambda: disk.kept == [b"rows"] and not writer.waiting())
    writer.close()
    assert not caplog.records  # nothing was refused


def test_the_backlog_of_answers_is_bounded(disk: Disk, writer: Writer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LARGEST_BACKLOG", 10)
    disk.broken = True
    for origin in range(5):
        writer.keep(answered(origin, b"four"))
    assert [a.origin for a in writer.waiting()] == [3, 4]
    writer.close()


def test_closing_writes_what_waits_and_then_refuses(disk: Disk, writer: Writer):
    disk.free.clear()
    with ThreadPoolExecutor(5) as pool:
        tasks = [pool.submit(writer.submit, lambda _: 1)]
        assert disk.entered.wait(5)
        tasks += [pool.submit(writer.submit, lambda _: 1) for _ in range(3)]
        assert soon(lambda: writer._queue.qsize() == 3)
        writer.keep(answered(1))
        closing = pool.submit(writer.close)
        disk.free.set()
        closing.result(5)
        assert [task.result(5) for task in tasks] == [1] * 4
    assert disk.kept == [b"rows"]
    with pytest.raises(ShuttingDown):
        writer.submit(lambda _: 1)
    writer.keep(answered(2))
    assert not writer.waiting()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_our_own_leaves_nobody_waiting(writer: Writer):
    def fault(_: Batch) -> None:
        raise KeyError("ours")

    with pytest.raises(ShuttingDown):
        writer.submit(fault)
    with pytest.raises(ShuttingDown):
        writer.submit(lambda _: 1)
    writer.close()


def test_an_answer_is_not_written_before_its_time(writer: Writer, disk: Disk):
    """Whoever shares the database would see there that it is, and so when it was released."""
    until = time.monotonic() + 0.3
    writer.keep(PendingRelease(1, b"key", 1, b"early", until))
    writer.keep(answered(2, b"at once"))
    assert soon(lambda: disk.kept == [b"at once"])
    writer.submit(lambda _: None)  # a commit of others does not take it along
    assert time.monotonic() > until or disk.kept == [b"at once"]
    assert soon(lambda: disk.kept == [b"at once", b"early"])
    assert time.monotonic() >= until
    writer.keep(PendingRelease(3, b"key", 1, b"at the end", time.monotonic() + 1000))
    writer.close()
    assert disk.kept[-1] == b"at the end"
