"""How many different values there can be, by what is declared, beside what rows of all kinds have."""

import pytest

from tests.golden.world import World, build, plan_of

HEADER = (
    "CREATE TABLE t (id INTEGER, sex VARCHAR, age INTEGER, pay DECIMAL(8,2), height DOUBLE, b BOOLEAN, day DATE)",
    "ALTER TABLE t ADD COLUMN town VARCHAR",
    "ALTER TABLE t SET PRIVACY KEY (id)",
    "ALTER TABLE t ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm', NULL)",
    "ALTER TABLE t ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99",
    "ALTER TABLE t ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN 0 AND 5",
    "ALTER TABLE t ALTER COLUMN height SET PRIVACY DOMAIN BETWEEN 1 AND 2",
    "ALTER TABLE t ALTER COLUMN b SET PRIVACY DOMAIN IN (true, false)",
    "ALTER TABLE t ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '2024-01-01' AND '2024-01-31'",
    "ALTER TABLE t ALTER COLUMN town SET PRIVACY DOMAIN DISCOVERED",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


@pytest.mark.parametrize(
    ("written", "most"),
    [
        ("count(DISTINCT sex)", 2),
        ("count(DISTINCT sex) FILTER (WHERE age > 3)", 2),
        ("(count(DISTINCT (sex)))", 2),
        ("count(DISTINCT age)", 100),
        ("count(DISTINCT age % 7)", 7),
        ("count(DISTINCT pay)", 501),
        ("count(DISTINCT b)", 2),
        ("count(DISTINCT age > 40)", 2),
        ("count(DISTINCT day)", 31),
        ("count(DISTINCT coalesce(sex, 'none'))", 3),
        ("count(DISTINCT CASE WHEN b THEN sex ELSE 'x' END)", 3),
        ("count(DISTINCT CASE WHEN age > 3 THEN sex END)", 2),
        ("count(DISTINCT CASE WHEN age > 3 THEN sex WHEN b THEN sex ELSE NULL END)", 2),
        ("count(DISTINCT CASE WHEN b THEN town ELSE sex END)", None),
        ("count(DISTINCT height)", None),
        ("count(DISTINCT id)", None),
        ("count(DISTINCT town)", None),
        ("count(sex)", None),
        ("count(DISTINCT sex) + 1", None),
        ("sum(DISTINCT age)", None),
    ],
)
def test_the_declared_number_of_values(world: World, written: str, most: int | None):
    [output] = plan_of(world, f"SELECT {written} FROM t").outputs
    assert output.ceiling == most


def test_only_what_is_shown_is_held_to_it(world: World):
    inner = "(SELECT sex, count(DISTINCT age) AS n FROM t GROUP BY sex) AS q"
    assert [o.ceiling for o in plan_of(world, f"SELECT sex, n FROM {inner}").outputs] == [None, 100]
    plan = plan_of(world, f"SELECT sum(n), max(n) FROM {inner}")
    assert [o.ceiling for o in plan.outputs] == [None, None]
    assert "100" not in plan.answer
    plan = plan_of(world, "SELECT count(DISTINCT b) FROM t", {"dp.intervals": "columns"})
    assert [o.ceiling for o in plan.outputs] == [2, None, None]
    [output] = plan_of(world, "SELECT count(DISTINCT b) FROM t", {"dp.clamp": "off"}).outputs
    assert output.ceiling is None


def test_one_side_of_a_union_may_hold_more(world: World):
    for other, most in (("count(DISTINCT age)", 100), ("count(*)", None)):
        plan = plan_of(world, f"SELECT count(DISTINCT b) FROM t UNION ALL SELECT {other} FROM t")
        assert plan.outputs[0].ceiling == most
