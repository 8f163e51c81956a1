"""The functions that SQLite is given: by the standard library's calendar, and at the ends of every type."""

import math
import sqlite3
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.backends.sqlite.functions import civil, days_of, held, register

Asked = sqlite3.Connection
DAYS = st.dates(min_value=date(1, 1, 1), max_value=date(9999, 12, 31))


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    connection = sqlite3.connect(":memory:")
    register(connection)
    yield connection
    connection.close()


def value(asked: Asked, sql: str, *given: object) -> Any:  # noqa: ANN401 - of any type
    return asked.execute(f"SELECT {sql}", given).fetchone()[0]


@given(DAYS)
def test_the_calendar_is_the_proleptic_gregorian_one(day: date):
    number = (day - date(1970, 1, 1)).days
    assert days_of(day.year, day.month, day.day) == number
    assert civil(number) == (day.year, day.month, day.day)


@given(DAYS)
def test_fields_and_starts_of_a_day_are_those_of_the_standard_library(day: date):
    with sqlite3.connect(":memory:") as connection:
        register(connection)
        micros = (day - date(1970, 1, 1)).days * 86_400_000_000 + 3_723_000_001
        wanted = {
            "year": day.year, "quarter": (day.month + 2) // 3, "month": day.month, "day": day.day,
            "week": day.isocalendar()[1], "doy": day.timetuple().tm_yday, "dow": day.isoweekday() % 7,
            "isodow": day.isoweekday(), "hour": 1, "minute": 2,
        }  # fmt: skip
        for field, number in wanted.items():
            assert value(connection, "dp_part(?, ?)", field, micros) == number, field
        monday = day - timedelta(days=day.weekday()) if day > date(1, 1, 7) else None
        starts = {
            "year": day.replace(month=1, day=1),
            "month": day.replace(day=1),
            "week": monday,
            "day": day,
        }
        for unit, start in starts.items():
            if start is not None:
                days = (start - date(1970, 1, 1)).days
                assert value(connection, "dp_cut(?, ?)", unit, micros) == days * 86_400_000_000, unit
    connection.close()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1970-01-02", 86_400_000_000),
        ("1970-01-01 00:00:01.5", 1_500_000),
        ("1970-01-01T01:02", 3_720_000_000),
        ("2023-02-29", None),
        ("2024-02-29", 1_709_164_800_000_000),
        ("now", None),
        ("2024-01-01 24:00:00", None),
        ("2024-01-01 10:00:00+01", None),
        ("0000-01-01", None),
        ("", None),
    ],
)
def test_a_text_is_a_moment_or_nothing(asked: Asked, text: str, wanted: int | None):
    assert value(asked, "dp_moment(CAST(? AS BLOB))", text) == wanted


def test_texts_that_are_none_are_null(asked: Asked):
    assert value(asked, "dp_text(CAST(x'ff41' AS BLOB))") is None
    assert value(asked, "dp_text(CAST(x'610062' AS BLOB))") is None
    assert value(asked, "dp_text(CAST('é😀' AS BLOB))") == "é😀"


@pytest.mark.parametrize(
    ("number", "wanted"),
    [(0.25, 25), (-0.05, -5), (1.005, 101), (7, 700), (999999.99, 99999999), (1e6, None), (1e300, None),
     (math.inf, None), (2**63 - 1, None), (5e-324, 0)],
)  # fmt: skip
def test_a_number_is_a_decimal_of_its_digits(asked: Asked, number: float, wanted: int | None):
    assert value(asked, "dp_digits(?, 8, 2)", number) == wanted


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_sums_are_exact_in_any_number_of_digits(numbers: list[int]):
    with sqlite3.connect(":memory:") as connection:
        register(connection)
        connection.execute("CREATE TABLE t (x INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in numbers])
        for sql in ("dp_total(sum(x >> 32), sum(x & 4294967295))", "dp_sum(x)"):
            assert value(connection, f"{sql} FROM t") == held(sum(numbers))
        assert value(connection, "dp_sum(DISTINCT x) FROM t") == held(sum(set(numbers)))
        assert value(connection, "dp_sum(x) FROM t WHERE FALSE") is None
    connection.close()


@given(st.integers(-(2**127), 2**127), st.integers(-(2**127), 2**127))
def test_whole_numbers_of_any_size(a: int, b: int):
    with sqlite3.connect(":memory:") as connection:
        register(connection)
        given = held(a), held(b)
        for sign, wanted in (("+", a + b), ("-", a - b), ("*", a * b), ("?", (a > b) - (a < b))):
            assert value(connection, "dp_exact(?, ?, ?)", sign, *given) == held(wanted)
        if b:
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            assert value(connection, "dp_exact('//', ?, ?)", *given) == held(quotient)
            assert value(connection, "dp_exact('%', ?, ?)", *given) == held(a - b * quotient)
    connection.close()
    assert held(a) == held(int(held(a)))


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [("a%b_d%", "axxbcdzz", 1), ("%b", "ab", 1), ("", "", 1), ("a_", "a", 0), ("%a.%", "xa.y", 1), ("%a.%", "xab", 0),
     ("a%a", "a", 0), ("a%a", "aa", 1), ("%%", "", 1), ("_%_", "x", 0), ("%_", "\n", 1), ("a\\%", "a\\b", 1)],
)  # fmt: skip
def test_patterns(asked: Asked, pattern: str, text: str, wanted: int):
    assert value(asked, "dp_like(?, ?)", pattern, text) == wanted


def test_a_pattern_of_many_stars_takes_no_second_look(asked: Asked):
    """Tried at every place, this would take longer than anybody waits."""
    assert value(asked, "dp_like(?, ?)", "%a" * 40 + "%b", "a" * 3000) == 0


def test_rounding_at_the_edges(asked: Asked):
    for number, wanted in (
        (0.49999999999999994, 0),
        (2.5, 3),
        (-2.5, -3),
        (4503599627370497.5, 4503599627370498),
    ):
        assert value(asked, "dp_round(?, 0)", number) == wanted
    assert value(asked, "dp_even(2.5)") == 2
    assert value(asked, "dp_round(?, 0)", math.inf) == math.inf


def test_nothing_raises_where_it_has_no_value(asked: Asked):
    assert value(asked, "dp_ln(0.0)") == -math.inf
    assert value(asked, "dp_exp(1000.0)") == math.inf
    assert value(asked, "dp_power(1e300, 2.0)") == math.inf
    assert value(asked, "dp_moved(9000000000000000000, 0, 999999999, 0)") is None
    assert value(asked, "dp_exact('//', 1, 0)") is None


def test_the_hash_follows_from_the_secret_and_the_row_alone(asked: Asked):
    first = value(asked, "dp_hash('00', 1, NULL, 'a', 0.0)")
    assert first == value(asked, "dp_hash('00', 1, NULL, 'a', -0.0)")
    others = {
        value(asked, sql)
        for sql in ("dp_hash('01', 1, NULL, 'a', 0.0)", "dp_hash('00', 1, 'NULL', 'a', 0.0)")
    }
    assert len(others | {first}) == 3
