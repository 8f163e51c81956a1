"""Expressions over declared values, on an engine without data."""

from datetime import date

import duckdb
import pytest

from dpproxy.analysis import image
from dpproxy.analysis.keys import Days
from dpproxy.analysis.typed import null, number
from dpproxy.values.errors import Internal
from dpproxy.values.pgtypes import DATE, TEXT


def test_values_come_in_order_of_first_appearance():
    texts = image.input_of(null(TEXT), ("b", "a", None, "b"))
    assert image.image("b0", (texts,)) == ("b", "a", None)


def test_combinations_walk_the_last_column_first():
    letters, numbers = image.input_of(null(TEXT), ("x", "y")), image.input_of(number(1), range(2))  # type: ignore[arg-type]
    assert image.image("b0 || CASE WHEN b1 = 0 THEN 'a' ELSE 'b' END", (letters, numbers)) == (
        "xa",
        "xb",
        "ya",
        "yb",
    )


def test_days_are_counted_by_the_engine():
    days = image.input_of(null(DATE), Days(date(2000, 2, 28), 3))
    assert image.image("b0", (days,)) == (date(2000, 2, 28), date(2000, 2, 29), date(2000, 3, 1))


def test_an_error_of_the_engine_is_not_told():
    with pytest.raises(Internal) as refused:
        image.image("CAST('secret' AS INTEGER)", ())
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM read_csv('/etc/passwd')", "SET threads = 2", "ATTACH '/tmp/x.db'"]
)
def test_the_engine_reaches_nothing(sql: str):
    with pytest.raises(duckdb.Error):
        image._engine().cursor().execute(sql).fetchall()
