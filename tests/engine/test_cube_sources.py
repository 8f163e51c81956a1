"""A cube over a source without prepared tables: of single rows it answers statements, of people it is read alone."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dpproxy.accounting.model import NANO
from dpproxy.algebra.plan import Caller
from tests.hospital import ask
from tests.proxies import started, write_home

ANN = Caller("ann", frozenset({"analyst"}), "session of ann")
POLICY = """
ALTER TABLE visits SET PRIVACY {key};
ALTER TABLE visits SET PRIVACY CEILING EPSILON 100;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b');
CREATE PRIVACY BUDGET research LIMIT EPSILON 9 MAX EPSILON 4;
GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET research;
CREATE PRIVACY CUBE c ON visits (ward) MEASURES (count(*)) WITH (epsilon = 4);
GRANT SELECT ON c TO analyst;
"""


@pytest.mark.parametrize(("key", "price"), [("KEY ROW", 0), ("KEY (person) MAX ROWS 2", NANO)])
def test_statements_follow_where_none_leaves_rows_out_by_itself(tmp_path: Path, key: str, price: int):
    home = write_home(tmp_path, (), POLICY.format(key=key))
    with closing(sqlite3.connect(tmp_path / "data.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE visits (person INTEGER NOT NULL, ward TEXT)")
        values = [(n // 3, "ab"[n % 2]) for n in range(300)]
        connection.executemany("INSERT INTO visits VALUES (?, ?)", values)
    home.write_text(home.read_text().replace('path = "data.duckdb"', 'path = "data.sqlite"'))
    with started(home) as engine:
        engine.open(ANN)
        assert ask(engine, "SELECT ward, sum(count) FROM c GROUP BY ward", ANN).nano == 0
        answer = ask(engine, "SELECT ward, count(*) FROM visits GROUP BY ward", ANN, epsilon="1")
        assert answer.nano == price
        assert any("cube" in notice.message for notice in answer.notices) is (price == 0)
