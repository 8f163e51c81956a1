"""Where the tables are, and what becomes of each type of theirs."""

import re
from dataclasses import dataclass

import pytest

from dpproxy.backends.dialect import Kind
from dpproxy.backends.spark_schema import column_type, columns_of, place, readers
from dpproxy.errors import StartupError
from dpproxy.pgtypes import NUMERIC


@dataclass
class Field:
    name: str
    type: str

    @property
    def dataType(self) -> "Field":  # noqa: N802 - as the package calls it
        return self

    def simpleString(self) -> str:  # noqa: N802
        return self.type


@dataclass
class Struct:
    fields: list[Field]


def test_the_url_says_where_the_tables_are():
    found = place(
        "sc://cluster:15002/;use_ssl=true;folder=s3a://lake/my%20data/;token=abc;tables=people, visits",
        "main",
    )
    assert (found.folder, found.tables) == ("s3a://lake/my data", ("people", "visits"))
    assert found.connection == "sc://cluster:15002/;use_ssl=true;token=abc"
    assert "abc" not in repr(found)


def test_a_url_without_a_slash_is_read():
    assert place("sc://cluster;folder=/lake;tables=t", "main").connection == "sc://cluster/"


@pytest.mark.parametrize(
    "url",
    [
        "sc://h",
        "sc://h/;folder=/x",
        "sc://h/;tables=t",
        "sc://h/;folder=/x;tables=a,",
        "sc://h/;folder=/x;tables=../t",
    ],
)
def test_what_is_missing_is_refused_without_the_url(url: str):
    with pytest.raises(StartupError, match=re.escape("data.main.url: expected sc://host:port/;folder=")):
        place(url, "main")


def test_types_that_are_not_answered_do_not_exist():
    fields = [
        Field("a", "int"),
        Field("b", "timestamp"),
        Field("c", "string collate UNICODE_CI"),
        Field("d", "array<int>"),
    ]
    fields += [Field("e", "varchar(5)"), Field("f", "decimal(12,2)"), Field("g", "binary")]
    assert [c.name for c in columns_of(Struct(fields), "main", "t")] == ["a", "f"]
    assert column_type("decimal(12,2)") == NUMERIC.with_precision(12, 2)


def test_names_that_differ_by_case_only_are_refused():
    with pytest.raises(StartupError, match="differ by the case of letters only"):
        columns_of(Struct([Field("a", "int"), Field("A", "int")]), "main", "t")


def test_a_float_is_read_as_the_double_it_is():
    columns = columns_of(
        Struct([Field("a", "float"), Field("b", "tinyint"), Field("c", "decimal(9,2)")]), "main", "t"
    )
    found = readers(columns)
    assert [(v.kind, v.wrap) for v in found.values()] == [
        (Kind.DOUBLE, "CAST({} AS DOUBLE)"), (Kind.WHOLE, "CAST({} AS BIGINT)"), (Kind.DECIMAL, "{}"),
    ]  # fmt: skip
    assert found["c"].scale == 2
