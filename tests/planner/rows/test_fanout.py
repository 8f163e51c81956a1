"""How often one protected row can occur beside public ones: as often as the public tables say."""

import pytest

from tests.golden.world import World, plan_of
from tests.planner.clinic import rows_of_unit


@pytest.mark.parametrize(
    ("join", "times"),
    [
        ("JOIN wards w ON w.ward = p.city", 2),  # B stands twice
        ("JOIN wards w ON w.building = p.city", 2),  # north stands twice
        ("JOIN wards w ON w.beds = p.age", 1),
        ("JOIN wards w ON w.ward = p.city AND w.building = 'north'", 1),
        ("JOIN wards w ON w.ward = p.city AND w.beds > p.age", 2),
        ("JOIN wards w ON w.beds > p.age", 3),
        ("CROSS JOIN wards w", 3),
        ("LEFT JOIN wards w ON w.ward = p.city", 2),
        ("JOIN wards w ON lower(w.ward) = p.city", 2),
        ("JOIN wards w ON w.beds / 10 = p.age", 1),
        ("JOIN wards w ON w.beds / 100 = p.age", 3),
        ("JOIN wards w ON w.ward = p.city JOIN wards x ON x.building = w.building", 4),
        ("JOIN wards w ON w.ward = p.city JOIN wards x ON x.beds = w.beds", 2),
        ("JOIN wards w ON w.beds = w.beds", 3),
        ("JOIN wards w ON w.ward = p.city OR w.building = p.city", 3),
        ("JOIN (SELECT ward, max(beds) AS b FROM wards GROUP BY ward) w ON w.ward = p.city", 1),
    ],
)
def test_rows_grow_as_often_as_public_rows_share_a_value(clinic: World, join: str, times: int):
    assert rows_of_unit(plan_of(clinic, f"SELECT count(*) FROM people p {join}")) == times
