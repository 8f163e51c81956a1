"""The process that holds the data, seen from outside: started, spoken to, ended, and started again.

Whatever it runs is lost when it ends; what was reserved for that stays charged. An answer comes whole from one process
or not at all: a lane belongs to one of them.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from weakref import WeakSet

from dpproxy.backends.duckdb.spill import Spill
from dpproxy.backends.failures import failure
from dpproxy.backends.process.frames import Channel
from dpproxy.backends.process.worker import CLOSE, INTERRUPT, LANE, ORDER
from dpproxy.values.errors import Refusal, StartupError

LONGEST_START = 20.0
"""Seconds a statement waits for a process that is being started."""
PAUSES = (0.0, 0.1, 0.5, 2.0, 10.0)
"""Seconds before each further attempt to start one, while none succeeds."""
FAREWELL = 5.0
"""Seconds a process gets to close its files."""
POLL = 0.02
"""Seconds between two looks at whether what runs has ended."""
Opening = tuple[str, int | None, str | None, str | None, str | None]
"""The data, threads, memory, the file of prepared tables, and where rows are written that do not fit into memory."""
_ROOT = Path(__file__).resolve().parents[3]


class Child:
    """One process; its methods may be called from any thread. Raises ``StartupError`` where it cannot open the data."""

    def __init__(self, opening: Opening, epoch: int) -> None:
        self.epoch = epoch
        """The how many-th process it is."""
        self.doomed = False
        """True once it has ended, or is about to."""
        self._control, theirs = socket.socketpair()
        first, second = socket.socketpair()
        self._lock = threading.Lock()
        arguments = [str(theirs.fileno()), str(second.fileno()), str(os.getpid()), opening[2] or ""]
        with theirs, second:
            self.process = subprocess.Popen(  # noqa: S603 - this program itself
                [sys.executable, "-m", "dpproxy.backends.process.worker", *arguments],
                cwd=_ROOT,
                env={name: value for name, value in os.environ.items() if not name.startswith("DPPROXY_")},
                pass_fds=(theirs.fileno(), second.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # the engine's last words may quote a row
            )
        lane = Channel(first)
        self._lanes = [lane]
        self._used = WeakSet(self._lanes)
        try:
            lane.send(list(opening))
            [outcome, cause] = lane.receive()[0]
        except (EOFError, OSError, ValueError):
            outcome, cause = "failed", f"data source {opening[0]} cannot be opened: its process ended"
        if outcome != "done":
            self.end()
            raise StartupError(cause)

    def take(self) -> Channel:
        """A lane nobody else uses. Raises ``OSError`` where the process is gone."""
        with self._lock:
            if self._lanes:
                return self._lanes.pop()
            ours, theirs = socket.socketpair()
            with theirs:
                socket.send_fds(self._control, [ORDER.pack(LANE, 0)], [theirs.fileno()])
            lane = Channel(ours)
            self._used.add(lane)
            return lane

    def give(self, lane: Channel) -> None:
        """The lane back, its last statement answered."""
        with self._lock:
            self._lanes.append(lane)

    def interrupt(self, number: int) -> None:
        """Ask it to stop a statement."""
        self._say(INTERRUPT, number)

    def kill(self) -> None:
        """End it now: it cannot refuse. Who waits for it is not left to wait until the kernel has its memory back."""
        self.doomed = True
        self.process.kill()
        with self._lock:
            for lane in self._used:
                lane.hang_up()

    def end(self) -> None:
        """Have it close its files and leave; it is killed where it does not. Waits."""
        self._say(CLOSE, 0)
        try:
            self.process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.forget()

    def forget(self) -> None:
        """Close this end of everything."""
        with self._lock:
            self._control.close()
            while self._lanes:
                self._lanes.pop().close()

    def _say(self, order: bytes, number: int) -> None:
        with self._lock:
            try:
                self._control.send(ORDER.pack(order, number), socket.MSG_DONTWAIT)
            except OSError:  # it is gone, or stopped for so long that it is killed soon
                return


class ChildKeeper:
    """Has one process at a time: when it ends, the next one is started."""

    def __init__(self, path: Path, threads: int | None, memory: str | None, prepared: Path | None) -> None:
        self._spill = None if prepared is None else _spill(prepared.parent)
        file = None if prepared is None else str(prepared)
        spill = None if self._spill is None else str(self._spill.path)
        self._opening: Opening = (str(path), threads, memory, file, spill)
        self._changed = threading.Condition()
        self._child: Child | None = None
        self._failed: StartupError | None = None
        self._closing = False
        self._data = path
        self._held = _identity(path)
        self.altered = False
        """The data is not what the schema and the plans are of: nothing is read until it is, or is read anew."""
        self._renewing = False
        self._reopening: Callable[[int], tuple[Path, Path]] | None = None
        # The kernel ends a process with the thread that started it: this one lives as long as the server.
        self._thread = threading.Thread(target=self._keep, name="worker", daemon=True)
        self._thread.start()
        failed = self._first()
        if failed is not None:
            raise failed

    def child(self, *, anyway: bool = False) -> Child:
        """The process; one that is being started is waited for. Raises ``Internal`` where there is none.

        None, but ``anyway``, where the data has been altered.
        """
        with self._changed:
            is_ready = self._changed.wait_for(
                lambda: self._is_ready(anyway=anyway) or self._closing, LONGEST_START
            )
            child = self._child
        if self.altered and not anyway:
            raise failure("altered")
        if child is None or not is_ready or self._closing:
            raise failure("stopping" if self._closing else "unavailable")
        return child

    def check_file(self, *, charged: bool) -> None:
        """Raise ``Internal`` where the file was written over while it was open: what was read is of no state.

        A file that was put in its place is another one: the process goes on with its own.
        """
        now = _identity(self._data)
        if now is not None and self._held is not None and now != self._held and now[:2] == self._held[:2]:
            self.altered = True
        if self.altered:
            raise failure("altered, charged" if charged else "altered")

    def renew(
        self, opened: Callable[[int], tuple[Path, Path]], idle: Callable[[], bool], patience: float
    ) -> None:
        """Another process over other data: what runs gets so many seconds to end, and new statements wait.

        ``opened`` is given the new epoch once the old process has ended, and returns the data and the file of prepared
        tables. While it raises, it is asked again.
        """
        with self._changed:
            child = self._child
            self._reopening = opened
            self._renewing = True
            if child is not None:
                child.doomed = True
        until = time.monotonic() + patience
        while not idle() and time.monotonic() < until:
            time.sleep(POLL)
        if child is not None:
            child.end()
        with self._changed:
            self._changed.wait_for(lambda: self._reopening is None or self._closing)
            self._changed.wait_for(lambda: self._is_ready(anyway=True) or self._closing, LONGEST_START)

    def renewed(self, *, altered: bool) -> None:
        """Let statements read the other data, or have them refused."""
        with self._changed:
            self._renewing, self.altered = False, altered
            self._changed.notify_all()

    def close(self) -> None:
        """End it for good."""
        with self._changed:
            self._closing = True
            child = self._child
            self._changed.notify_all()
        if child is not None:
            child.end()
        self._thread.join()

    def _is_ready(self, *, anyway: bool) -> bool:
        if self.altered and not anyway:
            return True
        is_open = self._child is not None and not self._child.doomed
        return is_open and (anyway or not self._renewing)

    def _first(self) -> StartupError | None:
        """Wait for the first process; why there is none, and none will be."""
        with self._changed:
            self._changed.wait_for(lambda: self._child is not None or self._failed is not None)
            self._closing = self._failed is not None
            self._changed.notify_all()
            return self._failed

    def _keep(self) -> None:
        epoch, attempt = 0, 0
        while not self._pause(attempt):
            try:
                self._open_other(epoch)
                child = Child(self._opening, epoch)
            except (StartupError, Refusal, OSError) as error:
                attempt = min(attempt + 1, len(PAUSES) - 1)
                self._set(
                    None, error if isinstance(error, StartupError) else StartupError(f"no process: {error}")
                )
                continue
            epoch, attempt = epoch + 1, 0
            self._set(child, None)
            if self._closing:  # since it was being started
                child.end()
            child.process.wait()
            if not self._closing:
                child.forget()
            if self._spill is not None:
                self._spill.clear()
            self._set(None, None)
        if self._spill is not None:
            self._spill.close()

    def _open_other(self, epoch: int) -> None:
        """Take up the data that shall be read from now on; without any, it must still be the file of the first time."""
        with self._changed:
            if self._reopening is not None:
                self._data, prepared = self._reopening(epoch)
                self._opening = (str(self._data), *self._opening[1:3], str(prepared), self._opening[4])
                self._held, self._reopening, self.altered = _identity(self._data), None, False
                self._changed.notify_all()
            elif epoch and (found := _identity(self._data)) != self._held:
                self.altered = found is not None
                self._changed.notify_all()
                raise StartupError(f"data source {self._data} is another file than at the start")

    def _pause(self, attempt: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._closing, PAUSES[attempt])

    def _set(self, child: Child | None, failed: StartupError | None) -> None:
        with self._changed:
            self._child, self._failed = child, failed
            self._changed.notify_all()


def _identity(path: Path) -> tuple[int, ...] | None:
    """What tells a file from another one in its place, and from itself written over."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _spill(state: Path) -> Spill:
    try:
        return Spill(state)
    except OSError as error:
        raise StartupError(f"{state}: expected a writable state directory: {error.strerror}") from None
