from datetime import UTC, datetime, timedelta

import pytest

from dpproxy.wire.zones import zone

NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("UTC", 0), ("", 0), ("europe/berlin", 2), ("Asia/Kolkata", 5.5), ("3", 3), ("-3.5", -3.5), ("UTC+3", -3),
        ("<+03>-3", 3), ("+05:30", -5.5), ("EST5EDT", -4),
    ],
)  # fmt: skip
def test_offsets(name: str, hours: float):
    assert NOON.astimezone(zone(name)).utcoffset() == timedelta(hours=hours)


@pytest.mark.parametrize("name", ["Nowhere/Town", "99", "UTC+99", "../etc/passwd", "UTC+3:99"])
def test_names_that_are_none(name: str):
    with pytest.raises(ValueError, match="the name of a time zone"):
        zone(name)
