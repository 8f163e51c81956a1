"""Keys that conditions on public tables leave; for subqueries that follow a row, see test_correlation."""

import pytest

from tests.golden.world import World, plan_of

LISTED = "SELECT ward FROM wards WHERE beds > 15"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT ward, count(*) FROM visits WHERE ward IN ({LISTED}) GROUP BY ward",
        f"SELECT v.ward AS w, count(*) FROM visits AS v WHERE hours > 1 AND v.ward IN ({LISTED}) GROUP BY w",
        f"SELECT ward, sum(hours) FROM visits WHERE (ward IN ({LISTED})) GROUP BY 1",
        f"SELECT ward, count(*) FROM visits v JOIN people p ON p.id = v.person WHERE ward IN ({LISTED}) GROUP BY ward",
    ],
)  # fmt: skip
def test_only_keys_of_a_public_list_are_answered(clinic: World, sql: str):
    [part] = plan_of(clinic, sql).parts
    assert part.groups == 1


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT ward, count(*) FROM visits WHERE ward NOT IN ({LISTED}) GROUP BY ward",
        f"SELECT ward, count(*) FROM visits WHERE ward IN ({LISTED}) OR hours > 1 GROUP BY ward",
        f"SELECT ward, count(*) FROM visits WHERE ward IN ({LISTED} LIMIT 5) GROUP BY ward",
        "SELECT ward, count(*) FROM visits WHERE ward IN (SELECT DISTINCT ON (beds) ward FROM wards) GROUP BY ward",
        "SELECT ward, count(*) FROM visits WHERE hours IN (SELECT beds FROM wards) GROUP BY ward",
        "SELECT ward, count(*) FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY ward) GROUP BY ward",
    ],
)
def test_others_keep_their_keys(clinic: World, sql: str):
    *_, part = plan_of(clinic, sql).parts
    assert part.groups == 2


def test_names_of_the_statement_are_left_alone(clinic: World):
    sql = f'SELECT ward, count(*) FROM visits AS "#in0" WHERE ward IN ({LISTED}) GROUP BY ward'
    [part] = plan_of(clinic, sql).parts
    assert part.groups == 1


def test_a_value_counts_once(clinic: World):
    """Ward B is twice in the list."""
    sql = "SELECT ward, count(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE beds < 30) GROUP BY ward"
    [part] = plan_of(clinic, sql).parts
    assert "at most 2 rows" in plan_of(clinic, sql).unit
    assert part.groups == 2
