"""Arrow arrays as the Python values of ``wire.values``: of those types too whose values Arrow does not hold whole."""

from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

import pyarrow as pa

from dpproxy.wire.datetimes import Endless
from dpproxy.wire.intervals import Interval
from dpproxy.wire.times import of_ticks

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_Moment = TypeVar("_Moment", date, datetime)


def plain_values(array: Any) -> list[object]:  # noqa: ANN401 - pyarrow has no types
    """One value for each row, None for NULL.

    A time of 24:00:00 is ``times.END_OF_DAY``, an interval an ``Interval``, a moment in UTC, a UUID its text.
    Errors: ``OverflowError`` for a moment that Python has no date for.
    """
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(array)
    if pa.types.is_time64(kind):
        return [None if ticks is None else of_ticks(ticks) for ticks in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_interval(kind):
        return [None if part is None else _interval(part) for part in array.to_pylist()]
    if pa.types.is_timestamp(kind):
        epoch = _EPOCH if kind.tz is not None else _EPOCH.replace(tzinfo=None)
        ticks = array.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
        return [_moment_of(epoch, tick, _MICROSECOND, 64) for tick in ticks]
    if pa.types.is_date32(kind):
        return [_moment_of(_EPOCH.date(), day, _DAY, 32) for day in array.cast(pa.int32()).to_pylist()]
    return list(array.to_pylist())


def _moment_of(epoch: _Moment, steps: int | None, step: timedelta, bits: int) -> _Moment | Endless | None:
    """A date or moment, by its distance; the engine's last ones are infinity."""
    last = (1 << (bits - 1)) - 1
    if steps is None or steps not in (last, -last):
        return None if steps is None else epoch + steps * step
    return Endless.LATE if steps > 0 else Endless.EARLY


def _interval(part: Any) -> Interval:  # noqa: ANN401 - of pyarrow
    return Interval(part.months, part.days, part.nanoseconds // 1000)


def _lists(array: Any) -> list[object]:  # noqa: ANN401 - of pyarrow
    """Each list is a stretch of one array of values."""
    values = plain_values(array.values)
    ends = array.offsets.to_pylist()
    stretches = zip(ends, ends[1:], array.is_valid().to_pylist(), strict=False)
    return [values[start:end] if valid else None for start, end, valid in stretches]
