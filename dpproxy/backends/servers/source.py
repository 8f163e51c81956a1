"""A data source in another engine: each statement is rewritten for it and runs there whole.

Beside it is a local engine of ours: it holds the rows of protected views, which are files of the state directory, and
answers statements over public tables that the other engine is not known to answer alike, from copies of them.
"""

import hashlib
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa
from msgspec import Struct

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import PREPARED, PreparedTable
from dpproxy.backends.asker import asked_by, unpaid
from dpproxy.backends.duckdb.source import LARGEST_OPEN, LONGEST_PUBLIC, MOST_OPEN, Select, selected
from dpproxy.backends.facts import PLANNER
from dpproxy.backends.failures import FactsChanged, TableGone, failure
from dpproxy.backends.process.remote import LONGEST_BUILD
from dpproxy.backends.servers.dialect import Dialect, Unanswered, Value
from dpproxy.backends.servers.prepared import Kept, PreparedStore
from dpproxy.backends.servers.printer import PrintedQuery, statement
from dpproxy.backends.servers.types import rows_of, types_of
from dpproxy.backends.source import IsCancelled, Source, Values
from dpproxy.values.errors import Refusal, Unsupported
from dpproxy.values.pgtypes import Schema, SqlType
from dpproxy.values.recent import Recent
from udfs.privacy import Exact

KNOWN = 1024
"""Statements whose text for the other engine is kept."""
ATTEMPTS = 3
"""How often a fact is read anew where its table changes meanwhile."""


class Order(Struct, frozen=True):
    """One statement for the other engine: its text, the values of its parameters, and who asked.

    ``types`` are those of its columns. ``limit`` is how many seconds it may take. ``cancelled`` is asked once before it
    starts: an ``interrupt`` from then on is not lost.
    """

    sql: str
    values: Sequence[object]
    types: pa.Schema
    session: str
    limit: float
    charged: bool
    few: bool = False
    """All its rows are made at once."""
    facts: tuple[tuple[str, pa.Table], ...] = ()
    """Digests of public tables, as statements, and what they were when this one was planned: they must be so still."""
    tables: frozenset[str] = frozenset()
    """The tables of the data that it reads: they must be declared as they were when the proxy was started."""
    prepared: frozenset[str] = frozenset()
    """The prepared tables that it reads, by the names that plans have."""
    cancelled: Callable[[], bool] = lambda: False


def build_order(
    session: str, cancelled: Callable[[], bool] = bool, tables: frozenset[str] = frozenset()
) -> Order:
    """That a prepared table be built, or looked after, by whoever knows how."""
    limit, types = LONGEST_BUILD, pa.schema([])
    return Order("", (), types, session, limit, charged=True, tables=tables, cancelled=cancelled)


class RemoteServer(Protocol):
    """What another engine is asked. Its errors are those of ``failures``: none says a word of the engine's."""

    dialect: Dialect
    limit: float
    """Seconds of a statement over protected tables."""

    def schema(self) -> Schema:
        """Tables, columns and views, from the DDL alone."""

    def tables(self, database: str, name: str) -> Mapping[str, Value] | None:
        """How the columns of a table are read; None where there is none."""

    def check(self, sql: str, parameters: int, tables: frozenset[str] = frozenset(), /) -> None:
        """Raise ``Unsupported`` for a text with parameters that the engine does not take. Reads no row.

        May wait for a table that somebody else has locked. Raises ``Internal`` where one of the tables is not declared
        any more as it was.
        """

    def batches(self, order: Order) -> Generator[pa.Table]:
        """The rows of one statement, as they are taken."""

    def interrupt(self, session: str) -> None:
        """Stop what a session runs, from any thread; does not wait."""

    def close(self) -> None:
        """End all that runs."""


