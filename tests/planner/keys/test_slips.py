"""Constants that are no declared values."""

import pytest

from tests.golden.world import World, build, plan_of

HEADER = (
    "CREATE TABLE visits (id INTEGER, ward VARCHAR, city VARCHAR, cost INTEGER)",
    "ALTER TABLE visits SET PRIVACY KEY (id)",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('north', 'south')",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 99",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


@pytest.mark.parametrize(
    ("where", "is_told"),
    [
        ("ward = 'ER'", True),
        ("'ER' = v.ward", True),
        ("ward <> 'North' OR cost > 5", True),
        ("ward IN ('north', 'est', 'west')", True),
        ("ward = 'ER' AND NOT ward = 'ER'", True),
        ("ward = 'north'", False),
        ("cost = 700", False),
        ("ward IS NULL", False),
        ("ward = upper('north')", False),
    ],
)
def test_a_notice_names_what_is_not_declared(world: World, where: str, is_told: bool):  # noqa: FBT001
    plan = plan_of(world, f"SELECT count(*) FROM visits AS v WHERE {where}")
    told = 'column "ward" is compared with a text that is none of its declared values'
    assert [n.message for n in plan.notices] == [told] * is_told
    assert {n.detail for n in plan.notices} <= {"Declared are 'north', 'south'."}


def test_of_many_values_some_are_listed():
    listed = ", ".join(f"'w{i}'" for i in range(12))
    world = build((*HEADER[:2], f"ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ({listed})"))
    [notice] = plan_of(world, "SELECT count(*) FROM visits WHERE ward = 'ER'").notices
    assert notice.detail is not None
    assert notice.detail.endswith("'w9' and 2 more.")
