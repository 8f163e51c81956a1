from datetime import UTC, datetime, timedelta

import pytest

from dpproxy.wire.zones import zone, zone_name

NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("UTC", 0), ("", 0), ("europe/berlin", 2), ("Asia/Kolkata", 5.5), ("3", 3), ("-3.5", -3.5), ("UTC+3", -3),
        ("<+03>-3", 3), ("+05:30", -5.5), ("EST5EDT", -4), ("interval '05:30'", 5.5),
        ("<+05:30>-05:30", 5.5),
    ],
)  # fmt: skip
def test_offsets(name: str, hours: float):
    assert NOON.astimezone(zone(name)).utcoffset() == timedelta(hours=hours)


@pytest.mark.parametrize(
    "name", ["Nowhere/Town", "99", "UTC+99", "../etc/passwd", "UTC+3:99", "interval 'x'", "interval '90:00'"]
)
def test_names_that_are_none(name: str):
    with pytest.raises(ValueError, match="the name of a time zone"):
        zone(name)


@pytest.mark.parametrize(
    ("name", "kept"), [("5", "<+05>-05"), ("interval '-1:30'", "<-01:30>+01:30"), ("utc", "UTC")]
)
def test_offsets_are_kept_in_the_notation_of_posix(name: str, kept: str):
    assert zone_name(name) == kept
    assert zone(kept) == zone(name)


def test_an_interval_of_days_is_no_zone():
    with pytest.raises(ValueError, match="without months and days"):
        zone("interval '1 day'")
