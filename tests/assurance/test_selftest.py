"""The command; what it does is tested in tests/assurance/test_run.py."""

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpproxy.assurance import selftest
from dpproxy.assurance.run import Finding
from dpproxy.values.errors import StartupError
from tests.engine.test_engine import DDL, POLICY
from tests.proxies import write_home

KEPT = Finding("twin", "rows made of one row", "refused", "9 tried, 9 refused", kept=True)
BROKEN = Finding("sensitivity", "SELECT 1", "moves by 1 at most", "by 2", kept=False, faults=("by 2",))


@contextmanager
def no_twins(*_: object, **__: object) -> Iterator[None]:
    yield None


def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *found: Finding, as_json: bool = False) -> int:
    file = write_home(tmp_path, DDL, POLICY)
    monkeypatch.setattr(selftest, "twins", no_twins)
    monkeypatch.setattr(selftest, "timed", lambda *_: iter(()))
    monkeypatch.setattr(selftest, "run", lambda *_: iter(found))
    return selftest.selftest(Namespace(config=file, database=None, json=as_json, runs=0))


def test_a_table_of_what_was_promised_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert started(tmp_path, monkeypatch, KEPT) == 0
    shown = capsys.readouterr()
    assert "promised" in shown.out
    assert "9 tried, 9 refused" in shown.out
    assert "1 promises, 0 broken" in shown.err


def test_a_broken_promise_is_status_1_and_said_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert started(tmp_path, monkeypatch, KEPT, BROKEN, as_json=True) == 1
    shown = capsys.readouterr()
    assert [one["kept"] for one in json.loads(shown.out)] == [True, False]
    assert "BROKEN: SELECT 1: by 2" in shown.err


def test_a_policy_that_protects_nothing_is_told(tmp_path: Path):
    file = write_home(tmp_path, DDL, "ALTER TABLE t SET PRIVACY PUBLIC;")
    with pytest.raises(StartupError, match="protects no table"):
        selftest.selftest(Namespace(config=file, database=None, json=False, runs=0))


def test_a_policy_may_grant_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    view = "CREATE VIEW seen AS SELECT x, k FROM t"
    file = write_home(
        tmp_path, [*DDL, view], f"{POLICY}GRANT SELECT ON seen TO analyst WITH PRIVACY BUDGET b;"
    )
    monkeypatch.setattr(selftest, "twins", no_twins)
    monkeypatch.setattr(selftest, "timed", lambda *_: iter(()))
    monkeypatch.setattr(selftest, "run", lambda *_: iter([KEPT]))
    assert selftest.selftest(Namespace(config=file, database=None, json=False, runs=0)) == 0


def test_without_policy_files_it_is_the_policy_in_force(tmp_path: Path):
    file = write_home(tmp_path, DDL, POLICY)
    file.write_text(file.read_text().replace('files = ["policy.sql"]', "files = []"))
    with pytest.raises(StartupError, match="protects no table"):
        selftest.selftest(Namespace(config=file, database=None, json=False, runs=0))


def test_a_selftest_needs_a_policy_that_protects(tmp_path: Path):
    file = write_home(tmp_path, DDL, "ALTER TABLE t SET PRIVACY PUBLIC;")
    with pytest.raises(StartupError, match="protects no table"):
        selftest.selftest(Namespace(config=file, database=None, json=False, runs=0))
