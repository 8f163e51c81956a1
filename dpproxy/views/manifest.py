"""The record of builds: which views were built, when, from which query and at what price; dropped views included.

A build is recorded before a row is read, and again once its file is complete: a build that was begun but not finished
remains in the record, because it may have cost its price. A view that is not differentially private is frozen by the
record: it is not built again from the same data.
"""

import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from dpproxy.accounting.canonical import digest
from dpproxy.values.errors import CatalogueUnavailable, StartupError
from dpproxy.values.pgtypes import BY_OID, NUMERIC, SqlType
from dpproxy.values.structs import PartlyShown
from dpproxy.views.columns import MomentColumn, NumberColumn, ShownColumn
from dpproxy.views.files import FOLDER

FILE = "views.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS build (
  view TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  definition TEXT NOT NULL,
  method TEXT NOT NULL,
  private INTEGER NOT NULL,
  inside INTEGER NOT NULL,
  k INTEGER NOT NULL,
  guarantee TEXT NOT NULL,
  nano INTEGER NOT NULL,
  delta TEXT NOT NULL,
  data_version INTEGER NOT NULL,
  owner TEXT NOT NULL,
  tables TEXT NOT NULL,
  charged TEXT NOT NULL,
  reason TEXT NOT NULL,
  digest TEXT NOT NULL,
  at TEXT NOT NULL,
  by TEXT NOT NULL,
  rows INTEGER,
  relations TEXT,
  figures TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (view, epoch)
) STRICT
"""
_DONE = "UPDATE build SET rows = ?, relations = ? WHERE view = ? AND epoch = ?"


class Built(PartlyShown, Struct, frozen=True):
    """One build of a view.

    Attributes:
        definition: the statement that declared the view when it was built.
        private: whether it is differentially private.
        k: the least records of a cluster, if the rows stay inside.
        owner: the table that owns the privacy unit; ``tables``: the protected tables that the query reads.
        digest: of the query that the rows came from, their domains and their privacy unit.
        charged: the budget that is charged besides the ceiling, "" for none.
        rows: the number of released rows; None for a build that was not finished.
        figures: exact figures of information loss and risk (see ``make.figures``): never for analysts.
        relations: the number of rows and the columns of each relation, by suffix.
    """

    HIDDEN = frozenset({"figures"})

    view: str
    epoch: int
    definition: str
    method: str
    private: bool
    inside: bool
    k: int
    guarantee: str
    nano: int
    delta: Fraction
    data_version: int
    owner: str
    tables: tuple[str, ...]
    charged: str
    reason: str
    digest: str
    at: str
    by: str
    rows: int | None = None
    relations: Mapping[str, tuple[int, tuple[ShownColumn, ...]]] | None = None
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> bytes:
        """The key of the build's charge in the ledger."""
        return digest("view", 1, self.view, self.epoch, self.definition, self.data_version)


_NAMES = Built.__struct_fields__
"""The columns of the table, too."""
_ALL = f"SELECT {', '.join(_NAMES)} FROM build ORDER BY view, epoch"  # noqa: S608
_ADD = f"INSERT INTO build ({', '.join(_NAMES)}) VALUES ({', '.join('?' * len(_NAMES))})"  # noqa: S608


class Manifest:
    """The record of builds; any thread may call any method."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    @classmethod
    def open(cls, state: Path) -> "Manifest":
        """Open the record in a state directory; create it if there is none. Raises ``StartupError``."""
        path = state / FOLDER / FILE
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StartupError(f"record of views {path} cannot be used") from error
        return cls(connection)

    def all(self) -> list[Built]:
        """Every build, sorted by view and epoch. Raises ``CatalogueUnavailable``."""
        with self._lock:
            try:
                return [_built(row) for row in self._connection.execute(_ALL)]
            except (sqlite3.Error, ValueError, KeyError) as error:
                raise CatalogueUnavailable("the record of views cannot be read") from error

    def begin(self, build: Built) -> Built:
        """Record the start of a build durably, under the next epoch of its view; return it with epoch and time."""
        last = max((b.epoch for b in self.all() if b.view == build.view), default=0)
        begun = replace(build, epoch=last + 1, at=datetime.now(UTC).isoformat(timespec="seconds"))
        self._write(_ADD, _row(begun))
        return begun

    def finish(self, build: Built) -> None:
        """Record that the build's file is complete: from now on statements read this build."""
        self._write(_DONE, (build.rows, _relations(build), build.view, build.epoch))

    def measured(self, build: Built, figures: Mapping[str, float]) -> None:
        """Record the exact figures of a build."""
        self._write(
            "UPDATE build SET figures = ? WHERE view = ? AND epoch = ?",
            (json.dumps(dict(figures)), build.view, build.epoch),
        )

    def close(self) -> None:
        """Close the file of the record."""
        with self._lock:
            self._connection.close()

    def _write(self, sql: str, values: Sequence[object]) -> None:
        with self._lock:
            try:
                self._connection.execute(sql, values)
            except sqlite3.Error as error:
                raise CatalogueUnavailable("the record of views cannot be written") from error


