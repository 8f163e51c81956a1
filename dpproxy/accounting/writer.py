"""The one thread that writes the ledger: all tasks that arrive during a commit share the next one."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from msgspec import Struct, field

from dpproxy.accounting.batch import Batch
from dpproxy.accounting.database import LedgerDatabase, Unwritten
from dpproxy.accounting.model import Account
from dpproxy.accounting.store import first_line
from dpproxy.system.processor import any_processor
from dpproxy.values.errors import LedgerUnavailable, Refusal, ShuttingDown
from dpproxy.values.structs import PartlyShown

T = TypeVar("T")

_log = logging.getLogger(__name__)

LINGER = 0.05
"""Seconds a released answer may wait to share the commit of a charge."""
RETRY = 1.0
"""Seconds until released answers that could not be written are tried again."""
LARGE = 2**20
"""Bytes of released answers that are written beside the threads that answer statements."""
LARGEST_BACKLOG = 64 * 2**20
"""Bytes of released answers kept for a retry; beyond, the oldest are dropped and charged anew when asked."""


class PendingRelease(PartlyShown, Struct, frozen=True):
    """A released answer on its way to the database."""

    HIDDEN = frozenset({"payload"})

    origin: int
    key: bytes
    nano: int
    payload: bytes
    seen_from: float = 0.0
    """On the clock of ``time.monotonic``: other processes must not find it sooner."""
    payers: frozenset[Account] = frozenset()
    """The accounts that its own charge debited, in any window (0 here)."""


Outcome = tuple[Any, Exception | None]
"""The result of a task, or its exception."""


class _Task(Struct, frozen=True):
    apply: Callable[[Batch], Any]
    done: "SimpleQueue[Outcome]" = field(default_factory=SimpleQueue)
    """Receives the outcome; if two are set, the caller gets the first."""


class Writer:
    """A queue of tasks and answers to be written, and the thread that writes them."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database
        self._queue: SimpleQueue[_Task | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._waiting: dict[int, PendingRelease] = {}
        self._size = 0
        """Total size of the pending payloads."""
        self._deadline: float | None = None
        self._resume = 0.0
        self._tried = False
        """Whether an answer could not be written."""
        self._failing = False
        self.commits = 0
        self.seconds = 0.0
        """Total duration of all commits; for the operator's metrics, with their number."""
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)
        self._thread.start()

    def submit(self, apply: Callable[[Batch], T]) -> T:
        """Run ``apply`` in the next transaction; returns what it returned once that is on the disk.

        Errors: the Refusal or ValueError it raised; LedgerUnavailable where the commit failed; ShuttingDown.
        """
        task = _Task(apply)
        with self._lock:
            if self._closed:
                raise ShuttingDown("the ledger is closed")
            self._queue.put(task)
        outcome, error = task.done.get()
        if error is not None:
            raise error
        result: T = outcome
        return result

    def keep(self, answered: PendingRelease) -> None:
        """Write a released answer once its time has come, ``LINGER`` seconds later at most; does not wait."""
        with self._lock:
            if self._closed:
                return
            if answered.origin not in self._waiting:
                self._waiting[answered.origin] = answered
                self._size += len(answered.payload)
            self._trim()
            if self._deadline is None:  # else it wakes by itself
                self._queue.put(None)

    def waiting(self) -> tuple[PendingRelease, ...]:
        """The released answers not yet written."""
        with self._lock:
            return tuple(self._waiting.values())

    def close(self) -> None:
        """Write everything pending, then stop."""
        with self._lock:
            self._closed = True
            self._queue.put(None)
        self._thread.join()
        self._database.close()

    # Below: the writer's own thread.

    def _run(self) -> None:
        tasks: list[_Task] = []
        try:
            while not (self._closed and self._queue.empty()):
                tasks = self._collect()
                self._write(tasks)
        finally:
            # Also reached by a fault of our own: fail closed, and leave nobody waiting.
            with self._lock:
                self._closed = True
            for task in (*tasks, *self._drain(None)):
                task.done.put((None, ShuttingDown("the ledger is closed")))

    def _collect(self) -> list[_Task]:
        """Wait for tasks: return at once if a caller waits, at the deadline if only answers are pending."""
        while not self._closed:
            wait = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            try:
                first = self._queue.get(timeout=wait)
            except Empty:
                return []
            if first is not None:
                return [first, *self._drain(self._database.largest - 1)]
            with self._lock:
                if self._deadline is None and self._waiting:
                    self._deadline = _next()
        return self._drain(self._database.largest)

    def _drain(self, most: int | None) -> list[_Task]:
        tasks: list[_Task] = []
        while most is None or len(tasks) < most:
            try:
                task = self._queue.get_nowait()
            except Empty:
                break
            if task is not None:
                tasks.append(task)
        return tasks

    def _write(self, tasks: list[_Task]) -> None:
        now = time.monotonic()
        answers = tuple(a for a in self.waiting() if self._closed or now >= max(self._resume, a.seen_from))
        failure = self._attempt(tasks, answers)
        if failure is not None:
            for task in tasks:
                unwritten = LedgerUnavailable(
                    "the privacy ledger cannot be written",
                    detail="Without it nothing new is answered; the operator's log says why.",
                )
                task.done.put((None, unwritten))
        with self._lock:  # who keeps an answer from here on sees whether it has to wake this thread
            is_asleep = not self._waiting and not self._database.owes
            self._deadline = None if is_asleep else max(_next(), self._resume)
        self._database.checkpoint()

    def _attempt(self, tasks: list[_Task], answers: tuple[PendingRelease, ...]) -> Unwritten | None:
        """Write the pending tasks, with the answers where there is room for them; log whether charges are written."""
        owes = bool(tasks) or self._database.owes
        if not owes and not answers:
            return None
        failure = self._commit(tasks, answers)
        if failure is not None:
            self._resume = time.monotonic() + RETRY
            if answers and failure.again:  # an answer that finds no room must not stop the charges
                self._tried = True
                if not owes:
                    return failure
                failure = self._commit(tasks, ())
        self._tell(failure)
        return failure

    def _commit(self, tasks: list[_Task], answers: tuple[PendingRelease, ...]) -> Unwritten | None:
        """Write pending tasks in one transaction; where it fails they stay pending."""

        def fill(batch: Batch) -> list[Outcome]:
            outcomes = [_outcome(task, batch) for task in tasks]
            for answered in answers:
                if not self._tried or batch.has(answered.origin):  # else its charge was archived meanwhile
                    batch.keep(answered.origin, answered.key, answered.nano, answered.payload)
            return outcomes

        try:
            begun = time.perf_counter()
            is_large = sum(len(answered.payload) for answered in answers) > LARGE
            with any_processor() if is_large else nullcontext():
                outcomes = self._database.commit(fill)
            self.commits, self.seconds = self.commits + 1, self.seconds + time.perf_counter() - begun
        except Unwritten as failure:
            return failure
        self._forget(answers)
        self._tried = self._tried and not answers
        for task, outcome in zip(tasks, outcomes, strict=True):
            task.done.put(outcome)
        return None

    def _tell(self, failure: Unwritten | None) -> None:
        """Log once when writing begins to fail, and once when it works again."""
        if failure is not None and not self._failing:
            _log.error(
                "the privacy ledger cannot be written (%s): new questions are refused until it can",
                first_line(failure.__cause__ or failure),
            )
        elif failure is None and self._failing:
            _log.warning("the privacy ledger can be written again")
        self._failing = failure is not None

    def _forget(self, answers: tuple[PendingRelease, ...]) -> None:
        with self._lock:
            for answered in answers:
                self._drop(answered.origin)

    def _trim(self) -> None:
        while self._size > LARGEST_BACKLOG and len(self._waiting) > 1:
            self._drop(next(iter(self._waiting)))

    def _drop(self, origin: int) -> None:
        found = self._waiting.pop(origin, None)
        if found is not None:
            self._size -= len(found.payload)


def _next() -> float:
    """When answers are written next: from the clock alone, or others would see when the one before was drawn."""
    now = time.monotonic()
    return now + LINGER - now % (LINGER / 2)


def _outcome(task: _Task, batch: Batch) -> Outcome:
    try:
        return task.apply(batch), None
    except (Refusal, ValueError) as error:
        return None, error
