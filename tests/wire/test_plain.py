from datetime import UTC, datetime, time

import pyarrow as pa

from dpproxy.wire.intervals import Interval
from dpproxy.wire.plain import plain_values
from dpproxy.wire.times import DAY, END_OF_DAY


def test_what_arrow_does_not_hold_whole():
    assert plain_values(pa.array([0, DAY, None], pa.time64("us"))) == [time(0), END_OF_DAY, None]
    parts = pa.array([pa.MonthDayNano([14, -3, -1_500]), None])
    assert plain_values(parts) == [Interval(14, -3, -2), None]
    moment = datetime(2020, 1, 2, tzinfo=UTC)
    assert plain_values(pa.array([moment, None], pa.timestamp("us", "Europe/Berlin"))) == [moment, None]


def test_lists():
    nested = pa.array([[[0], None], None, [], [[DAY]]], pa.list_(pa.list_(pa.time64("us"))))
    assert plain_values(nested) == [[[time(0)], None], None, [], [[END_OF_DAY]]]
    assert plain_values(nested.slice(3)) == [[[END_OF_DAY]]]


def test_the_rest():
    assert plain_values(pa.array([1, None])) == [1, None]
