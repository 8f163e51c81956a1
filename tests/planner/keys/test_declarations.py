"""Aggregates over nothing but declared keys are refused, and what was meant is the hint."""

import re

import pytest

from dpproxy.values.errors import Unsupported
from tests.golden.world import World, plan_of
from tests.planner.answers import answered

REFUSED = [
    ("SELECT count(*) FROM (SELECT DISTINCT ward FROM visits WHERE hours > 3) t",
     "SELECT COUNT(DISTINCT ward) FROM visits WHERE hours > 3;"),
    ("SELECT count(ward) FROM (SELECT ward FROM visits GROUP BY ward) t", "SELECT COUNT(DISTINCT ward) FROM visits;"),
    ("WITH t AS (SELECT DISTINCT hours AS h FROM visits) SELECT max(h) FROM t",
     "SELECT COUNT(DISTINCT hours) FROM visits;"),
    ("SELECT count(*) FROM (SELECT DISTINCT ward, hours FROM visits) t",
     "SELECT ward, hours, COUNT(*) FROM visits GROUP BY ward, hours;"),
    ("SELECT count(DISTINCT ward) FROM (SELECT ward FROM visits GROUP BY 1 ORDER BY 1) t",
     "SELECT COUNT(DISTINCT ward) FROM visits;"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "hint"), REFUSED)
def test_the_hint_is_the_question_that_was_meant(clinic: World, sql: str, hint: str):
    with pytest.raises(Unsupported, match="every declared key") as refused:
        plan_of(clinic, sql)
    assert refused.value.hint == hint
    assert refused.value.position is not None
    assert answered(clinic, re.sub(";$", "", hint))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM (SELECT ward FROM (SELECT DISTINCT ward FROM visits) a) b",
        "SELECT count(*) FROM (SELECT DISTINCT ward FROM visits UNION SELECT DISTINCT city FROM people) t",
        "SELECT count(*) FROM (SELECT DISTINCT ward FROM visits UNION ALL SELECT ward FROM wards) t",
        "SELECT building, count(*) FROM (SELECT DISTINCT ward FROM visits) t JOIN wards USING (ward) GROUP BY building",
        "SELECT count(*) * 2 FROM (SELECT DISTINCT ward FROM visits) t",
        "SELECT ward, count(*) OVER () FROM (SELECT DISTINCT ward FROM visits) t",
        "SELECT ward FROM (SELECT DISTINCT ward FROM visits) t GROUP BY ward HAVING count(*) > 0",
        "SELECT count(*) FILTER (WHERE ward = 'A') FROM (SELECT DISTINCT ward FROM visits) t",
        "SELECT count(*), (SELECT count(*) FROM (SELECT DISTINCT ward FROM visits) t) FROM visits",
        "SELECT 1 WHERE 2 = (SELECT count(*) FROM (SELECT DISTINCT ward FROM visits) t)",
    ],
)
def test_wherever_it_stands(clinic: World, sql: str):
    with pytest.raises(Unsupported, match="every declared key"):
        plan_of(clinic, sql)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT DISTINCT ward FROM visits", [("A",), ("B",)]),
        ("SELECT ward FROM (SELECT DISTINCT ward FROM visits) t ORDER BY 1 DESC", [("B",), ("A",)]),
        ("SELECT sum(n) FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward) t", [(3,)]),
        ("SELECT count(*) FROM (SELECT ward FROM visits GROUP BY ward HAVING count(*) > 1) t", [(1,)]),
        (("SELECT sum(n) FROM (SELECT DISTINCT ward FROM visits) k LEFT JOIN "
         "(SELECT ward, count(*) AS n FROM visits GROUP BY ward) t USING (ward)"), [(3,)]),
        ("SELECT count(*) FROM (SELECT DISTINCT ward FROM wards) t", [(2,)]),
    ],
)  # fmt: skip
def test_lists_of_keys_and_figures_are_answered(clinic: World, sql: str, found: list[tuple[object, ...]]):
    assert answered(clinic, sql) == found
