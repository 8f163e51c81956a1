"""Names and texts, as the parser of a server reads them."""

from datetime import datetime

import duckdb
import pytest

from dpproxy.backends.spark.server import Spark
from dpproxy.backends.spark.texts import filled, folded, literal, quoted
from dpproxy.values.errors import Unsupported

HOSTILE = [
    "it's",
    'a"b',
    "a\\b",
    "\\u0041",
    "${spark.x}",
    "$1",
    ":a ?",
    "/* a */ -- b",
    "`",
    "\n\t\x01",
    "😀é",
    "{x}",
    "",
]


@pytest.mark.parametrize("name", ["", "a$b", "a\\b", "a\nb"])
def test_a_name_that_a_server_could_read_otherwise_is_refused(name: str):
    with pytest.raises(Unsupported):
        quoted(name)


def test_a_name_stands_between_backticks():
    assert quoted("a`b c") == "`a``b c`"


def test_nothing_in_a_text_is_read_by_a_parser():
    for text in HOSTILE:
        assert not set(literal(text)[1:-1]) & set("'`\"$?{}*\n")


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_a_text_with_what_is_no_character_is_refused(text: str):
    with pytest.raises(Unsupported):
        literal(text)


def test_values_stand_where_their_parameters_were():
    moment = datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001 - as it is in the data
    values = [None, 1.5, "it's $1", moment, float("nan")]
    assert filled("f($1, $2, $3, $4, $5)", values) == (
        "f(NULL, '1.5', 'it\\u0027s \\u00241', '2020-01-02 03:04:05', 'nan')"
    )


@pytest.mark.external
def test_texts_come_back(spark: Spark):
    listed = ", ".join(f"{literal(text)} AS c{n}" for n, text in enumerate(HOSTILE))
    [row] = spark._session().spark.sql(f"SELECT {listed}").toArrow().to_pylist()
    assert list(row.values()) == HOSTILE


@pytest.mark.external
@pytest.mark.parametrize("name", ["lower", "upper"])
def test_every_letter_changes_as_in_duckdb(spark: Spark, name: str):
    letters = "".join(chr(i) for i in range(1, 0x20000) if not 0xD800 <= i < 0xE000)
    parts = [letters[i : i + 8000] for i in range(0, len(letters), 8000)]
    listed = ", ".join(f"{folded(literal(part), name)} AS c{n}" for n, part in enumerate(parts))
    [row] = spark._session().spark.sql(f"SELECT {listed}").toArrow().to_pylist()
    [wanted] = duckdb.connect().execute(f"SELECT {name}(?)", [letters]).fetchall()
    assert "".join(row.values()) == wanted[0]
