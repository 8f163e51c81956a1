import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal

import duckdb
import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.plain import constant, engine_type, is_known, read
from dpproxy.values.errors import InvalidText
from dpproxy.values.pgtypes import (
    BYTEA,
    CHAR,
    DATE,
    INT4,
    INTERVAL,
    JSON,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMPTZ,
    UUID,
    SqlType,
    array_of,
)
from dpproxy.wire.intervals import Interval
from dpproxy.wire.plain import plain_values
from dpproxy.wire.times import END_OF_DAY

ONE = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
MONEY = NUMERIC.with_precision(8, 2)


@pytest.mark.parametrize(
    ("kind", "value", "seen"),
    [
        (UUID, ONE, str(ONE)),
        (TIME, time(1, 2, 3, 500_000), time(1, 2, 3, 500_000)),
        (TIME, END_OF_DAY, END_OF_DAY),
        (INTERVAL, Interval(-14, 3, -7), Interval(-14, 3, -7)),
        (BYTEA, b"\x00\xff'", b"\x00\xff'"),
        (JSON, '{"a": "it\'s"}', '{"a": "it\'s"}'),
        (TIMESTAMPTZ, datetime(2024, 1, 2, 3, tzinfo=UTC), datetime(2024, 1, 2, 3, tzinfo=UTC)),
        (array_of(INT4), [1, None], [1, None]),
        (array_of(TEXT), ["it's", None, ""], ["it's", None, ""]),
        (array_of(INT4), [[1], [2]], [[1], [2]]),
        (array_of(INT4), [], []),
        (array_of(INTERVAL), [Interval(1)], [Interval(1)]),
        (array_of(MONEY), [Decimal("1.50")], [Decimal("1.50")]),
        (array_of(DATE), [date(2024, 2, 29)], [date(2024, 2, 29)]),
        (UUID, None, None),
    ],
)
def test_a_constant_is_its_value(kind: SqlType, value: object, seen: object):
    sql = f"SELECT {duck.text(constant(value, kind))} AS x"
    table = duckdb.connect().sql(sql).to_arrow_table()
    assert plain_values(table["x"].chunk(0)) == [seen]


def test_the_engines_names():
    assert engine_type(array_of(MONEY)) == "DECIMAL(8, 2)[]"
    assert is_known(array_of(UUID))
    assert not is_known(CHAR)


def test_a_moment_has_its_zone():
    assert read("2024-01-02 03:04:05+01", TIMESTAMPTZ) == datetime(2024, 1, 2, 2, 4, 5, tzinfo=UTC)
    with pytest.raises(ValueError, match="without a zone"):
        read("2024-01-02 03:04:05", TIMESTAMPTZ)
    with pytest.raises(ValueError, match="without a zone"):
        read("{2024-01-02}", array_of(TIMESTAMPTZ))
    with pytest.raises(InvalidText):
        read("x", UUID)
