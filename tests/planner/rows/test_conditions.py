import pytest
from sqlglot import exp

from dpproxy.planner.accept import accept, parse
from dpproxy.planner.rows.conditions import conjuncts
from tests.golden.world import World, plan_of
from tests.planner.clinic import one_part, rows_of_unit


def split(condition: str) -> list[str]:
    where = accept(parse(f"SELECT count(*) FROM t WHERE {condition}")).args["where"]
    return [c.sql() for c in conjuncts(where)]


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("a = 1", ["a = 1"]),
        ("a = 1 AND (b = 2 AND (c = 3))", ["a = 1", "b = 2", "c = 3"]),
        ("a = 1 OR b = 2", ["a = 1 OR b = 2"]),
        ("NOT (a = 1 AND b = 2)", ["NOT (a = 1 AND b = 2)"]),
        ("(a = 1 AND b = 2) OR (c = 3 AND a = 1)", ["a = 1", "b = 2 OR c = 3"]),
        ("(a = 1 AND b = 2) OR a = 1", ["a = 1"]),
    ],
)
def test_what_must_hold_is_told_apart(condition: str, parts: list[str]):
    assert split(condition) == parts


def test_without_where_nothing_must_hold():
    assert conjuncts(None) == []
    assert conjuncts(exp.Where(this=exp.true())) == [exp.true()]


def test_only_an_equality_of_keys_that_lead_to_the_same_is_an_edge(clinic: World):
    """As a plan shows: an edge is replaced by the equality of units, other conditions stay as they are."""
    join = "SELECT count(*) FROM visits v JOIN visits w ON v.person = w.person"
    turned = one_part(clinic, join.replace("v.person = w.person", "w.person = (v.person)"))
    assert one_part(clinic, join).exact.count('"unit') == turned.exact.count('"unit')
    assert rows_of_unit(plan_of(clinic, f"{join} WHERE w.hours > 2")) == 4


def test_a_reference_does_not_multiply_the_rows_that_refer(clinic: World):
    plan = plan_of(clinic, "SELECT count(*) FROM bills b JOIN visits v ON v.no = b.visit")
    assert rows_of_unit(plan) == 3
    assert "PARTITION BY" in plan.parts[0].exact  # one row for each number, of each person
