"""What planning reads from public tables, once."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpproxy.backends import facts as module
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.facts import Facts
from dpproxy.values.errors import Refusal
from dpproxy.values.work import limited
from tests.backends.inline import Inline
from tests.reading import words


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Inline]:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE wards AS SELECT range AS n, range % 3 AS kind FROM range(10)")
    found = Inline(DuckDB(path, threads=1))
    yield found
    found.close()


def test_a_statement_is_answered_once(backend: Inline, monkeypatch: pytest.MonkeyPatch):
    facts = Facts(backend)
    sql = "SELECT max(c) FROM (SELECT count(*) AS c FROM wards GROUP BY kind)"
    assert facts(words(sql)) == ((4,),)
    monkeypatch.setattr(backend, "run_public", lambda *_: pytest.fail("asked again"))
    assert facts(words(sql)) == ((4,),)


def test_few_are_kept(backend: Inline, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "KEPT", 2)
    facts = Facts(backend)
    for n in range(5):
        assert facts(words(f"SELECT {n}")) == ((n,),)
    assert len(facts._kept) == 2


def test_one_that_takes_too_long_is_stopped(backend: Inline, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LONGEST", 0.2)
    with pytest.raises(Refusal):
        Facts(backend)(
            words(
                "SELECT count(*) FROM range(100000) a, range(100000) b, wards WHERE a.range * b.range % 7 = n"
            )
        )
    assert Facts(backend)(words("SELECT 1")) == ((1,),)


def test_it_has_the_time_that_planning_has_left(backend: Inline):
    with pytest.raises(Refusal), limited(longest=0.0):
        Facts(backend)(
            words("SELECT count(*) FROM range(100000) a, range(100000) b, wards WHERE a.range * b.range = n")
        )


def test_what_was_asked_while_a_table_changed_is_not_kept(backend: Inline, monkeypatch: pytest.MonkeyPatch):
    facts = Facts(backend)

    def changing(*_: object) -> list[tuple[object, ...]]:
        monkeypatch.setattr(backend, "epoch", backend.epoch + 1)
        return [(1,)]

    monkeypatch.setattr(backend, "run_public", changing)
    assert facts(words("SELECT 1")) == ((1,),)
    assert not facts._kept
