import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome, seal
from dpproxy.observe.audit_file import FILE, AlteredLog, AuditFile
from dpproxy.values.errors import StartupError


def entry(at: int, who: str = "ann") -> AuditEntry:
    return AuditEntry(at, who, "analyst", AuditOutcome.FREE, f"SELECT {at}")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[AuditFile]:
    found = AuditFile(tmp_path, seal(b"secret"))
    found.open()
    found.add([entry(n) for n in range(5)])
    yield found
    found.close()


def edit(folder: Path, sql: str) -> None:
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute("DROP TRIGGER entry_no_update")
        connection.execute(sql)
    connection.close()


def test_what_was_written_is_read_and_verifies(file: AuditFile):
    assert [e.statement for _, e in file.last(2)] == ["SELECT 4", "SELECT 3"]
    assert [n for n, _ in file.last(10)] == [5, 4, 3, 2, 1]
    assert [n for n, _ in file.last(2, before=4)] == [3, 2]
    assert file.verify() == 5


def test_many_entries_are_few_statements(file: AuditFile):
    asked: list[str] = []
    before = file.verify()
    assert file._connection is not None
    file._connection.set_trace_callback(asked.append)
    file.add([entry(n) for n in range(400)])
    assert len(asked) < 20  # each statement hands the interpreter to another thread, which answers meanwhile
    assert file.verify() == before + 400


def test_two_processes_extend_one_chain(file: AuditFile, tmp_path: Path):
    other = AuditFile(tmp_path, seal(b"secret"))
    other.open()
    for n in range(10):
        (file if n % 2 else other).add([entry(10 + n)])
    assert file.verify() == other.verify() == 15
    other.close()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE entry SET statement = 'SELECT 9' WHERE sequence = 3",
        "UPDATE entry SET user = 'bob' WHERE sequence = 1",
        "DELETE FROM entry WHERE sequence = 3",
        "DELETE FROM entry WHERE sequence = 5",
        "DELETE FROM entry WHERE sequence = 1",
        "DELETE FROM entry",
        "INSERT INTO entry SELECT 6, 0, user, roles, outcome, statement, 0, '', '', mac FROM entry LIMIT 1",
        "UPDATE mark SET sequence = 4 WHERE name = 'last'",
        "UPDATE mark SET sequence = 1 WHERE name = 'first'",
        "DELETE FROM mark",
    ],
)
def test_what_was_altered_is_found(file: AuditFile, tmp_path: Path, sql: str):
    edit(tmp_path, sql)
    with pytest.raises(AlteredLog):
        file.verify()


def test_it_cannot_be_changed_by_mistake(file: AuditFile, tmp_path: Path):
    with sqlite3.connect(tmp_path / FILE) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE entry SET user = 'bob'")
    connection.close()
    assert file.verify() == 5


def test_another_key_does_not_open_it(file: AuditFile, tmp_path: Path):
    with pytest.raises(StartupError, match="another key"):
        AuditFile(tmp_path, seal(b"other")).open()
    assert file.verify() == 5


def test_what_is_too_old_is_dropped_and_the_rest_verifies(file: AuditFile):
    assert file.drop_before(3) == 3
    assert [n for n, _ in file.last(10)] == [5, 4]
    assert file.verify() == 2
    assert file.drop_before(100) == 2
    file.add([entry(200)])
    assert [n for n, _ in file.last(10)] == [6]
    assert file.verify() == 1


def test_a_file_that_is_none_is_refused(tmp_path: Path):
    (tmp_path / FILE).write_bytes(b"no database at all" * 100)
    with pytest.raises(StartupError, match="cannot be read"):
        AuditFile(tmp_path, seal(b"secret")).open()


def test_a_flipped_byte_is_told_in_one_line(tmp_path: Path):
    log = AuditFile(tmp_path, seal(b"key"))
    log.open()
    log.add([entry(1), entry(2)])
    log.close()
    path = tmp_path / FILE
    whole = path.read_bytes()
    places = [at for at in range(0, len(whole), 7) if whole[at]]
    for at in places[:300]:
        path.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        for rest in tmp_path.glob(f"{FILE}-*"):
            rest.unlink()
        again = AuditFile(tmp_path, seal(b"key"))
        try:
            again.open()
        except StartupError as error:
            assert "\n" not in str(error)  # noqa: PT017 - it may also open
        finally:
            again.close()
