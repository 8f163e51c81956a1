"""FROM over protected rows, and public ones beside them: names, and what may not stand there."""

import pytest

from dpproxy.values.errors import DuplicateAlias, Refusal, SyntaxRefused, UndefinedTable, UnitLost
from tests.golden.world import World, plan_of
from tests.planner.answers import answered
from tests.planner.clinic import one_part


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("people AS p (key, town)", "p.town"),
        ("people AS p (key, town)", "p.age"),
        ("(SELECT * FROM people) AS p (key, town)", "town"),
        ("visits v JOIN wards AS w (a, b) ON v.ward = w.a", "w.b"),
        ("(SELECT building, max(beds) m FROM wards GROUP BY 1) w JOIN visits v ON w.m > v.hours", "w.building"),
    ],
)  # fmt: skip
def test_names_of_columns_are_given_from_the_left(clinic: World, source: str, column: str):
    assert plan_of(clinic, f"SELECT count({column}) FROM {source}")


def test_a_lone_table_is_read_bare(clinic: World):
    assert '"people" WHERE' in one_part(clinic, "SELECT count(*) FROM people AS p").exact
    assert '"people" AS' not in one_part(clinic, "SELECT count(*) FROM people AS p").exact


def test_public_subqueries_are_read_beside_rows(clinic: World):
    top = "(SELECT ward, max(beds) AS most FROM wards GROUP BY ward)"
    sql = (
        f"SELECT t.ward, count(*) FROM visits v JOIN {top} AS t ON t.ward = v.ward GROUP BY t.ward ORDER BY 1"
    )
    assert answered(clinic, sql) == [("A", 2), ("B", 1)]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("people p JOIN people p ON p.id = p.id", DuplicateAlias),
        ("people AS p (x) JOIN visits v ON p.id = v.person", UnitLost),
        ("people AS p JOIN visits v ON people.id = v.person", UndefinedTable),
        ("(SELECT * FROM people)", SyntaxRefused),
    ],
)
def test_refused(clinic: World, source: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_of(clinic, f"SELECT count(*) FROM {source}")
