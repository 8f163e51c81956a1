"""Prepared tables beside the data of another engine: how our text of one becomes the engine's.

They are made and read by the same translation as statements. A statement over a table is checked with the table's own
query in its place, so that a plan is accepted or refused alike whether the table is there or not.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import PREPARED, PreparedTable
from dpproxy.backends.servers.dialect import Dialect, Value
from dpproxy.backends.servers.printer import PrintedQuery, Tables, statement

MOST_DAYS = 1_000
"""Days by which the rows of a table are divided."""
DIGITS = 10
"""Of each digest in a name."""
NO_SECRET = "0" * 64
"""Stands for the truncation secret where no row is read."""


def digest(*parts: bytes) -> str:
    """What stands for a secret, or for declarations, in the name of a table."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()[:DIGITS]


class TableBuild(Struct, frozen=True):
    """A prepared table in the engine's text. ``draft`` gives its columns, and takes no parameter."""

    query: PrintedQuery
    draft: str
    day: str | None = None
    """A column of dates by which its rows may be divided: few, and none elsewhere."""


class PreparedStore(Protocol):
    """Where an engine keeps prepared tables. Its errors are those of ``failures``."""

    def place(self, name: str) -> str:
        """The text of a table."""

    def names(self) -> set[str]:
        """Those that are there."""

    def build(self, name: str, build: TableBuild, session: str, cancelled: Callable[[], bool]) -> None:
        """Have one there: the whole of it or nothing. One that is there stays as it is."""

    def drop(self, name: str, session: str) -> None:
        """Drop one that nobody reads; one that is read stays."""


class Kept:
    """The prepared tables of one data source, by the names that plans have for them."""

    def __init__(self, keeper: PreparedStore, dialect: Dialect, tables: Tables) -> None:
        self._keeper = keeper
        self._data = tables
        self._dialect = dialect
        self._builds: dict[str, TableBuild] = {}
        self.dialect = replace(dialect, table=self._place)
        self.drafts = replace(dialect, table=self._draft)
        """The dialect of checks: a prepared table is its query."""

    def names(self) -> set[str]:
        """Those that are there."""
        return self._keeper.names()

    def read(self, query: nodes.Query) -> list[str]:
        """The names of those that a statement of ours reads."""
        tables = {t.name for t in query.find_all(nodes.Table) if t.path[:1] == (PREPARED,)}
        return sorted(tables & self._builds.keys())

    def know(self, name: str, query: nodes.Query) -> TableBuild:
        """A table that statements may read. Raises ``Unsupported`` where the engine cannot compute it alike."""
        found = self._builds.get(name)
        if found is None:
            draft = query.transform(
                lambda n: nodes.Text(NO_SECRET) if isinstance(n, nodes.Parameter) else None
            )
            found = TableBuild(self._printed(query), self._printed(draft).sql, _day(query))
            self._builds[name] = found
        return found

    def _printed(self, query: nodes.Node) -> PrintedQuery:
        return statement(query, self._dialect, self._data)

    def know_all(self, tables: Sequence[PreparedTable]) -> None:
        """The same of each."""
        for table in tables:
            self.know(table.name, table.query)

    def build(self, name: str, session: str, cancelled: Callable[[], bool]) -> None:
        """Have a table there that is known."""
        self._keeper.build(name, self._builds[name], session, cancelled)

    def drop(self, name: str, session: str) -> None:
        """Drop one, unless it is being read."""
        self._keeper.drop(name, session)

    def tables(self, database: str, name: str) -> Mapping[str, Value] | None:
        """How the columns of a table are read: one of the data, or one that is known here."""
        if database == PREPARED:
            found = self._builds.get(name)
            return None if found is None else {c.name: c.value for c in found.query.columns}
        return self._data(database, name)

    def _place(self, database: str, name: str) -> str:
        return self._keeper.place(name) if database == PREPARED else self._dialect.table(database, name)

    def _draft(self, database: str, name: str) -> str:
        return (
            f"({self._builds[name].draft})" if database == PREPARED else self._dialect.table(database, name)
        )


def _day(query: nodes.Query) -> str | None:
    """The first column of dates that are held inside bounds which are not far apart."""
    for item in query.items if isinstance(query, nodes.Select) else ():
        casts = (
            list(item.find_all(nodes.Cast)) if isinstance(item, nodes.Named) and item.has(nodes.Case) else []
        )
        texts = [c.value.value for c in casts if c.type == "DATE" and isinstance(c.value, nodes.Text)]
        days = [date.fromisoformat(text) for text in texts]
        if isinstance(item, nodes.Named) and days and (max(days) - min(days)).days < MOST_DAYS:
            return item.name
    return None
