"""Columns of an enum in a file of DuckDB's: texts, whatever the order of their labels."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import PREPARED
from dpproxy.backends.duckdb.enums import as_texts
from dpproxy.backends.duckdb.source import DuckDB
from tests.proxies import Proxy, serving, write_home

DDL = (
    "CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'glad')",
    """CREATE TABLE t AS SELECT i, ['sad', 'it''s ok', 'glad'][1 + i % 3]::mood AS mood, i % 2 AS ward
      FROM range(600) AS r(i)""",
    "CREATE TABLE q AS SELECT 1 AS person, 'sad'::mood AS mood",
    "CREATE TABLE p AS SELECT unnest(['glad', 'sad'])::mood AS mood, [1, 2] AS numbers, ['sad'::mood] AS several",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY (i);
ALTER TABLE t SET PRIVACY CEILING EPSILON 900;
ALTER TABLE t ALTER COLUMN mood SET PRIVACY DOMAIN IN ('sad', 'it''s ok', 'glad');
ALTER TABLE t ALTER COLUMN ward SET PRIVACY DOMAIN BETWEEN 0 AND 1;
ALTER TABLE p SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET b LIMIT EPSILON 900 DEFAULT EPSILON 40 MAX EPSILON 50;
GRANT SELECT ON t, p TO analyst WITH PRIVACY BUDGET b;
GRANT EXACT SELECT ON t TO dpo;
"""


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("enums")
    with serving(
        write_home(folder, DDL, POLICY, users={"ann": ["analyst"], "dora": ["dpo"], "root": ["admin"]})
    ) as found:
        yield found


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (
            "SELECT mood, round(count(*), -1) FROM t GROUP BY mood ORDER BY 1",
            [("glad", 200), ("it's ok", 200), ("sad", 200)],
        ),
        ("SELECT round(count(*), -1) FROM t WHERE mood < 'h'", [(200,)]),
        ("SELECT round(count(*), -1) FROM t WHERE mood = 'none of them'", [(0,)]),
        ("SELECT round(count(*), -1) FROM t WHERE mood LIKE 'it%' AND ward = 1", [(100,)]),
        ("SELECT round(count(*), -1) FROM t JOIN p USING (mood)", [(400,)]),
        ("SELECT mood, upper(mood) FROM p ORDER BY mood", [("glad", "GLAD"), ("sad", "SAD")]),
        ("SELECT max(mood), min(mood) FROM p", [("sad", "glad")]),
    ],
)
def test_an_enum_is_a_text(proxy: Proxy, sql: str, rows: list[tuple[object, ...]]):
    with psycopg.connect(proxy.dsn("ann"), autocommit=True) as ann:
        found = ann.execute(sql.encode()).fetchall()
    assert [tuple(int(cell) if not isinstance(cell, str) else cell for cell in row) for row in found] == rows


def test_exact_answers_read_it_too(proxy: Proxy):
    with psycopg.connect(proxy.dsn("dora"), autocommit=True) as dora:
        assert dora.execute("SELECT mood FROM t WHERE i = 2").fetchall() == [("glad",)]


def test_its_labels_are_suggested_as_its_domain(proxy: Proxy):
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        served = {row[0]: row[5] for row in root.execute("SHOW PRIVACY TABLES").fetchall()}
        assert served == {"t": None, "p": "several", "q": None}
        suggested = [row[0] for row in root.execute("SUGGEST PRIVACY FOR q").fetchall()]
    assert any("mood SET PRIVACY DOMAIN IN ('sad', 'it''s ok', 'glad')" in sql for sql in suggested), (
        suggested
    )


def test_a_statement_reads_texts_in_the_place_of_enums():
    tables = nodes.Table("t", alias="u"), nodes.Table("t", path=(PREPARED, "main")), nodes.Table("other")
    queries = [nodes.Select((nodes.Star(),), table) for table in tables]
    found = [as_texts(query, {"t": [("a", True), ("b", False)]}) for query in queries]
    [read] = found[0].find_all(nodes.Subquery)
    assert read.alias == "u"
    assert printing.text(read.query) == 'SELECT CAST("a" AS TEXT) AS "a", "b" AS "b" FROM "t" AS "u"'
    assert found[1:] == queries[1:]


def test_a_file_without_enums_has_none(tmp_path: Path):
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    backend = DuckDB(path, threads=1)
    assert backend.enums() == {}
    backend.close()