class Pushed:
    """One data source behind a server; ``backends.duckdb.source`` says what each method does."""

    def __init__(
        self, server: RemoteServer, local: Source, state: Path, keeper: PreparedStore | None = None
    ) -> None:
        self._server = server
        self._kept = None if keeper is None else Kept(keeper, server.dialect, server.tables)
        self._local = local
        self.load, self.unload = local.load, local.unload
        self._state = state
        self._texts = Recent[tuple[PrintedQuery, PrintedQuery]](KNOWN)
        self._numbers = count()
        self._changes = 0
        self._facts: dict[str, tuple[str, pa.Table]] = {}
        """By public table that a plan may rest on: the statement of its digest, and what it gave."""
        self._lock = threading.Lock()

    @property
    def epoch(self) -> int:
        """How often the local engine was opened anew, and how often a public table had changed."""
        return self._local.epoch + self._changes

    @property
    def prepares(self) -> bool:
        """Whether tables are kept beside the data; otherwise each statement cuts its rows."""
        return self._kept is not None

    def schema(self) -> Schema:
        """Tables, columns and views, from the DDL alone."""
        return self._server.schema()

    def prepared_names(self) -> set[str]:
        """The prepared tables, and the rows of protected views."""
        return self._local.prepared_names() | (set() if self._kept is None else self._kept.names())

    def check(self, query: nodes.Query, prepares: Sequence[PreparedTable] = ()) -> None:
        """Raise ``Unsupported`` (0A000) for an exact stage that would not run. Nothing is charged yet.

        The server is asked each time: a table may be locked, and that wait is nobody's charge, or be another one since.
        """
        if self._kept is not None:
            self._kept.know_all(prepares)
        known = self._texts.get(printing.text(query))
        if known is not None:
            self._ask(known[1])
        elif not self._is_local(query):
            self._pushed(query)

    def shown(self, query: nodes.Query) -> str:
        """The text of a statement, as the server reads it or as the local engine does."""
        known = self._public(query)
        return printing.text(query) if known is None else known.sql

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
        """Run one statement of ours over protected tables."""
        known = self._answered_there(query)
        if known is None:
            return self._local.run(query, parameters, session, few=few, select=select, cancelled=cancelled)
        types = types_of(known.columns, few)
        values = [parameters[number] for number in known.parameters]
        order = Order(
            known.sql, values, types, session, self._server.limit,
            charged=True, few=few is not None, facts=self._facts_of(known, epoch), tables=known.tables,
            prepared=frozenset() if self._kept is None else frozenset(self._kept.read(query)), cancelled=cancelled,
        )  # fmt: skip
        try:
            return self._answered(order, types, select)
        except TableGone:
            if not self._built_again(query, session, cancelled):
                raise
            return self._answered(order, types, select)
        except FactsChanged:
            self._forget(epoch)
            raise

    def _built_again(self, query: nodes.Query, session: str, cancelled: Callable[[], bool]) -> bool:
        """Have the prepared tables there that somebody else has dropped; no row was read without them."""
        if self._kept is None:
            return False
        names = self._kept.read(query)
        for name in names:
            self._kept.build(name, session, cancelled)
        return bool(names)

    def _answered(self, order: Order, types: pa.Schema, select: Select | None) -> Exact[pa.Table]:
        batches: Iterable[pa.Table] = self._server.batches(order)
        if select is not None:
            batches = (selected(batch, select) for batch in batches)
            types = types.remove(len(types) - 1)
        return Exact(pa.concat_tables([types.empty_table(), *batches]))

    def build(
        self, name: str, query: nodes.Query | None, parameters: Values, session: str, cancelled: IsCancelled
    ) -> None:
        """Make a prepared table; drop one, or the rows of a protected view."""
        if query is None:
            self._local.build(name, None, parameters, session, cancelled)
        if self._kept is None:
            return
        if query is None:
            self._kept.drop(name, session)
        else:
            self._kept.know(name, query)
            self._kept.build(name, session, cancelled)

    def progress(self, session: str) -> None:
        """The server does not say."""

    def run_public(self, query: nodes.Query, session: str) -> list[tuple[object, ...]]:
        """Rows of a statement over public tables."""
        known = self._public(query)
        if known is None:
            if session.startswith(PLANNER) and not self._is_local(query):  # it could not be asked again
                raise Unanswered(
                    "what this statement needs to know of a public table", self._server.dialect.engine
                )
            with self._copied(query, session) as copied:
                return self._local.run_public(copied, session)
        table = self._fact(known, session) if session.startswith(PLANNER) else self._whole(known, session)
        return rows_of(table, known.columns)

    def run_open(self, query: nodes.Query, session: str) -> pa.Table:
        """A statement over public tables as a table, to be joined with what was released."""
        known = self._public(query)
        if known is None:
            with self._copied(query, session) as copied:
                return self._local.run_open(copied, session)
        return _bounded(types_of(known.columns), self._asked(known, session))

    def run_portions(self, query: nodes.Query, portion: int, session: str) -> Generator[pa.Table]:
        """Rows of a statement over public tables and views, in the engine's types, so many as they are taken."""
        with asked_by(session):
            known = self._public(query)
        if known is not None:
            yield from self._asked(known, session)
            return
        with self._copied(query, session) as copied:
            yield from self._local.run_portions(copied, portion, session)

    def interrupt(self, session: str) -> None:
        """Stop what a session runs, from any thread; does not wait."""
        self._server.interrupt(unpaid(session))
        self._server.interrupt(session)
        self._local.interrupt(session)

    def close(self) -> None:
        """End all that runs."""
        self._server.close()
        self._local.close()

    # --- public tables that change ----------------------------------------------------------------

    def _facts_of(self, query: PrintedQuery, epoch: int) -> tuple[tuple[str, pa.Table], ...]:
        """The digests of the public tables that a statement reads, as they were when it was planned.

        Of an epoch that is over nobody knows them any more. Raises ``FactsChanged``.
        """
        with self._lock:
            if epoch != self.epoch:
                raise failure("changed")
            return tuple(self._facts[name] for name in sorted(query.tables & self._facts.keys()))

    def _fact(self, query: PrintedQuery, session: str) -> pa.Table:
        """What a plan shall rest on, of one snapshot with the digests of the tables it is about."""
        for _ in range(ATTEMPTS):
            epoch = self.epoch
            for name in query.tables - self._facts.keys():
                digest = self._pushed(self._digest(name))
                told = self._whole(digest, session)
                with self._lock:
                    self._facts.setdefault(name, (digest.sql, told))
            with suppress(FactsChanged):
                facts = self._facts_of(query, epoch)
                try:
                    return self._whole(query, session, facts)
                except FactsChanged:
                    self._forget(epoch)
        raise failure("unavailable")

    def _digest(self, name: str) -> nodes.Query:
        """A statement whose result changes with any row of a table."""
        columns = [nodes.ColumnRef(column) for column in self._server.tables("", name) or ()]
        row = nodes.Call("hash", (nodes.Text("0" * 16), *columns))
        counted = nodes.Named(nodes.Call("count", (nodes.Star(),)), "n")
        return nodes.Select((counted, nodes.Named(nodes.Call("sum", (row,)), "h")), nodes.Table(name))

    def _forget(self, epoch: int) -> None:
        """A public table has changed: plans that rest on what it was are made anew, once for all that find it out."""
        with self._lock:
            if epoch == self.epoch:
                self._facts.clear()
                self._changes += 1

    # --- texts ------------------------------------------------------------------------------------

    def _is_local(self, query: nodes.Query) -> bool:
        """Whether a statement reads protected views and nothing else."""
        if self._kept is not None and self._kept.read(query):
            return False
        tables = [table.path[:1] == (PREPARED,) for table in query.find_all(nodes.Table)]
        return bool(tables) and all(tables)

    def _answered_there(self, query: nodes.Query) -> PrintedQuery | None:
        """A statement for the server, None where the local engine answers it. Raises ``Unsupported``."""
        known = self._texts.get(printing.text(query))
        if known is not None:
            return known[0]
        return None if self._is_local(query) else self._pushed(query)

    def _pushed(self, query: nodes.Query) -> PrintedQuery:
        """The statement for the server, which was asked whether it takes it. Raises ``Unsupported``."""
        known = self._printed(query)
        self._ask(known[1])
        self._texts.put(printing.text(query), known)
        return known[0]

    def _ask(self, checked: PrintedQuery) -> None:
        self._server.check(checked.sql, len(checked.parameters), checked.tables)

    def _printed(self, query: nodes.Query) -> tuple[PrintedQuery, PrintedQuery]:
        """The statement that runs, and the one that is checked: it reads no prepared table, which may not be there."""
        if self._kept is None:
            found = statement(query, self._server.dialect, self._server.tables)
            return found, found
        found = statement(query, self._kept.dialect, self._kept.tables)
        return found, statement(query, self._kept.drafts, self._kept.tables)

    def _public(self, query: nodes.Query) -> PrintedQuery | None:
        """The same of a statement over public tables; None where copies of them answer it."""
        try:
            return self._answered_there(query)
        except Unsupported:
            return None

    def _asked(
        self, query: PrintedQuery, session: str, facts: tuple[tuple[str, pa.Table], ...] = ()
    ) -> Generator[pa.Table]:
        types = types_of(query.columns)
        order = Order(
            query.sql, (), types, session, LONGEST_PUBLIC, charged=False, facts=facts, tables=query.tables
        )
        return self._server.batches(order)

    def _whole(
        self, query: PrintedQuery, session: str, facts: tuple[tuple[str, pa.Table], ...] = ()
    ) -> pa.Table:
        return pa.concat_tables([types_of(query.columns).empty_table(), *self._asked(query, session, facts)])

    @contextmanager
    def _copied(self, query: nodes.Query, session: str) -> Iterator[nodes.Query]:
        """The statement over copies of the tables that it reads, which are dropped afterwards."""
        names: dict[str, str] = {}

        def copied(node: nodes.Node) -> nodes.Table | None:
            if not isinstance(node, nodes.Table) or node.path[:1] == (PREPARED,):
                return None
            if self._server.tables("", node.name) is None:
                return None
            name = names.setdefault(node.name, f"copy{next(self._numbers)}")
            return nodes.Table(name, node.alias or node.name, (PREPARED, "main"))

        over = query.transform(copied)
        if not isinstance(over, nodes.Query):
            raise AssertionError("a query stays one")  # noqa: TRY004 - a fault of ours
        try:
            for name, copy in names.items():
                self._copy(name, copy, session)
            yield over
        finally:
            for copy in names.values():
                with suppress(Refusal):
                    self._local.unload(copy)

    def _copy(self, name: str, copy: str, session: str) -> None:
        with asked_by(session):
            query = self._pushed(nodes.Select((nodes.Star(),), nodes.Table(name)))
        rows = _bounded(types_of(query.columns), self._asked(query, session))
        path = self._state / f"copy-{hashlib.sha256(f'{id(self)}/{copy}'.encode()).hexdigest()[:16]}.duckdb"
        try:
            with duckdb.connect(path) as file:
                file.register("rows", rows)
                file.execute("CREATE TABLE copied AS SELECT * FROM rows")
            path.chmod(0o600)
            self._local.load(copy, path, "SELECT * FROM copied")
        except duckdb.Error:
            raise failure("public") from None
        finally:
            path.unlink(missing_ok=True)


def _bounded(types: pa.Schema, batches: Generator[pa.Table]) -> pa.Table:
    """All rows at once, no more than may stand beside released values."""
    kept = [types.empty_table()]
    for batch in batches:
        kept.append(batch)
        if sum(b.num_rows for b in kept) > MOST_OPEN or sum(b.nbytes for b in kept) > LARGEST_OPEN:
            batches.close()
            raise failure("public size")
    return pa.concat_tables(kept)
