from datetime import time, timedelta, timezone

import pytest

from dpproxy.values.errors import InvalidText
from dpproxy.values.pgtypes import TIMETZ
from dpproxy.wire import times
from dpproxy.wire.values import decode


def test_the_end_of_a_day():
    assert (
        times.read_text(b"24:00:00")
        == times.END_OF_DAY
        == times.read_binary((86_400_000_000).to_bytes(8, "big"))
    )
    assert times.write_text(times.END_OF_DAY) == b"24:00:00"
    with pytest.raises(ValueError, match=r"^$"):
        times.of_ticks(times.DAY + 1)


def test_a_zone():
    value = times.read_tz_text(b"12:00:01.5-03:30")
    assert value == time(12, 0, 1, 500_000, timezone(timedelta(hours=-3, minutes=-30)))
    assert times.write_tz_text(value) == b"12:00:01.5-03:30"
    assert times.read_tz_binary(times.write_tz_binary(value)) == value
    assert times.offset_text(3_661) == b"+01:01:01"


@pytest.mark.parametrize("data", [b"", b"1", b"12:60", b"25:00:00", b"12:00:00+16"])
def test_what_is_none(data: bytes):
    with pytest.raises(InvalidText, match="type time with time zone"):
        decode(TIMETZ, data, 0)


def test_other_values_are_none():
    with pytest.raises(ValueError, match=r"^$"):
        times.to_ticks(12)
