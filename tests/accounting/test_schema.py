import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from dpproxy.accounting import schema
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Charge


@pytest.fixture
def path(tmp_path: Path, make: Callable[..., Charge]):
    with Ledger.open(tmp_path) as ledger:
        ledger.reserve(make())
    return tmp_path / "ledger.sqlite"


def test_commits_reach_the_disk_before_they_return(path: Path):
    connection = schema.connect(path, writing=True)
    try:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    finally:
        connection.close()


def test_a_reader_cannot_write(path: Path):
    connection = schema.connect(path, writing=False)
    try:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM release")
    finally:
        connection.close()


def test_a_missing_file_is_not_made(tmp_path: Path):
    with pytest.raises(sqlite3.OperationalError):
        schema.connect(tmp_path / "none", writing=True)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("table", ["entry", "debit"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET nano = nano"])
def test_entries_are_append_only(path: Path, table: str, statement: str):
    connection = schema.connect(path, writing=True)
    try:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement.format(table))
    finally:
        connection.close()


def test_the_tables_are_the_expected_ones(path: Path):
    connection = schema.connect(path, writing=False)
    try:
        assert schema.describe(connection) == schema.expected()
    finally:
        connection.close()
