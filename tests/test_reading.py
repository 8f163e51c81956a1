"""What tests read of the planner's texts is written alike."""

import re
from pathlib import Path

import pytest

from dpproxy.algebra import nodes, printing
from dpproxy.values.errors import Internal
from tests.reading import read

GOLDEN = Path(__file__).parent / "golden"
LINE = re.compile(r"(?:r\d+|answer|p\d+)\s+(SELECT .*)")
ANSWERS = ("list_value", "pow(", "json_")
"""Names of released values that the parser calls otherwise, and formulas of fields."""


def statements() -> set[str]:
    lines = (line for file in GOLDEN.glob("*.test") for line in file.read_text().splitlines())
    return {found[1].strip() for line in lines if (found := LINE.match(line))}


def test_what_is_planned_is_read_and_written_alike():
    texts = {t for t in statements() if not any(name in t.lower() for name in ANSWERS)}
    assert len(texts) > 60
    assert [t for t in texts if printing.text(read(t)) != t] == []


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE t",
        "SELECT x & 1",
        "SELECT x[1]",
        "SELECT x IS TRUE",
        "WITH a AS (SELECT 1) SELECT x FROM a",
        "SELECT x FROM t TABLESAMPLE 5 ROWS",
        "SELECT x FROM t JOIN u USING (x)",
        "SELECT * EXCLUDE (x) FROM t",
        "SELECT CASE x WHEN 1 THEN 2 END FROM t",
        "SELECT a.b.c.x FROM t",
        "SELECT x FROM t UNION ALL BY NAME SELECT x FROM u",
        "SELECT x FROM t GROUP BY ALL",
        "SELECT x FROM (SELECT x FROM t) TABLESAMPLE 5 ROWS",
        "SELECT first(x IGNORE NULLS) OVER (ORDER BY x) FROM t",
    ],
)
def test_what_nobody_plans_is_not_read(sql: str):
    with pytest.raises(Internal):
        read(sql)


def test_an_order_of_values_and_of_all_columns_is_read():
    for sql in (
        'SELECT STRING_AGG("x", \',\' ORDER BY "y" DESC) FROM t',
        "SELECT x FROM t ORDER BY ALL ASC LIMIT 5",
    ):
        assert printing.text(read(sql)) == sql


def test_names_without_quotes_stay_so():
    found = read('SELECT g.k0, "a" FROM t AS g')
    assert [type(c.name) for c in found.find_all(nodes.ColumnRef)] == [nodes.Bare, str]
