"""LATERAL as the join that it is."""

import pytest
from sqlglot import exp

from dpproxy.planner.accept import parse
from dpproxy.planner.rewrites.laterals import without_laterals

COLUMNS = {"items": frozenset({"item", "kind", "price"})}


def rewritten(sql: str) -> str | None:
    tree = parse(sql)
    assert isinstance(tree, exp.Select)
    found = without_laterals(tree, lambda table: COLUMNS.get(table.name), {"qty", "item"})
    return None if found is None else found.sql("postgres")


@pytest.mark.parametrize(
    ("lateral", "plain"),
    [
        (
            "CROSS JOIN LATERAL (SELECT kind FROM items i WHERE i.item = s.item AND price > 3) l",
            'JOIN (SELECT kind AS "kind", i.item AS "#0" FROM items AS i WHERE price > 3) AS "l" ON "l"."#0" = s.item',
        ),
        (
            "LEFT JOIN LATERAL (SELECT kind FROM items WHERE item < s.item) AS l (k) ON true",
            'LEFT JOIN (SELECT kind AS "k", item AS "#0" FROM items) AS "l" ON "l"."#0" < s.item',
        ),
        (", LATERAL (SELECT kind FROM items) l", 'CROSS JOIN (SELECT kind AS "kind" FROM items) AS "l"'),
    ],
)
def test_conditions_across_are_those_of_a_join(lateral: str, plain: str):
    assert rewritten(f"SELECT 1 FROM sales s {lateral}") == f"SELECT 1 FROM sales AS s {plain}"


def test_an_expression_may_name_an_earlier_one():
    """Bare or not, shown as it is or computed with; a name that a table beside has is left."""
    sql = "SELECT c, d FROM s, LATERAL (SELECT s.n * 2 AS a) x, LATERAL (SELECT a + 1 AS b) y, "
    assert (
        rewritten(sql + "LATERAL (SELECT b AS c, x.a AS d) z")
        == 'SELECT (((s.n * 2) + 1)) AS "c", ((s.n * 2)) AS "d" FROM s'
    )
    assert rewritten("SELECT b FROM s, LATERAL (SELECT 2 AS qty) x, LATERAL (SELECT qty + 1 AS b) y") is None


def test_expressions_stand_in_the_place_of_their_names():
    """Not in a subquery, where a bare name may be another, nor in ORDER BY, where it is of the SELECT list first."""
    sql = "SELECT l.twice, qty, (SELECT twice FROM b WHERE l.twice > 1) FROM s, {} GROUP BY twice"
    assert rewritten(sql.format("LATERAL (SELECT s.qty * 2) l (twice)")) == (
        'SELECT (s.qty * 2) AS "twice", qty, (SELECT twice FROM b WHERE (s.qty * 2) > 1) FROM s GROUP BY (s.qty * 2)'
    )
    assert rewritten("SELECT 1 AS n FROM s, LATERAL (SELECT qty) l (n) ORDER BY n, l.n") == (
        "SELECT 1 AS n FROM s ORDER BY n, (qty)"
    )
    sql = "SELECT m.b FROM s, LATERAL (SELECT qty + 1 AS a) l, LATERAL (SELECT l.a * 2 AS b) m"
    assert rewritten(sql) == 'SELECT ((qty + 1) * 2) AS "b" FROM s'


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT qty FROM s, LATERAL (SELECT s.item AS qty) l",
        "SELECT x FROM s, LATERAL (SELECT s.item AS x) l, LATERAL (SELECT s.qty AS x) m",
        "SELECT 1 FROM s, LATERAL (SELECT item * 2 AS x) l WHERE EXISTS (SELECT 1 FROM b WHERE b.y = l.x)",
        "SELECT 1 FROM s, LATERAL (SELECT s.item AS x) l WHERE EXISTS (SELECT 1 FROM b AS s WHERE s.y = l.x)",
        "SELECT 1 FROM s, LATERAL (SELECT s.item AS x) l WHERE l.x IN (SELECT (SELECT l.x) FROM s)",
    ],
)
def test_expressions_are_left_where_a_name_may_be_another(sql: str):
    assert rewritten(sql) is None


@pytest.mark.parametrize(
    "lateral",
    [
        "LATERAL (SELECT max(kind) AS k FROM items i WHERE i.item = s.item) l",
        "LATERAL (SELECT kind FROM items i WHERE i.item = s.item LIMIT 1) l",
        "LATERAL (SELECT DISTINCT kind FROM items i) l",
        "LATERAL (SELECT kind FROM items i, items j) l",
        "LATERAL (SELECT kind, s.item FROM items i) l",
        "LATERAL (SELECT kind FROM unknown) l",
        "LATERAL (SELECT i.kind FROM items i (qty, kind) WHERE i.qty = s.item AND qty > 1) l",
        "LATERAL (SELECT * FROM items) l",
        "LATERAL (SELECT 1) l",
        "LATERAL (SELECT s.item AS x WHERE s.item > 1) l",
        "LATERAL (SELECT (SELECT 1) AS x) l",
        "LATERAL (VALUES (s.item)) l (x)",
        "LATERAL (SELECT s.item AS x) l WHERE EXISTS (SELECT 1 FROM b AS l WHERE l.x > 1)",
    ],
)
def test_other_forms_are_left(lateral: str):
    assert rewritten(f"SELECT count(*) FROM sales s, {lateral}") is None
