"""Constants that are no declared values."""

import pytest

from tests.golden.world import World, build, plan_of

HEADER = (
    "CREATE TABLE visits (id INTEGER, ward TEXT, city VARCHAR, cost INTEGER, day DATE, ts TIMESTAMPTZ, fare INTEGER)",
    "ALTER TABLE visits SET PRIVACY KEY (id)",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('north', 'south')",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 99",
    "ALTER TABLE visits ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '2024-01-01' AND '2024-12-31'",
    "CREATE TABLE cities (city VARCHAR)",
    "INSERT INTO cities VALUES ('Oslo'), ('Rome')",
    "ALTER TABLE cities SET PRIVACY PUBLIC",
    "ALTER TABLE visits ALTER COLUMN city SET PRIVACY DOMAIN REFERENCES cities (city)",
    "CREATE TABLE fares (fare INTEGER)",
    "INSERT INTO fares VALUES (10), (20), (50)",
    "ALTER TABLE fares SET PRIVACY PUBLIC",
    "ALTER TABLE visits ALTER COLUMN fare SET PRIVACY DOMAIN REFERENCES fares (fare)",
    (
        "ALTER TABLE visits ALTER COLUMN ts SET PRIVACY DOMAIN BETWEEN TIMESTAMPTZ '2024-01-01 00:00:00+00' "
        "AND TIMESTAMPTZ '2024-12-31 00:00:00+00'"
    ),
)
WARD = 'column "ward" is compared with a text that is none of its declared values'
CITY = 'column "city" is compared with a text that is none of its declared values'
COST = 'column "cost" is compared with a value outside of its declared ones'
DAY = 'column "day" is compared with a value outside of its declared ones'
TS = 'column "ts" is compared with a value outside of its declared ones'
FARE = 'column "fare" is compared with a value that is none of its declared values'
BEYOND = 'column "fare" is compared with a value outside of its declared ones'
DETAILS = {
    TS: "Declared are TIMESTAMPTZ '2024-01-01 00:00:00+00:00' to TIMESTAMPTZ '2024-12-31 00:00:00+00:00'.",
    FARE: "Declared are 10, 20, 50.",
    BEYOND: "Declared are 10 to 50.",
    WARD: "Declared are 'north', 'south'.",
    CITY: "Declared are 'Oslo', 'Rome'.",
    COST: "Declared are 0 to 99.",
    DAY: "Declared are DATE '2024-01-01' to DATE '2024-12-31'.",
}


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("ward = 'ER'", WARD),
        ("'ER' = v.ward", WARD),
        ("ward <> 'North' OR cost > 5", WARD),
        ("ward IN ('north', 'est', 'west')", WARD),
        ("ward = 'ER' AND NOT ward = 'ER'", WARD),
        ("ward = 'north'", None),
        ("ward IS NULL", None),
        ("ward = upper('north')", None),
        ("city = 'Rom'", CITY),
        ("city IN ('Oslo', 'Rome')", None),
        ("cost = 700", COST),
        ("cost = -1", COST),
        ("cost = 99", None),
        ("cost > 100", COST),
        ("cost < 100", None),
        ("-1 >= cost", COST),
        ("-1 <= cost", None),
        ("cost BETWEEN 100 AND 200", COST),
        ("cost BETWEEN 50 AND 200", None),
        ("day = '2023-05-05'", DAY),
        ("day > DATE '2025-01-01'", DAY),
        ("day < DATE '2025-01-01'", None),
        ("day >= timestamp '2025-01-01 10:00:00'", DAY),
        ("ts >= '2025-01-01 10:00:00+00'", TS),
        ("ts >= '2024-12-31 01:00:00+02'", None),
        ("ts >= '2025-01-02'", TS),
        ("ts >= '2024-12-31 12:00:00'", None),
        ("ts < '2024-01-05'", None),
        ("ts < '2023-12-30'", TS),
        ("fare = 30", FARE),
        ("fare = 20", None),
        ("fare > 60", BEYOND),
        ("fare >= 30", None),
        ("fare < 5", BEYOND),
        ("fare BETWEEN 0 AND 15", None),
    ],
)
def test_a_notice_names_what_is_not_declared(world: World, where: str, told: str | None):
    plan = plan_of(world, f"SELECT count(*) FROM visits AS v WHERE {where}")
    assert [(n.message, n.detail) for n in plan.notices] == ([(told, DETAILS[told])] if told else [])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FILTER (WHERE ward = 'ER') FROM visits",
        "SELECT sum(CASE WHEN ward = 'ER' THEN cost END) FROM visits",
        "SELECT sum(CASE ward WHEN 'ER' THEN cost END) FROM visits",
        "SELECT ward, count(*) FROM visits GROUP BY ward HAVING ward = 'ER'",
        "SELECT count(*) FROM visits v JOIN cities c ON v.city = c.city AND v.ward = 'ER'",
    ],
)
def test_wherever_it_is_compared(world: World, sql: str):
    assert [n.message for n in plan_of(world, sql).notices] == [WARD]


def test_of_many_values_some_are_listed():
    listed = ", ".join(f"'w{i}'" for i in range(12))
    world = build((*HEADER[:2], f"ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ({listed})"))
    [notice] = plan_of(world, "SELECT count(*) FROM visits WHERE ward = 'ER'").notices
    assert notice.detail is not None
    assert notice.detail.endswith("'w9' and 2 more.")
