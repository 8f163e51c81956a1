"""SELECT 1 FROM t LIMIT 1: one row from the policy, whatever the table holds."""

import re

import pytest
from msgspec.structs import replace

from dpproxy.accounting.model import Cost
from dpproxy.engine.payment import notice
from dpproxy.values.errors import NotGranted, Refusal
from tests.golden.world import World, plan_of
from tests.planner.answers import answered, shape

SHOWN = [
    ("SELECT 1 FROM visits LIMIT 1", [("?column?", "int4")], (1,)),
    ("SELECT 1 AS a FROM visits LIMIT 1", [("a", "int4")], (1,)),
    ("SELECT true AS found, 'x' FROM people AS p LIMIT 1", [("found", "bool"), ("?column?", "text")], (True, "x")),
    ("SELECT 1 FROM visits FETCH FIRST 1 ROW ONLY", [("?column?", "int4")], (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "columns", "row"), SHOWN)
def test_without_a_condition_it_is_one_row_and_free(
    clinic: World, sql: str, columns: list[tuple[str, str]], row: tuple[object, ...]
):
    plan = plan_of(clinic, sql)
    assert plan.free
    assert plan.parts == ()
    assert shape(clinic, sql) == columns
    nobody = replace(clinic, rows={name: [] for name in clinic.rows})
    assert answered(clinic, sql) == answered(nobody, sql) == [row]
    told = notice(Cost(), plan, [])
    assert told.detail == "One row from the policy: whether the table has rows is not looked at."


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT 1 FROM visits WHERE hours > 3 LIMIT 1", "SELECT COUNT(*) FROM visits WHERE hours > 3;"),
        ("SELECT 1 AS a FROM visits v WHERE v.ward = 'A' LIMIT 1",
         "SELECT COUNT(*) FROM visits AS v WHERE v.ward = 'A';"),
        ("SELECT 1 FROM people p JOIN visits v ON v.person = p.id LIMIT 1",
         "SELECT COUNT(*) FROM people AS p JOIN visits AS v ON v.person = p.id;"),
        ("SELECT 1 FROM visits WHERE true LIMIT 1", "SELECT COUNT(*) FROM visits WHERE TRUE;"),
    ],
)  # fmt: skip
def test_with_a_condition_it_is_refused_with_the_count_as_the_hint(clinic: World, sql: str, hint: str):
    with pytest.raises(NotGranted) as refused:
        plan_of(clinic, sql)
    assert refused.value.hint == hint
    assert refused.value.position is not None
    assert answered(clinic, re.sub(";$", "", hint))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM visits WHERE person = 1 LIMIT 1",
        "SELECT 1 FROM visits",
        "SELECT 1 FROM visits LIMIT 2",
        "SELECT 1 FROM visits LIMIT 1 OFFSET 1",
        "SELECT 1 FROM (SELECT * FROM visits) v LIMIT 1",
        "SELECT 1 FROM (SELECT * FROM visits WHERE hours > 3) v LIMIT 1",
        "SELECT hours FROM visits LIMIT 1",
        "SELECT * FROM visits LIMIT 1",
        "SELECT (SELECT 1 FROM visits LIMIT 1)",
        "SELECT EXISTS (SELECT 1 FROM visits LIMIT 1)",
        "SELECT count(*) FROM (SELECT 1 AS x FROM visits LIMIT 1) t",
        "SELECT 1 FROM visits ORDER BY hours LIMIT 1",
        "SELECT 1 FROM visits, people LIMIT 1",
        "SELECT nobody FROM visits LIMIT 1",
    ],
)
def test_anything_else_is_refused_as_before(clinic: World, sql: str):
    with pytest.raises(Refusal):
        plan_of(clinic, sql)


def test_who_may_not_select_is_told_so(clinic: World):
    with pytest.raises(Refusal) as refused:
        plan_of(clinic, "SELECT 1 FROM visits LIMIT 1", {"as": "stranger"})
    assert refused.value.sqlstate in ("42501", "42P01")
