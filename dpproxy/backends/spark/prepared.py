"""Prepared tables of a Spark source: Parquet that its workers write to a folder, divided by date where there is one.

Each attempt writes to a place of its own, and is there once a line of a log says so, which is written afterwards: what
was half written is never read. Nothing is ever changed; what no policy needs any more is emptied at the next start.
"""

import hashlib
import secrets
from collections.abc import Callable

import pyarrow as pa

from dpproxy.backends.servers.dialect import ValueKind
from dpproxy.backends.servers.prepared import TableBuild
from dpproxy.backends.servers.source import Order
from dpproxy.backends.spark.server import Prepared, Spark
from dpproxy.backends.spark.texts import filled, literal
from dpproxy.values.errors import Refusal, StartupError

LAYOUT = 1
"""Goes up when the same tables shall be prepared otherwise."""
LONGEST_BUILD = 3600.0
"""Seconds of one."""
DIGITS = 10
"""Of each digest in a name."""
_LOG = pa.schema([(name, pa.string()) for name in ("name", "place", "columns", "event")])


class SparkPrepared:
    """The prepared tables in one folder; its methods may be called from any thread.

    Errors: ``StartupError`` where the folder cannot be written.
    """

    def __init__(self, server: Spark, source: str, secret: bytes) -> None:
        self._server, self._secret = server, secret
        own, rests_on = _digest(b"own", secret), _digest(repr((LAYOUT, server.declared())).encode())
        self._folder = f"{server.prepared_folder}/dp_{own}"
        self._shape = f"{rests_on}_"
        try:
            for name, (where, columns) in self._there().items():
                if not name.startswith(self._shape):
                    self._note(name, where, columns, "dropped")
            self._empty()
        except Refusal:
            raise StartupError(
                f"data.{source}.url: expected a folder for prepared tables that the server's workers may write"
            ) from None

    def place(self, name: str) -> str:
        """The text of a table: a view of the session."""
        return self._server.prepared_view(name)

    def names(self) -> set[str]:
        """Those that are there, each with a view."""
        found = {
            n.removeprefix(self._shape): of for n, of in self._there().items() if n.startswith(self._shape)
        }
        for name, (where, columns) in found.items():
            self._server.show(name, Prepared(where, columns))
        return set(found)

    def build(self, name: str, build: TableBuild, session: str, cancelled: Callable[[], bool]) -> None:
        """Have one there: written whole, then noted."""
        if name in self.names():
            return
        where = f"{self._folder}/{name}_{secrets.token_hex(8)}"
        sql = filled(build.query.sql, [self._secret.hex() for _ in build.query.parameters])
        order = self._order(session, cancelled, build.query.tables)
        dates = {c.name for c in build.query.columns if c.value.kind is ValueKind.DATE}
        is_divided = build.day in dates and len(build.query.columns) > 1
        columns = self._server.write(sql, where, order, by=build.day if is_divided else None)
        self._note(f"{self._shape}{name}", where, columns, "built")
        self._server.show(name, Prepared(where, columns))

    def drop(self, name: str, session: str) -> None:
        """Not to be found any more; its rows are there until the next start, for those who read them."""
        del session
        found = self._there().get(f"{self._shape}{name}")
        if found is not None:
            self._note(f"{self._shape}{name}", *found, "dropped")

    def _events(self) -> list[dict[str, str]]:
        """The log, in no order."""
        return self._server.read_log(f"{self._folder}/log", _LOG)

    def _there(self) -> dict[str, tuple[str, str]]:
        """Where each table is, with the columns; of several that were built at once one, the same for all."""
        events = self._events()
        gone = {e["place"] for e in events if e["event"] != "built"}
        built = sorted((e["name"], e["place"], e["columns"]) for e in events if e["event"] == "built")
        return {name: (where, columns) for name, where, columns in built if where not in gone}

    def _empty(self) -> None:
        """Remove the rows of tables that were dropped before this start."""
        events = self._events()
        emptied = {e["place"] for e in events if e["event"] == "emptied"}
        for event in events:
            if event["event"] == "dropped" and event["place"] not in emptied:
                emptied.add(event["place"])
                self._server.write(
                    "SELECT 0 AS nothing WHERE FALSE", event["place"], self._order("empty"), again=True
                )
                self._note(event["name"], event["place"], event["columns"], "emptied")

    def _note(self, name: str, where: str, columns: str, event: str) -> None:
        shown = zip(_LOG.names, (name, where, columns, event), strict=True)
        line = ", ".join(f"{literal(value)} AS {column}" for column, value in shown)
        self._server.write(f"SELECT {line}", f"{self._folder}/log", self._order("log"), more=True)

    @staticmethod
    def _order(
        session: str, cancelled: Callable[[], bool] = bool, tables: frozenset[str] = frozenset()
    ) -> Order:
        return Order(
            "", (), pa.schema([]), session, LONGEST_BUILD, charged=True, tables=tables, cancelled=cancelled
        )


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:DIGITS]
