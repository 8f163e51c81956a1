"""``python -m dpproxy.backends.process.worker``: the process that holds the data, run by ``child`` and by nobody else.

It is given two ends of sockets: one for control, on which further *lanes* arrive, and the first lane. A lane carries
one statement at a time, ``[number, method, arguments]`` one way and ``[outcome, value]`` back, with a table as
the body. Statements on several lanes run at the same time. What went wrong leaves as an entry of ``failures``,
never as words. It draws no randomness, and it ends with its parent.
"""

import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpproxy.backends.duckdb.growth import Growth
from dpproxy.backends.duckdb.source import AGAIN, DuckDB
from dpproxy.backends.failures import code_of, failure
from dpproxy.backends.process.confine import confine
from dpproxy.backends.process.frames import Channel, packed
from dpproxy.system.arrow import configure
from dpproxy.values.errors import Refusal, StartupError
from dpproxy.values.pgtypes import SqlType
from udfs.privacy import Exact

ORDER = struct.Struct(">cQ")
"""A message of the control socket: what, and the number of a statement."""
LANE, INTERRUPT, CLOSE = b"L", b"I", b"C"

Reply = tuple[object, pa.Table | None]
"""A value for the header, and a table for the body."""


class Worker:
    """The data and the statements that are being run on them."""

    def __init__(self, backend: DuckDB) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._interrupted: set[int] = set()
        self._methods: dict[str, Callable[..., Reply]] = {
            "run": self._run,
            "build": self._build,
            "run_public": self._run_public,
            "run_open": self._run_open,
            "run_portions": self._run_portions,
        }
        self._plain: dict[str, Callable[..., object]] = {
            "load": lambda name, path, sql: backend.load(name, Path(path), sql),
            "unload": backend.unload,
            "schema": backend.schema,
            "database": backend.database,
            "prepared_names": lambda: sorted(backend.prepared_names()),
            "progress": lambda number: backend.progress(str(number)),
            "enums": lambda others: list(backend.enums(others).items()),
        }
        """What is no statement of a session: it takes its arguments alone, and answers with a value."""

    def serve(self, lane: Channel) -> None:
        """Answer on a lane until its other end is gone."""
        while True:
            try:
                request, _ = lane.receive()
                number, method, arguments = request
                header, table = self._answer(lane, number, method, arguments)
                lane.send(header, b"" if table is None else packed(table))
                if self._backend.epoch:  # the engine failed, and every statement of it: begin anew
                    os._exit(1)
            except (EOFError, OSError):
                lane.close()
                return

    def interrupt(self, number: int) -> None:
        """Stop a statement, or keep one that has not arrived yet from starting; does not wait."""
        with self._lock:
            self._interrupted.add(number)
        threading.Thread(target=self._insist, args=(number,), daemon=True).start()

    def close(self) -> None:
        """Give the files back."""
        for number in list(self._running):
            self._backend.interrupt(str(number))
        self._backend.close()

    def _insist(self, number: int) -> None:
        """The engine forgets an interrupt that comes before it has begun."""
        while number in self._running:
            self._backend.interrupt(str(number))
            time.sleep(AGAIN)

    def _answer(
        self, lane: Channel, number: int, method: str, arguments: Sequence[Any]
    ) -> tuple[object, pa.Table]:
        with self._lock:
            self._running.add(number)
        try:
            value, table = self._called(lane, number, method, arguments)
        except Refusal as refusal:
            return ["failed", code_of(refusal)], None
        except (EOFError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it may quote a row
            return ["failed", code_of(error)], None
        else:
            return ["done", value], table
        finally:
            with self._lock:
                self._running.discard(number)
                self._interrupted.discard(number)

    def _called(self, lane: Channel, number: int, method: str, arguments: Sequence[Any]) -> Reply:
        if number in self._interrupted:
            raise failure("cancelled")
        if method in self._plain:
            return self._plain[method](*arguments), None
        return self._methods[method](lane, number, *arguments)

    def _run(
        self,
        lane: Channel,
        number: int,
        sql: str,
        given: Sequence[Any],
        few: list[SqlType] | None,
        selects: bool,  # noqa: FBT001 - as it was sent
    ) -> Reply:
        def select(counts: Exact[pa.Array]) -> NDArray[np.bool_]:
            lane.send(["groups", None], packed(pa.table({"units": counts.value})))
            answer, mask = lane.receive()
            if answer != "keep":
                raise failure("cancelled")
            return np.frombuffer(mask, dtype=np.bool_)

        def take(portion: Exact[pa.Table]) -> None:
            lane.send(["rows", None], packed(portion.value))

        statement, asked = (sql, dict(given), str(number)), partial(self._is_interrupted, number)
        if selects:
            self._backend.run_groups(*statement, select, take, asked)
            return None, None
        return None, self._backend.run(*statement, few=few, cancelled=asked).value

    def _is_interrupted(self, number: int) -> bool:
        return number in self._interrupted

    def _build(
        self,
        _: Channel,
        number: int,
        name: str,
        sql: str | None,
        given: Sequence[Any],
        growth: Any,  # noqa: ANN401
    ) -> Reply:
        grown = None if growth is None else Growth(*growth)
        self._backend.build(name, sql, dict(given), str(number), partial(self._is_interrupted, number), grown)
        return None, None

    def _run_public(self, _: Channel, number: int, sql: str) -> Reply:
        return self._backend.run_public(sql, str(number)), None

    def _run_open(self, _: Channel, number: int, sql: str) -> Reply:
        return None, self._backend.run_open(sql, str(number))

    def _run_portions(self, lane: Channel, number: int, sql: str, portion: int) -> Reply:
        """Batch by batch: the lane is full until they are read."""
        with closing(self._backend.run_portions(sql, portion, str(number))) as batches:
            for batch in batches:
                if number in self._interrupted:
                    raise failure("cancelled")
                lane.send(["batch", None], packed(batch))
        return None, None


def opened(lane: Channel) -> Worker | None:
    """The data that the first message names; None, and a line to the parent, where they cannot be opened."""
    request, _ = lane.receive()
    path, threads, memory, *beside = request
    prepared, spill = (None if named is None else Path(named) for named in beside)
    try:
        backend = DuckDB(Path(path), threads=threads, memory=memory, prepared=prepared, spill=spill)
    except StartupError as error:
        lane.send(["failed", str(error)])
        return None
    lane.send(["done", None])
    return Worker(backend)


def main(control: socket.socket, first: socket.socket) -> None:
    """Serve until the parent says so or is gone."""
    lane = Channel(first)
    worker = opened(lane)
    if worker is None:
        return
    threading.Thread(target=worker.serve, args=(lane,), daemon=True).start()
    while True:
        order, ends, _, _ = socket.recv_fds(control, ORDER.size, 1)
        kind, number = ORDER.unpack(order) if len(order) == ORDER.size else (b"", 0)
        if kind == LANE and ends:
            lane = Channel(socket.socket(fileno=ends[0]))
            threading.Thread(target=worker.serve, args=(lane,), daemon=True).start()
        elif kind == INTERRUPT:
            worker.interrupt(number)
        else:
            if kind == CLOSE:
                worker.close()
            return


if __name__ == "__main__":
    numbers, parent, limit = sys.argv[1:3], int(sys.argv[3]), sys.argv[4]
    confine(parent, limit or None)
    configure()
    try:
        main(*(socket.socket(fileno=int(number)) for number in numbers))
    finally:
        os._exit(0)  # nothing more is said, and no thread is waited for
