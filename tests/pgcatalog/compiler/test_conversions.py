import pytest

from dpproxy.values.errors import (
    InvalidText,
    NumberOutOfRange,
    UndefinedFunction,
    UndefinedSchema,
    Unsupported,
)
from tests.pgcatalog.conftest import Ask


@pytest.mark.parametrize(
    ("sql", "refusal"),
    [
        ("SELECT '42.5'::int", InvalidText),
        ("SELECT '300'::int8 + '40000'::int2", NumberOutOfRange),
        ("SELECT 'maybe'::bool", InvalidText),
        ("SELECT '1.2.3'::inet", InvalidText),
        ("SELECT 'nosuch'::regnamespace", UndefinedSchema),
        ('SELECT 65::"char"', UndefinedFunction),
        ("SELECT now()::timestamp(3)", Unsupported),
    ],
)
def test_what_does_not_convert(ask: Ask, sql: str, refusal: type[Exception]):
    with pytest.raises(refusal):
        ask(sql)


def test_every_digit_of_a_number_is_kept(ask: Ask):
    assert [
        str(value) for value in ask("SELECT 1.234567890123::numeric, 100.10::numeric, 7::numeric")[0]
    ] == [
        "1.234567890123",
        "100.10",
        "7",
    ]
