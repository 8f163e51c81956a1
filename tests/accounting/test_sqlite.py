import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dpproxy.accounting import sqlite
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.model import Charge
from dpproxy.accounting.sqlite import SQLite
from tests.accounting.conftest import Home


@pytest.fixture
def store(tmp_path: Path, make: Callable[..., Charge]) -> SQLite:
    with Home(tmp_path).open() as ledger:
        ledger.reserve(make())
    return SQLite(tmp_path / "ledger.sqlite")


def test_commits_reach_the_disk_before_they_return(store: SQLite):
    with closing(store.connect(writing=True)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_reader_cannot_write(store: SQLite):
    with (
        closing(store.connect(writing=False)) as connection,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        connection.execute("DELETE FROM release")


def test_a_missing_file_is_not_made(tmp_path: Path):
    store = SQLite(tmp_path / "none")
    assert not store.exists
    with pytest.raises(OSError, match="none"):
        store.connect(writing=True)
    assert not store.exists


@pytest.mark.parametrize("table", ["entry", "debit"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET nano = nano"])
def test_entries_are_append_only(store: SQLite, table: str, statement: str):
    with (
        closing(store.connect(writing=True)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        connection.execute(statement.format(table))


def test_one_writes_at_a_time(store: SQLite, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite, "WAIT", 0.05)
    with closing(store.connect(writing=True)) as one, closing(store.connect(writing=True)) as other:
        store.begin(one)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            store.begin(other)
        one.commit()
        store.begin(other)


def test_a_look_sees_one_state(store: SQLite):
    with closing(store.connect(writing=True)) as writer, closing(store.connect(writing=False)) as reader:
        store.look(reader)
        before = reader.execute("SELECT at FROM head").fetchone()
        writer.execute("UPDATE head SET at = at + 1")
        assert reader.execute("SELECT at FROM head").fetchone() == before


def test_a_connection_knows_its_file(store: SQLite, tmp_path: Path):
    with closing(store.connect(writing=True)) as connection:
        store.begin(connection)
        assert store.is_usable(connection)
        store.path.rename(tmp_path / "kept")
        with pytest.raises(OSError, match=store.path.name):
            store.begin(connection)
        store.create(Seals(b"k"))
        with pytest.raises(Mismatch, match="replaced"):
            store.begin(connection)
