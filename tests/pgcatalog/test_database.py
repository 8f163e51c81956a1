import threading
from collections.abc import Callable

import duckdb
import pytest

from dpproxy.pgcatalog import CatalogueView, database
from dpproxy.pgcatalog.compiler.rewrite import Rewritten
from dpproxy.pgcatalog.database import CatalogueDatabase
from dpproxy.values.errors import Cancelled, DivisionByZero, InvalidText, TooComplex


@pytest.fixture
def held(view: CatalogueView):
    made = CatalogueDatabase(view)
    yield made
    made.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/x'",
        "ATTACH '/tmp/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA enable_external_access = true",
        "SET lock_configuration = false",
        "SELECT * FROM '/etc/passwd'",
    ],
)
def test_the_engine_itself_is_locked(held: CatalogueDatabase, sql: str):
    # Statements cannot reach here past the allow-lists; this is the wall behind them.
    with pytest.raises(duckdb.Error):
        held._root.execute(sql)


def test_nothing_is_written_to_a_disk(held: CatalogueDatabase):
    assert held._root.execute("SELECT current_setting('temp_directory')").fetchall() == [("",)]


def test_a_statement_that_takes_too_long(
    ask: Callable[..., list[tuple[object, ...]]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(database, "TIME_LIMIT", 0.2)
    with pytest.raises(Cancelled):
        ask(
            "SELECT count(*) FROM generate_series(1, 90000) a, generate_series(1, 90000) b, generate_series(1, 90000) c"
        )


def test_a_statement_that_takes_too_much_memory(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises((TooComplex, Cancelled)):
        ask("WITH RECURSIVE t(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM t) SELECT max(length(x)) FROM t")


def test_an_answer_that_is_too_long(
    ask: Callable[..., list[tuple[object, ...]]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(database, "MAX_ROWS", 10)
    assert len(ask("SELECT * FROM generate_series(1, 10)")) == 10
    with pytest.raises(TooComplex):
        ask("SELECT * FROM generate_series(1, 11)")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeated FROM (SELECT 'abcdefgh' AS repeated) a, generate_series(1, 1000)",
        "SELECT date '2024-01-02' AS d, 'abcdefgh' FROM generate_series(1, 1000)",
        "SELECT array_agg(n) FROM generate_series(1, 100) AS s(n)",
        "SELECT 'x'::char(100) FROM generate_series(1, 100)",
    ],
)
def test_an_answer_of_too_many_characters(
    ask: Callable[..., list[tuple[object, ...]]], sql: str, monkeypatch: pytest.MonkeyPatch
):
    assert ask(sql)
    monkeypatch.setattr(database, "MOST_TEXT", 5000)
    with pytest.raises(TooComplex, match="characters"):
        ask(sql)


def test_errors_of_values(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(DivisionByZero):
        ask("SELECT 1 / 0")
    with pytest.raises(InvalidText):
        ask("SELECT 'a'::int")


def test_tables_are_filled_once_by_many_threads(held: CatalogueDatabase):
    statement = Rewritten(
        held._view, "SELECT count(*) FROM pg_catalogue.pg_namespace", tables={("pg_catalog", "pg_namespace")}
    )
    counts: list[object] = []
    threads = [threading.Thread(target=lambda: counts.append(held.run(statement, {})[1])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [[(4,)]] * 8
