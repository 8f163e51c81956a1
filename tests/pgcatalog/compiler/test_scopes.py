import pytest
from sqlglot import parse_one

from dpproxy.pgcatalog.compiler import scopes


def names(sql: str) -> list[str]:
    return [table.name for table in scopes.relations(parse_one(sql, read="postgres"))]


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT 1", []),
        ("WITH a AS (SELECT 1) SELECT * FROM a", []),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", ["a"]),
        ("WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a) SELECT * FROM a", []),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, b", ["b"]),
        ("WITH a AS (SELECT 1) SELECT (SELECT count(*) FROM a)", []),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a", ["a"]),
        ("WITH a AS (SELECT 1) SELECT * FROM public.a", ["a"]),
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM t)", ["t"]),
    ],
)
def test_with_names_are_no_relations(sql: str, found: list[str]):
    assert names(sql) == found


def test_own_names_are_folded():
    tree = parse_one('SELECT * FROM DP.Ledger, dp.budgets, "DP".x, pg_class', read="postgres")
    assert scopes.own_names(tree) == {"ledger", "budgets"}
