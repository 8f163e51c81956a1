"""Constants are exact and read in one way only."""

from datetime import UTC, date, datetime
from fractions import Fraction

import pytest

from dpproxy.policy.constants import amount, literal, number
from dpproxy.policy.statements import Amount, Literal, LiteralKind
from dpproxy.sql.cursor import Cursor
from dpproxy.values.errors import InvalidText, NumberOutOfRange, SyntaxRefused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("+7", 7),
        ("1.50", Fraction(3, 2)),
        ("5.", 5),
        (".25", Fraction(1, 4)),
        ("1e3", 1000),
        ("1e-5", Fraction(1, 100_000)),
        ("0.1", Fraction(1, 10)),
        ("123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_numbers_are_exact(text: str, value: object):
    found = number(Cursor(text), "BETWEEN")
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "9" * 1001, "1e400", "1e-401", "-1e401"])
def test_numbers_beyond_every_type_are_refused_before_they_cost_memory(text: str):
    with pytest.raises(NumberOutOfRange) as caught:
        number(Cursor(text), "BETWEEN")
    assert caught.value.position == 0


def test_an_amount_carries_its_clause_and_place():
    found = amount(Cursor("  0.5"), "MAX EPSILON")
    assert found == Amount("MAX EPSILON", Fraction(1, 2))
    assert found.position == 2


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("'x'", LiteralKind.TEXT, "x"),
        ("''", LiteralKind.TEXT, ""),
        ("TRUE", LiteralKind.BOOL, True),
        ("false", LiteralKind.BOOL, False),
        ("NULL", LiteralKind.NULL, None),
        ("- 3", LiteralKind.NUMBER, -3),
        ("DATE '2020-02-29'", LiteralKind.DATE, date(2020, 2, 29)),
        (
            "TIMESTAMP '2020-02-29 10:11:12.5'",
            LiteralKind.TIMESTAMP,
            datetime.fromisoformat("2020-02-29T10:11:12.500"),
        ),
        ("TIMESTAMP '2020-02-29T10:11'", LiteralKind.TIMESTAMP, datetime.fromisoformat("2020-02-29T10:11")),
        (
            "TIMESTAMPTZ '2020-02-29 10:11:12+02'",
            LiteralKind.TIMESTAMPTZ,
            datetime(2020, 2, 29, 8, 11, 12, tzinfo=UTC),
        ),
    ],
)
def test_constants(text: str, kind: LiteralKind, value: object):
    assert literal(Cursor(text), "IN") == Literal(kind, value)


@pytest.mark.parametrize(
    "text",
    [
        "DATE '2021-02-29'",
        "DATE '20200229'",
        "DATE '2020-W01-1'",
        "DATE 'infinity'",
        "DATE '2020-01-01 10:00'",
        "TIMESTAMP '2020-01-01 10:00+02'",
        "TIMESTAMP '2020-01-01 25:00'",
        "TIMESTAMPTZ '2020-01-01 10:00'",
        "TIMESTAMPTZ '0001-01-01 00:00+12'",
    ],
)
def test_dates_are_read_in_one_way_only(text: str):
    with pytest.raises(InvalidText) as caught:
        literal(Cursor(text), "IN")
    assert "2020" not in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.position == text.index("'")


@pytest.mark.parametrize(("text", "position"), [("x", 0), ("DATE 5", 5), ("", 0), ("- 'x'", 2), ("*", 0)])
def test_what_is_no_constant_is_refused(text: str, position: int):
    with pytest.raises(SyntaxRefused) as caught:
        literal(Cursor(text), "IN")
    assert caught.value.position == position
