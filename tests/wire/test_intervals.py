from datetime import timedelta

import pytest

from dpproxy.values.errors import InvalidText
from dpproxy.values.pgtypes import INTERVAL
from dpproxy.wire.intervals import Interval, of, read_binary, read_text, write_binary, write_text
from dpproxy.wire.values import decode


def test_parts_are_kept_apart():
    value = read_text(b"1 year 2 mons -3 days 04:05:06.7")
    assert value == Interval(14, -3, 14_706_700_000)
    assert value + -value == Interval()
    assert read_binary(write_binary(value)) == value


def test_each_style():
    value = Interval(14, 3, -1_500_000)
    assert write_text(value) == b"1 year 2 mons 3 days -00:00:01.5"
    assert write_text(value, "iso_8601") == b"P1Y2M3DT-1.5S"
    assert write_text(value, "sql_standard") == b"+1-2 +3 -0:00:01.5"
    assert write_text(value, "postgres_verbose") == b"@ 1 year 2 mons 3 days -1.5 secs"


def test_a_python_difference():
    assert of(timedelta(days=-1, seconds=2)) == Interval(0, -1, 2_000_000)
    with pytest.raises(ValueError, match=r"^$"):
        of("1 day")


@pytest.mark.parametrize("data", [b"", b"abc", b"1 dog", b"1 day 2 days", b"P", "1 día".encode()])
def test_what_is_none(data: bytes):
    with pytest.raises(InvalidText, match="type interval"):
        decode(INTERVAL, data, 0)


def test_what_is_too_large():
    with pytest.raises(OverflowError):
        write_binary(Interval(2**31))
