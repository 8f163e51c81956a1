import pytest

from dpproxy.pgcatalog.compiler.paging import Paged, paged
from dpproxy.planner.accept import parse


def of(sql: str, *values: object) -> Paged | None:
    return paged(parse(sql, "main", bare=False), values)


@pytest.mark.parametrize(
    ("sql", "conditions"),
    [
        ("SELECT * FROM dp.ledger", ()),
        ("SELECT l.who AS w, what FROM dp.ledger AS l WHERE l.who = 'ann'", (("who = ?", "ann"),)),
        (
            "SELECT * FROM dp.ledger WHERE 5 <= sequence AND (kind = 'reset')",
            (("sequence >= ?", 5), ("kind = ?", "reset")),
        ),
        ("SELECT * FROM dp.ledger WHERE at > '1970-01-01 00:01:00'", (("at >= ?", 59_000_000),)),
        ("SELECT * FROM dp.ledger WHERE at = '1970-01-02'", (("at >= ?", 86_399_000_000), ("at <= ?", 86_401_000_000))),
        ("SELECT * FROM dp.ledger WHERE who = 'ann' OR who = 'bob'", ()),
        ("SELECT * FROM dp.ledger WHERE NOT who = 'ann'", ()),
        ("SELECT * FROM dp.ledger WHERE what LIKE 'count%' AND epsilon > 0.1", ()),
        ("SELECT * FROM dp.ledger WHERE who > 'ann' AND sequence = '7'", ()),
        ("SELECT * FROM dp.ledger WHERE at < 'yesterday'", ()),
    ],
)  # fmt: skip
def test_what_the_ledger_can_look_for_itself_is_told(sql: str, conditions: tuple[tuple[str, object], ...]):
    found = of(sql)
    assert found is not None
    assert (found.conditions, found.limit, found.offset, found.is_descending) == (conditions, None, 0, False)


def test_limits_and_the_order_are_taken_out():
    found = of("SELECT * FROM dp.ledger WHERE who = $1 ORDER BY sequence DESC LIMIT $2 OFFSET 3", "ann", 10)
    assert found is not None
    assert (found.conditions, found.limit, found.offset, found.is_descending) == (
        (("who = ?", "ann"),),
        10,
        3,
        True,
    )
    assert "LIMIT" not in found.tree.sql()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM dp.ledger",
        "SELECT DISTINCT who FROM dp.ledger",
        "SELECT who FROM dp.ledger GROUP BY who",
        "SELECT epsilon::text FROM dp.ledger",
        "SELECT row_number() OVER () FROM dp.ledger",
        "SELECT * FROM dp.ledger ORDER BY who",
        "SELECT * FROM dp.ledger ORDER BY sequence, at",
        "SELECT who AS sequence FROM dp.ledger ORDER BY sequence",
        "SELECT * FROM dp.ledger, dp.budgets",
        "SELECT * FROM dp.ledger a JOIN dp.ledger b ON a.sequence = b.sequence",
        "SELECT * FROM dp.budgets",
        "SELECT * FROM dp.ledger WHERE sequence = (SELECT max(sequence) FROM dp.ledger)",
        "SELECT * FROM dp.ledger WHERE epsilon::text = '0.1'",
        "SELECT * FROM dp.ledger LIMIT 1 + 1",
        "SELECT * FROM dp.ledger UNION ALL SELECT * FROM dp.ledger",
        "WITH w AS (SELECT 1) SELECT * FROM dp.ledger",
    ],
)
def test_every_other_statement_is_answered_whole(sql: str):
    assert of(sql) is None
