import sqlite3
import threading
from pathlib import Path

import pytest

from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome
from dpproxy.observe.audit_file import AuditFile
from dpproxy.observe.audit_log import DAY, AuditLog
from dpproxy.values.errors import LedgerUnavailable


def entry(statement: str, at: int = 0) -> AuditEntry:
    return AuditEntry(at, "ann", "analyst", AuditOutcome.FREE, statement)


def test_what_was_noted_is_there_when_it_is_looked_for(log: AuditLog):
    for n in range(500):
        log.note(entry(f"SELECT {n}"))
    assert [e.statement for _, e in log.last(2)] == ["SELECT 499", "SELECT 498"]
    assert log.verify() == 500


def test_what_was_written_is_on_the_disk(log: AuditLog, tmp_path: Path):
    log.write(entry("SELECT 1"))
    with sqlite3.connect(tmp_path / "audit.sqlite") as connection:
        assert connection.execute("SELECT statement FROM entry").fetchall() == [("SELECT 1",)]
    connection.close()


def test_it_survives_a_restart(tmp_path: Path):
    for n in range(3):
        with AuditLog.open(tmp_path, b"secret") as log:
            log.note(entry(f"SELECT {n}"))
    with AuditLog.open(tmp_path, b"secret") as log:
        assert log.verify() == 3


def test_many_threads_write_at_once(log: AuditLog):
    def write(who: int) -> None:
        for n in range(20):
            (log.write if n % 4 == 0 else log.note)(entry(f"{who} {n}"))

    threads = [threading.Thread(target=write, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.verify() == 160


def test_a_disk_that_fails_refuses_what_must_be_written_and_counts_the_rest(
    log: AuditLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """The server's log has a line about it, and no more in the next seconds."""

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk full")

    with monkeypatch.context() as broken:
        broken.setattr(AuditFile, "add", fail)
        log.note(entry("lost"))
        with pytest.raises(LedgerUnavailable, match="nothing is answered exactly"):
            log.write(entry("SELECT 1"))
        with pytest.raises(LedgerUnavailable):
            log.write(entry("SELECT 1"))
    assert [one.getMessage() for one in caplog.records] == [
        "the audit log cannot be written: 1 entries are lost so far"
    ]
    log.write(entry("SELECT 2"))
    told = [(e.outcome, e.statement, e.reason) for _, e in log.last(5)]
    assert told == [
        (AuditOutcome.LOST, "", "1 entries are missing before this one"),
        (AuditOutcome.FREE, "SELECT 2", ""),
    ]
    assert log.verify() == 2


def test_what_is_too_old_is_dropped(tmp_path: Path):
    with AuditLog.open(tmp_path, b"secret") as log:
        log.write(entry("old", log.now() - 8 * DAY))
        log.write(entry("new", log.now()))
    with AuditLog.open(tmp_path, b"secret", keep_days=7) as log:
        log.write(entry("newer", log.now()))
        assert [e.statement for _, e in log.last(9)] == ["newer", "new"]
        assert log.verify() == 2


def test_a_closed_log_takes_nothing_more(tmp_path: Path):
    log = AuditLog.open(tmp_path, b"secret")
    log.close()
    log.note(entry("SELECT 1"))
    with pytest.raises(LedgerUnavailable):
        log.write(entry("SELECT 1"))
