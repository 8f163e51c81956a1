import pytest

from dpproxy.errors import Refusal, SyntaxRefused, UnitLost
from tests.golden.world import World, plan_of
from tests.planner.answers import answered
from tests.planner.clinic import one_part, rows_of_unit

BOTH = "(SELECT person, hours AS x, ward AS c FROM visits UNION ALL SELECT id, age, city FROM people) AS u"


def test_the_rows_of_both_sides_add_up(clinic: World):
    assert rows_of_unit(plan_of(clinic, f"SELECT count(*) FROM {BOTH}")) == 3
    thrice = (
        "(SELECT id FROM people UNION ALL SELECT id FROM people UNION ALL SELECT person FROM visits) AS u"
    )
    assert rows_of_unit(plan_of(clinic, f"SELECT count(*) FROM {thrice}")) == 4
    joined = plan_of(clinic, f"SELECT count(*) FROM {BOTH} JOIN people p ON p.id = u.person")
    assert rows_of_unit(joined) == 3  # the key stays a key


def test_bounds_and_keys_are_those_of_either_side(clinic: World):
    part = one_part(clinic, f"SELECT c, sum(x) FROM {BOTH} GROUP BY c")
    assert [set(k.rows) for k in part.keys] == [{("A",), ("B",), ("Oslo",), ("Rome",)}]
    assert answered(clinic, f"SELECT c, count(*), sum(x) FROM {BOTH} GROUP BY c ORDER BY c") == [
        ("A", 2, 5), ("B", 1, 2), ("Oslo", 1, 30), ("Rome", 2, 90),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("union", "error"),
    [
        ("SELECT id FROM people UNION SELECT person FROM visits", UnitLost),
        ("SELECT id FROM people EXCEPT ALL SELECT person FROM visits", UnitLost),
        ("SELECT id FROM people INTERSECT SELECT person FROM visits", UnitLost),
        ("SELECT city FROM people UNION ALL SELECT ward FROM shops", UnitLost),
        ("SELECT city FROM people UNION ALL SELECT ward FROM wards", UnitLost),
        ("SELECT age FROM people UNION ALL SELECT count(*) FROM people", UnitLost),
        ("SELECT id FROM people UNION ALL SELECT person FROM visits LIMIT 1", UnitLost),
        ("SELECT id FROM people UNION ALL SELECT person, ward FROM visits", SyntaxRefused),
        ("SELECT id FROM people UNION ALL SELECT age FROM people", Refusal),
        ("SELECT city FROM people UNION ALL SELECT age FROM people", Refusal),
    ],
)
def test_refused(clinic: World, union: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_of(clinic, f"SELECT count(*) FROM ({union}) AS u")


def test_a_side_without_declared_keys_has_none_together(clinic: World):
    mixed = "(SELECT city AS c FROM people UNION ALL SELECT city || 'x' FROM people) AS u"
    assert plan_of(clinic, f"SELECT c, count(*) FROM {mixed} GROUP BY c").groups == 4
    without = mixed.replace("city || 'x'", "CAST(age * 0.01 AS text)")
    with pytest.raises(Refusal):
        plan_of(clinic, f"SELECT c, count(*) FROM {without} GROUP BY c")
