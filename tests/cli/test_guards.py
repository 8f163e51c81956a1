"""Commands about the audit log; `selftest` is tested by itself."""

import sqlite3
from argparse import Namespace
from pathlib import Path

import pytest

from dpproxy.assurance.selftest import selftest
from dpproxy.cli.main import main
from dpproxy.observe.audit_entry import Entry, Outcome
from dpproxy.observe.audit_file import FILE
from dpproxy.values.errors import StartupError
from tests.engine.test_engine import DDL, POLICY
from tests.proxies import started, write_home

ENTRY = Entry(1, "ann", "analyst", Outcome.FREE, "SELECT 1")


def verify(file: Path) -> int:
    return main(["log", "verify", "--config", str(file)])


def test_a_log_verifies_or_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write_home(tmp_path, DDL, POLICY)
    assert verify(file) == 2
    with started(file) as engine:
        engine.log.note(ENTRY)
        engine.log.note(ENTRY)
        assert engine.log.verify() == 2
        assert verify(file) == 0
    assert "2 entries, all verified" in capsys.readouterr().out
    with sqlite3.connect(tmp_path / "state" / "main" / FILE) as connection:
        connection.execute("DELETE FROM entry WHERE sequence = 2")
    connection.close()
    assert verify(file) == 1
    assert "entries after 1 are missing" in capsys.readouterr().err


def test_a_selftest_needs_a_policy_that_protects(tmp_path: Path):
    file = write_home(tmp_path, DDL, "ALTER TABLE t SET PRIVACY PUBLIC;")
    with pytest.raises(StartupError, match="protects no table"):
        selftest(Namespace(config=file, database=None, json=False, runs=0))
