"""The data in a process of its own: what ``DuckDB`` can do, and an end to each statement whatever the engine does.

A statement that passes the server's limit, or that somebody cancels, is interrupted; where the engine does not
obey, its process is killed and another one started. All that the process ran fails with it, in the same words.
"""

import math
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import astuple

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import PreparedTable
from dpproxy.backends.duckdb.enums import Enums, as_texts
from dpproxy.backends.duckdb.growth import growth
from dpproxy.backends.duckdb.source import LONGEST_PUBLIC, Select
from dpproxy.backends.failures import FAILURES, failure
from dpproxy.backends.places import in_places
from dpproxy.backends.process.batches import GONE, batches
from dpproxy.backends.process.child import Child, ChildKeeper
from dpproxy.backends.process.frames import Channel, unpacked
from dpproxy.backends.process.limits import StatementLimits
from dpproxy.backends.source import IsCancelled, Values
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import Schema, SqlType
from udfs.privacy import Exact

LIMIT = 300.0
"""Seconds of a statement over protected tables."""
GRACE = 5.0
"""Seconds the engine has to obey an interrupt."""
PATIENCE = 10.0
"""Seconds that what runs gets to end before other data is opened."""
LONGEST_BUILD = 3600.0
"""Seconds of one prepared table: those who wait for it may leave, and nobody is charged again."""


class _Call(Struct, eq=False):
    """One statement that runs."""

    child: Child
    number: int
    until: float
    """When it is interrupted, then when its process is killed."""
    limits: StatementLimits
    interrupted: bool = False
    expired: bool = False

    def limited(self) -> AbstractContextManager[None]:
        """Inside the block it is stopped when it is due."""
        return self.limits.apply(self)

    def interrupt(self) -> None:
        """Stop it, by force after ``GRACE``."""
        if not self.interrupted:
            self.until = time.monotonic() + GRACE
            self.interrupted = True
            self.child.interrupt(self.number)
            self.limits.wake(self.until)

    def expire(self) -> None:
        """Interrupt it at its limit; kill its process where it was interrupted before."""
        if self.interrupted:
            self.until = math.inf
            self.child.kill()
        else:
            self.expired = True
            self.interrupt()


