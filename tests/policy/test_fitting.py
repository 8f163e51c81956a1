"""Which constants fit which columns."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest

from dpproxy.policy.constants import literal
from dpproxy.policy.fitting import fit
from dpproxy.sql.cursor import Cursor
from dpproxy.values.errors import InvalidText, NumberOutOfRange, Refusal, TypeMismatch
from dpproxy.values.pgtypes import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    Column,
    SqlType,
)

MONEY = NUMERIC.with_precision(8, 2)


def fitted(text: str, kind: SqlType) -> object:
    return fit(literal(Cursor(text), "IN"), Column("c", kind))


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("-32768", INT2, -32768),
        ("1e3", INT4, 1000),
        ("5.0", INT8, 5),
        ("9223372036854775807", INT8, 2**63 - 1),
        ("999999.99", MONEY, Fraction(99999999, 100)),
        ("1.5e-7", NUMERIC, Fraction(15, 10**8)),
        ("0.1", FLOAT8, Fraction(1, 10)),
        ("'x'", TEXT, "x"),
        ("'x'", VARCHAR, "x"),
        ("TRUE", BOOL, True),
        ("'2020-01-31'", DATE, date(2020, 1, 31)),
        ("DATE '2020-01-31'", DATE, date(2020, 1, 31)),
        ("DATE '2020-01-31'", TIMESTAMP, datetime.fromisoformat("2020-01-31T00:00:00")),
        ("'2020-01-31 10:00'", TIMESTAMP, datetime.fromisoformat("2020-01-31T10:00:00")),
        ("TIMESTAMPTZ '2020-01-31 10:00+02'", TIMESTAMPTZ, datetime(2020, 1, 31, 8, tzinfo=UTC)),
        ("'2020-01-31 10:00+02'", TIMESTAMPTZ, datetime(2020, 1, 31, 8, tzinfo=UTC)),
        ("'2020-01-31 10:00'", TIMESTAMPTZ, datetime(2020, 1, 31, 10, tzinfo=UTC)),
        ("DATE '2020-01-31'", TIMESTAMPTZ, datetime(2020, 1, 31, tzinfo=UTC)),
        ("NULL", INT4, None),
        ("NULL", TEXT, None),
    ],
)
def test_fits(text: str, kind: SqlType, value: object):
    found = fitted(text, kind)
    assert (found, type(found)) == (value, type(value))


def test_moments_without_a_zone_are_read_by_a_clock():
    def clock(shown: datetime) -> datetime:
        return shown - timedelta(hours=2)

    column, expected = Column("c", TIMESTAMPTZ), datetime(2020, 1, 30, 22, tzinfo=UTC)
    for text in ("'2020-01-31'", "DATE '2020-01-31'", "TIMESTAMP '2020-01-31'", "'2020-01-30 22:00Z'"):
        assert fit(literal(Cursor(text), "IN"), column, clock) == expected
    with pytest.raises(NumberOutOfRange):
        fit(literal(Cursor("'0001-01-01'"), "IN"), column, clock)


@pytest.mark.parametrize(
    ("text", "kind", "error"),
    [
        ("'5'", INT4, TypeMismatch),
        ("TRUE", INT4, TypeMismatch),
        ("1.5", INT4, TypeMismatch),
        ("1", BOOL, TypeMismatch),
        ("1", TEXT, TypeMismatch),
        ("1", DATE, TypeMismatch),
        ("TIMESTAMP '2020-01-31 10:00'", DATE, TypeMismatch),
        ("TIMESTAMPTZ '2020-01-31 10:00Z'", TIMESTAMP, TypeMismatch),
        ("1", TIMESTAMPTZ, TypeMismatch),
        ("'soon'", TIMESTAMPTZ, InvalidText),
        ("1.234", MONEY, TypeMismatch),
        ("NULL", BYTEA, TypeMismatch),
        ("'x'", BYTEA, TypeMismatch),
        ("32768", INT2, NumberOutOfRange),
        ("-2147483649", INT4, NumberOutOfRange),
        ("9223372036854775808", INT8, NumberOutOfRange),
        ("1000000", MONEY, NumberOutOfRange),
        ("1e309", FLOAT8, NumberOutOfRange),
        ("-1e39", FLOAT4, NumberOutOfRange),
        ("'31.1.2020'", DATE, InvalidText),
    ],
)
def test_does_not_fit(text: str, kind: SqlType, error: type[Refusal]):
    with pytest.raises(error) as caught:
        fitted("  " + text, kind)
    assert caught.value.position in {2, 2 + text.find("'")}


def test_the_message_names_the_column_and_what_to_write_and_not_the_value():
    with pytest.raises(TypeMismatch) as caught:
        fitted("'Smith'", INT4)
    assert caught.value.message == 'column "c" is of type int4, the constant is a text'
    assert caught.value.hint == "Write a number."
