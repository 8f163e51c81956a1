import resource
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpproxy.accounting import database as module
from dpproxy.accounting import schema
from dpproxy.accounting.batch import Batch
from dpproxy.accounting.database import Database, Unwritten
from dpproxy.accounting.files import DATABASE, prepare
from dpproxy.accounting.model import Charge
from dpproxy.accounting.verify import verify


def verified(path: Path, secret: bytes = b"k") -> int:
    connection = schema.connect(path, writing=False)
    try:
        return verify(connection, prepare(path.parent, secret)).sequence
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    prepare(tmp_path, b"k")
    return tmp_path / DATABASE


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    seals = prepare(path.parent, b"k")
    connection = schema.connect(path, writing=False)
    head = verify(connection, seals)
    connection.close()
    database = Database(path, seals, head, clock=lambda: 5_000)
    yield database
    database.close()


def test_what_fill_did_is_there_for_others_when_commit_returns(
    database: Database, path: Path, make: Callable[..., Charge]
):
    reserved = database.commit(lambda batch: [batch.charge(make()), batch.charge(make())])
    assert [r.sequence for r in reserved] == [1, 2]
    assert [r.entry.at for r in reserved] == [5, 5]
    assert verified(path) == 2


def test_nothing_is_written_when_the_database_fails(
    database: Database, path: Path, make: Callable[..., Charge]
):
    def fail(batch: Batch) -> None:
        batch.charge(make())
        raise sqlite3.OperationalError("disk I/O error")

    with pytest.raises(Unwritten):
        database.commit(fail)
    assert verified(path) == 0
    assert database.commit(lambda batch: batch.charge(make())).sequence == 1
    assert verified(path) == 1


def test_a_failure_to_write_the_log_is_survived(database: Database, path: Path, make: Callable[..., Charge]):
    database.commit(lambda batch: batch.charge(make()))
    written = Path(f"{path}-wal").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (written + 4096, hard))
    try:
        for _ in range(3):
            with pytest.raises(Unwritten):
                database.commit(lambda batch: batch.charge(make()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert verified(path) == 1
    assert database.commit(lambda batch: batch.charge(make())).sequence == 2
    assert verified(path) == 2


def test_a_file_that_was_replaced_is_not_written(database: Database, path: Path, make: Callable[..., Charge]):
    database.commit(lambda batch: batch.charge(make()))
    path.rename(path.with_name("gone"))
    with pytest.raises(Unwritten):
        database.commit(lambda batch: batch.charge(make()))
    path.with_name("gone").rename(path)
    assert database.commit(lambda batch: batch.charge(make())).sequence == 2


def test_an_older_state_of_the_file_is_not_continued(
    database: Database, path: Path, make: Callable[..., Charge]
):
    database.commit(lambda batch: batch.charge(make()))
    older = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    database.commit(lambda batch: batch.charge(make()))
    database.close()
    path.write_bytes(older[0])
    Path(f"{path}-wal").write_bytes(older[1])
    assert verified(path) == 1
    with pytest.raises(Unwritten):
        database.commit(lambda batch: batch.charge(make()))


def test_a_file_that_cannot_be_written_shows_at_once(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(schema, "_WRITING", (*schema._WRITING, "query_only = ON"))
    seals = prepare(path.parent, b"k")
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        Database(path, seals, seals.genesis(b"", 1), clock=int)


def test_a_long_log_is_moved_into_the_file(
    database: Database, path: Path, make: Callable[..., Charge], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "CHECKPOINT_BYTES", 3 * module.COMMIT_BYTES)
    before = path.stat().st_size
    for step in range(3):
        database.commit(lambda batch: batch.keep(batch.charge(make()).sequence, b"", 1, b"x" * 9000))
        database.checkpoint()
        assert (path.stat().st_size > before) == (step == 2)
    assert verified(path) == 3
