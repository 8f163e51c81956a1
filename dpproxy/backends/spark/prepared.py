"""Prepared tables of a Spark source: Parquet that its workers write to a folder, divided by date where there is one.

Each attempt writes to a place of its own, and is there once a line of a log says so, which is written afterwards: what
was half written is never read. Nothing is ever changed. Rows are removed only where the log said before that their
place is dropped, and who reads a place looks into the log again afterwards: a place is never taken for an empty table.
"""

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa

from dpproxy.backends.failures import failure
from dpproxy.backends.process.remote import LONGEST_BUILD
from dpproxy.backends.servers.dialect import ValueKind
from dpproxy.backends.servers.prepared import TableBuild, digest
from dpproxy.backends.servers.source import build_order
from dpproxy.backends.spark.server import Prepared, Spark
from dpproxy.backends.spark.texts import filled, literal
from dpproxy.values.errors import Refusal, StartupError

LAYOUT = 1
"""Goes up when the same tables shall be prepared otherwise."""
KEPT = 86400.0
"""Seconds from when a table is dropped to when its rows may be removed: longer than statements run that read it."""
UNOPENED = 30 * 86400.0
"""Seconds after which tables are dropped that no proxy with the same tables of the data was started for."""
_LOG = pa.schema([(name, pa.string()) for name in ("name", "place", "columns", "event", "time")])


class SparkPrepared:
    """The prepared tables in one folder; its methods may be called from any thread.

    Errors: ``StartupError`` where the folder cannot be written.
    """

    def __init__(self, server: Spark, source: str, secret: bytes) -> None:
        self._server, self._secret = server, secret
        own, rests_on = digest(b"own", secret), digest(repr((LAYOUT, server.described())).encode())
        self._folder = f"{server.prepared_folder}/dp_{own}"
        self._shape = f"{rests_on}_"
        self._log = f"{self._folder}/log/{secrets.token_hex(8)}"
        """Of this proxy alone: of two that write to one folder at once, one may lose what it wrote."""
        self._lock = threading.Lock()
        server.is_whole = lambda where: where in self._built()
        try:
            self._note(self._shape, "", "", "opened")
            self._drop_unused()
        except Refusal:
            raise StartupError(
                f"data.{source}.url: expected a folder for prepared tables that the server's workers may write"
            ) from None
        with suppress(Refusal):  # the next start does it
            self._empty()

    def place(self, name: str) -> str:
        """The text of a table: a view of the session."""
        return self._server.prepared_view(name)

    def names(self) -> set[str]:
        """Those that are there, each with a view."""
        found = {
            line["name"].removeprefix(self._shape): Prepared(where, line["columns"])
            for where, line in sorted(self._built().items())
            if line["name"].startswith(self._shape)
        }
        for name, table in found.items():
            self._server.show(name, table)
        return set(found)

    def build(self, name: str, build: TableBuild, session: str, cancelled: Callable[[], bool]) -> None:
        """Have one there: noted, written whole, and noted as built."""
        if name in self.names():
            return
        where = f"{self._folder}/{name}_{secrets.token_hex(8)}"
        sql = filled(build.query.sql, [self._secret.hex() for _ in build.query.parameters])
        order = build_order(session, cancelled, build.query.tables)
        dates = {c.name for c in build.query.columns if c.value.kind is ValueKind.DATE}
        is_divided = build.day in dates and len(build.query.columns) > 1
        self._note(f"{self._shape}{name}", where, "", "begun")
        columns = self._server.write(sql, where, order, by=build.day if is_divided else None)
        self._note(f"{self._shape}{name}", where, columns, "built")
        self._server.show(name, Prepared(where, columns))

    def drop(self, name: str, session: str) -> None:
        """Not to be found any more, in any place; its rows stay for a while, for those who read them."""
        del session
        for where, line in self._built().items():
            if line["name"] == f"{self._shape}{name}":
                self._note(line["name"], where, line["columns"], "dropped")

    def _events(self) -> list[dict[str, str]]:
        """The log, in no order."""
        return self._server.read_log(f"{self._folder}/log", _LOG)

    def _built(self) -> dict[str, dict[str, str]]:
        """By place what is there, whole: several of a name, if they were built at once, hold the same."""
        return _whole(self._events())

    def _drop_unused(self) -> None:
        """Drop what was begun and never built, and tables that no proxy was started for since long."""
        events, now = self._events(), time.time()
        built = _whole(events)
        opened = {e["name"] for e in events if e["event"] == "opened" and float(e["time"]) >= now - UNOPENED}
        if self._shape not in opened:  # the server does not read what its workers write
            raise failure("unavailable")
        ended = {e["place"] for e in events if e["event"] in ("built", "dropped")}
        for event in events:
            where = event["place"]
            is_old = float(event["time"]) < now - LONGEST_BUILD
            is_left = event["event"] == "begun" and where not in ended and is_old
            if is_left or (built.get(where) is event and not event["name"].startswith(tuple(opened))):
                self._note(event["name"], where, event["columns"], "dropped")

    def _empty(self) -> None:
        """Remove the rows of places that were dropped long ago, or never built."""
        events, now = self._events(), time.time()
        built = {e["place"] for e in events if e["event"] == "built"}
        emptied = {e["place"] for e in events if e["event"] == "emptied"}
        for event in events:
            where = event["place"]
            is_over = where not in built or float(event["time"]) < now - KEPT
            if event["event"] == "dropped" and where not in emptied and is_over:
                emptied.add(where)
                self._server.write("SELECT 'emptied' AS a", where, build_order("empty"), mode="overwrite")
                self._note(event["name"], where, event["columns"], "emptied")

    def _note(self, name: str, where: str, columns: str, event: str) -> None:
        shown = zip(_LOG.names, (name, where, columns, event, f"{time.time():.0f}"), strict=True)
        line = ", ".join(f"{literal(value)} AS {column}" for column, value in shown)
        with self._lock:
            self._server.write(f"SELECT {line}", self._log, build_order("log"), mode="append")


def _whole(events: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    gone = {e["place"] for e in events if e["event"] in ("dropped", "emptied")}
    return {e["place"]: e for e in events if e["event"] == "built" and e["place"] not in gone}
