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
    ("where", "told"),
    [
        ("ward = 'ER'", ["ER"]),
        ("'ER' = v.ward", ["ER"]),
        ("ward <> 'North' OR cost > 5", ["North"]),
        ("ward IN ('north', 'est', 'west')", ["est", "west"]),
        ("ward = 'ER' AND NOT ward = 'ER'", ["ER"]),
        ("ward = 'north'", []),
        ("cost = 700", []),
        ("ward IS NULL", []),
        ("ward = upper('north')", []),
    ],
)
def test_a_notice_names_what_is_not_declared(world: World, where: str, told: list[str]):
    plan = plan_of(world, f"SELECT count(*) FROM visits AS v WHERE {where}")
    assert [n.message for n in plan.notices] == [f"column \"ward\" has no declared value '{t}'" for t in told]
    assert {n.detail for n in plan.notices} <= {"Declared are 'north', 'south'."}


def test_of_many_values_some_are_listed():
    listed = ", ".join(f"'w{i}'" for i in range(12))
    world = build((*HEADER[:2], f"ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ({listed})"))
    [notice] = plan_of(world, "SELECT count(*) FROM visits WHERE ward = 'ER'").notices
    assert notice.detail is not None
    assert notice.detail.endswith("'w9' and 2 more.")