def current(builds: Sequence[Built], view: str, definition: str) -> Built | None:
    """The newest finished build of a view with its present definition."""
    found = [b for b in builds if b.view == view and b.definition == definition and b.rows is not None]
    return max(found, key=lambda b: b.epoch, default=None)


def newest(builds: Sequence[Built], view: str, definition: str) -> Built | None:
    """The build that statements read: the newest of the present definition, or else of an earlier one."""
    finished = [b for b in builds if b.view == view and b.rows is not None]
    return current(builds, view, definition) or max(finished, key=lambda b: b.epoch, default=None)


def _row(build: Built) -> tuple[object, ...]:
    held = {
        "delta": str(build.delta),
        "tables": json.dumps(build.tables),
        "relations": _relations(build),
        "figures": json.dumps(dict(build.figures)),
    }
    return tuple((asdict(build) | held).values())


def _built(row: Sequence[Any]) -> Built:
    found = dict(zip(_NAMES, row, strict=True))
    read = {
        "private": bool(found["private"]),
        "inside": bool(found["inside"]),
        "delta": Fraction(found["delta"]),
        "tables": tuple(json.loads(found["tables"])),
        "relations": None if found["relations"] is None else _read(found["relations"]),
        "figures": json.loads(found["figures"]),
    }
    return Built(**found | read)


def _relations(build: Built) -> str | None:
    if build.relations is None:
        return None
    return json.dumps(
        {s: [rows, [_column(c) for c in listed]] for s, (rows, listed) in build.relations.items()}
    )


def _column(column: ShownColumn) -> dict[str, object]:
    steps = column.steps
    return {
        "name": column.name,
        "type": column.type.oid,
        "scale": column.type.scale,
        "low": None if column.low is None else str(column.low),
        "high": None if column.high is None else str(column.high),
        "longest": column.longest,
        "first": None if column.first is None else column.first.isoformat(),
        "last": None if column.last is None else column.last.isoformat(),
        "steps": None if steps is None else [steps.low, steps.high, str(steps.unit), steps.step],
        "from": steps.first.isoformat() if isinstance(steps, MomentColumn) else None,
    }


def _read(text: str) -> dict[str, tuple[int, tuple[ShownColumn, ...]]]:
    return {s: (rows, tuple(_shown(c) for c in listed)) for s, (rows, listed) in json.loads(text).items()}


def _shown(held: Mapping[str, object]) -> ShownColumn:
    kind: SqlType = BY_OID[int(str(held["type"]))]
    if kind.oid == NUMERIC.oid:
        kind = kind.with_precision(38, int(str(held["scale"] or 0)))
    low, high = (None if held[n] is None else Fraction(str(held[n])) for n in ("low", "high"))
    first, last = (_date(held[n]) for n in ("first", "last"))
    longest = held["longest"]
    return ShownColumn(
        str(held["name"]),
        kind,
        low,
        high,
        longest if isinstance(longest, int) else None,
        first,
        last,
        _steps(held),
    )


def _steps(held: Mapping[str, object]) -> NumberColumn | None:
    steps = held["steps"]
    if not isinstance(steps, list):
        return None
    low, high, unit, step = steps
    start = _date(held["from"])
    if start is None:
        return NumberColumn(low, high, Fraction(unit), step)
    return MomentColumn(low, high, Fraction(unit), step, start)


def _date(text: object) -> date | None:
    if text is None:
        return None
    return datetime.fromisoformat(str(text)) if "T" in str(text) else date.fromisoformat(str(text))
