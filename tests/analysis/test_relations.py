import pytest
from sqlglot import exp, parse_one

from dpproxy.analysis.relations import is_of_with


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("WITH a AS (SELECT 1) SELECT * FROM A", []),
        ('WITH a AS (SELECT 1) SELECT * FROM "A"', ["A"]),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", ["a"]),
        ("WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a) SELECT * FROM a", []),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a, b", ["b"]),
        ("WITH a AS (SELECT 1) SELECT (SELECT count(*) FROM a)", []),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a", ["a"]),
    ],
)
def test_queries_of_with_are_seen_by_those_after_them(sql: str, found: list[str]):
    tree = parse_one(sql, read="postgres")
    assert [table.name for table in tree.find_all(exp.Table) if not is_of_with(table)] == found
