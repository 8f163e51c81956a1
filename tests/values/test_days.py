from datetime import date, datetime

import pytest

from dpproxy.values.days import EPOCH, micros, midnight

NOON = datetime(2024, 2, 29, 12)  # noqa: DTZ001 - of a type without zone


def test_a_day_begins_at_midnight():
    assert midnight(date(1970, 1, 1)) == EPOCH
    assert midnight(NOON) is NOON


@pytest.mark.parametrize(
    ("day", "count"),
    [
        (date(1970, 1, 2), 86_400_000_000),
        (date(1969, 12, 31), -86_400_000_000),
        (NOON, 1_709_208_000_000_000),
    ],
)
def test_microseconds_since_1970(day: date, count: int):
    assert micros(day) == count