class Remote:
    """One data source, in a process that this one starts and ends. Raises ``StartupError`` as ``DuckDB`` does."""

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        memory: str | None = None,
        prepared: Path | None = None,
        limit: float = LIMIT,
        schemas: Sequence[str] = (),
    ) -> None:
        self._limit = limit
        self._schemas = list(schemas)
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._running: dict[str, _Call] = {}
        self._keeper = ChildKeeper(path.absolute(), threads, memory, prepared)
        self._limits = StatementLimits()
        self._since = 0
        """The epoch that began with the data at hand: no plan of an earlier one is run."""
        self._tables: Schema | None = None
        """What the plans are of, once other data was opened than at the start."""
        self._enums, self._places = self._reading()

    @property
    def epoch(self) -> int:
        """How many processes there were before this one."""
        return self._keeper.child(anyway=True).epoch

    prepares = True

    def check(self, query: nodes.Query, prepares: Sequence[PreparedTable] = ()) -> None:  # noqa: ARG002
        """Whatever is planned is in the engine's own words; while the data is altered nothing runs."""
        self._keeper.check_file(charged=False)

    def shown(self, query: nodes.Query) -> str:
        """The text of a statement, as the engine with the data reads it."""
        return self._text(query)

    def _text(self, query: nodes.Query) -> str:
        return printing.text(self._read(query))

    def _read(self, query: nodes.Query) -> nodes.Query:
        return in_places(as_texts(query, self._enums), self._places)

    def _reading(self) -> tuple[Enums, Mapping[str, tuple[str, ...]]]:
        """The columns of enums, and where the tables of other schemas are.

        Read with the data, not with a statement, which has a limit and may be cancelled.
        """
        enums = dict(self._ask("enums", (self._schemas,))[0])
        if not self._schemas:
            return enums, {}
        database, _ = self._ask("database", ())
        return enums, {name: (database, *place) for name, place in self.schema().places.items()}

    def schema(self) -> Schema:
        """Tables, columns and views, from the DDL alone."""
        found, _ = self._ask("schema", (self._schemas,))
        if not isinstance(found, Schema):
            raise failure("unavailable")
        return found

    def prepared_names(self) -> set[str]:
        """The prepared tables that are there."""
        names, _ = self._ask("prepared_names", ())
        return set(names)

    def run(
        self,
        query: nodes.Query,
        parameters: Mapping[str, object],
        session: str,
        *,
        few: Sequence[SqlType] | None = None,
        select: Select | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        epoch: int = 0,
    ) -> Exact[pa.Table]:
        """Run one statement of ours; a session runs one at a time. As ``DuckDB.run``, and within the limit."""
        if epoch < self._since:
            raise failure("renewed")
        given = [list(parameters.items()), None if few is None else list(few), select is not None]
        _, table = self._ask("run", (self._text(query), *given), session, self._limit, cancelled, select)
        return Exact(table)

    def build(
        self, name: str, query: nodes.Query | None, parameters: Values, session: str, cancelled: IsCancelled
    ) -> None:
        """Make a prepared table of the rows of a query; drop it where there is none."""
        sql, grown = None, None
        if query is not None:
            read = self._read(query)
            sql, grown = printing.text(read), growth(read)
        given = list(parameters.items()), None if grown is None else astuple(grown)
        self._ask("build", (name, sql, *given), session, LONGEST_BUILD, cancelled)

    def run_public(self, query: nodes.Query, session: str) -> list[tuple[object, ...]]:
        """Rows of a statement over public tables."""
        rows, _ = self._ask("run_public", (self._text(query),), session)
        return [tuple(row) for row in rows]

    def run_open(self, query: nodes.Query, session: str) -> pa.Table:
        """A statement over public tables as a table, to be joined with what was released."""
        return self._ask("run_open", (self._text(query),), session)[1]

    def load(self, name: str, path: Path, sql: str) -> None:
        """Make a prepared table of the rows of a statement over a file of ours."""
        self._ask("load", (name, str(path.absolute()), sql), f"load {name}", LONGEST_BUILD)

    def unload(self, name: str) -> None:
        """Drop such a table."""
        self._ask("unload", (name,), f"load {name}", LONGEST_BUILD)

    def run_portions(self, query: nodes.Query, portion: int, session: str) -> Generator[pa.Table]:
        """Rows of a statement over public tables and views, in the engine's types, so many as they are taken."""
        child = self._keeper.child()
        self._keeper.check_file(charged=False)
        call = _Call(child, next(self._numbers), time.monotonic() + LONGEST_PUBLIC + GRACE, self._limits)
        request = [call.number, "run_portions", [self._text(query), portion]]
        waiting = partial(self._waiting, session, call)
        try:
            found = batches(child.take(), call, request, waiting, LONGEST_PUBLIC + GRACE, child.give)
            outcome, value = yield from found
            self._keeper.check_file(charged=False)
        except GONE:
            _lost(call, is_charged=False)
        _result((outcome, value, None), call)

    @contextmanager
    def _waiting(self, session: str, call: _Call) -> Iterator[None]:
        """A statement that ``interrupt`` stops, while its rows are awaited."""
        with self._lock:
            self._running[session] = call
        try:
            with call.limited():
                yield
        finally:
            with self._lock:
                if self._running.get(session) is call:
                    del self._running[session]

    def progress(self, session: str) -> float | None:
        """Which part is done of the table that a session builds, as its engine estimates it; None where it does not."""
        with self._lock:
            call = self._running.get(session)
        share = None
        if call is not None:
            with suppress(Refusal):
                share, _ = self._ask("progress", (call.number,))
        return None if share is None else float(share)

    def interrupt(self, session: str) -> None:
        """Stop what a session runs, from any thread; does not wait."""
        with self._lock:
            call = self._running.get(session)
        if call is not None:
            call.interrupt()

    def renew(self, opened: Callable[[], tuple[Path, Path]], between: Callable[[], None]) -> bool:
        """Read other data from now on: a file, and one for its prepared tables, both told once the old ones are closed.

        ``between`` is called after the last statement over the old data and before the first over the new. False where
        a table of the old data has other columns in the new: nothing is answered then.
        """
        before = self.schema() if self._tables is None else self._tables

        def opening(epoch: int) -> tuple[Path, Path]:
            files = opened()
            between()
            self._since = epoch
            return files

        altered = True
        try:
            self._keeper.renew(opening, lambda: not self._running, PATIENCE)
            now, (self._enums, self._places) = self.schema().tables, self._reading()
            altered = any(now.get(name) != columns for name, columns in before.tables.items())
        finally:
            self._tables = before
            self._keeper.renewed(altered=altered)
        return not altered

    def close(self) -> None:
        """End the process."""
        self._keeper.close()
        self._limits.close()

    def _ask(
        self,
        method: str,
        arguments: Sequence[object],
        session: str = "",
        limit: float = LONGEST_PUBLIC + GRACE,
        cancelled: Callable[[], bool] = lambda: False,
        select: Select | None = None,
    ) -> tuple[Any, pa.Table]:
        """Ask the process: a value and a table. A statement that must not be asked again is never sent twice."""
        child = self._keeper.child(anyway=method in _ALWAYS)
        call = _Call(child, next(self._numbers), time.monotonic() + limit, self._limits)
        try:
            with self._waiting(session, call):
                if cancelled():
                    raise failure("cancelled")
                lane = child.take()
                try:
                    outcome = _exchange(lane, [call.number, method, list(arguments)], select)
                except BaseException:
                    lane.close()
                    raise
                child.give(lane)
        except GONE:
            _lost(call, is_charged=method == "run")
        if method not in _ALWAYS:
            self._keeper.check_file(charged=method == "run")
        return _result(outcome, call)


_ALWAYS = frozenset(("database", "enums", "schema", "prepared_names", "load", "unload"))
"""What reads no row of the data."""


def _exchange(lane: Channel, request: object, select: Select | None) -> tuple[str, Any, pa.Table]:
    """Send, answer what is asked back, and wait: outcome, value, table."""
    refused: Refusal | None = None
    portions: list[pa.Table] = []
    lane.send(request)
    while True:
        header, body = lane.receive()
        outcome, value = header
        table: pa.Table = unpacked(body) if len(body) else None
        if outcome == "rows" and select is not None:
            portions.append(table)
        elif outcome != "groups" or select is None:
            if refused is not None:
                raise refused
            return outcome, value, pa.concat_tables(portions) if portions else table
        else:
            try:
                kept = select(Exact(table["units"].combine_chunks())).tobytes()
            except Refusal as refusal:
                refused = refusal
                lane.send("stop")
            else:
                lane.send("keep", kept)


def _result(outcome: tuple[str, Any, pa.Table], call: _Call) -> tuple[Any, pa.Table]:
    kind, value, table = outcome
    if kind == "done":
        return value, table
    code = value if value in FAILURES else "exact"
    raise failure("too long" if call.expired and code == "cancelled" else code) from None


def _lost(call: _Call, *, is_charged: bool) -> NoReturn:
    """Say that a process has ended; one that has not, but says what it should not, is ended."""
    call.child.kill()
    if call.expired:
        raise failure("too long") from None
    if call.interrupted:
        raise failure("cancelled") from None
    raise failure("lost" if is_charged else "public lost") from None
