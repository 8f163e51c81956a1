"""Where the tables are, and what becomes of each type of theirs."""

import re

import pytest

from dpproxy.backends.servers.dialect import ValueKind
from dpproxy.backends.spark.schema import column_type, columns_of, place, readers, types_asked
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import INT2, INT4, INT8, NUMERIC


def test_the_url_says_where_the_tables_are():
    found = place(
        "sc://cluster:15002/;use_ssl=true;folder=s3a://lake/my%20data/;token=abc;tables=people, visits",
        "main",
    )
    assert (found.folder, found.tables) == ("s3a://lake/my data", ("people", "visits"))
    assert found.connection == "sc://cluster:15002/;use_ssl=true;token=abc"
    assert "abc" not in repr(found)


def test_prepared_tables_are_outside_of_the_data():
    found = place("sc://cluster;folder=/lake/data;tables=t;prepared=/lake/kept%20rows/", "main")
    assert (found.prepared, found.connection) == ("/lake/kept rows", "sc://cluster/")
    assert place("sc://cluster;folder=/lake;tables=t", "main").prepared == ""
    for inside in (
        *("/lake/data", "/lake/data/kept", "/lake/x/../data/kept", "//lake/data/kept", "///lake/./data/kept"),
        *(
            "file:/lake/data/kept",
            "file:///lake//data/kept",
            "s3a://bucket/lake/data/kept",
            "hdfs:/lake/data/x",
        ),
        *("lake/kept", "/lake/d*/kept", "/../lake/data/kept"),
    ):
        with pytest.raises(
            StartupError, match=r"data\.main\.url: expected a folder of prepared tables outside"
        ):
            place(f"sc://cluster;folder=/lake/data;tables=t;prepared={inside}", "main")


def test_prepared_tables_of_another_bucket_are_outside():
    for data, kept, is_taken in (
        ("s3a://bucket/data", "s3a://other/data/kept", True),
        ("s3a://bucket/data", "s3a://bucket/kept", True),
        ("s3a://bucket/data", "s3a://bucket/x/../data/kept", False),
        ("s3a://bucket", "s3://bucket/kept", False),
        ("hdfs://name:8020/data", "hdfs://NAME/data/kept", False),
        ("lake/data", "/lake/kept", False),
    ):
        url = f"sc://cluster;folder={data};tables=t;prepared={kept}"
        if is_taken:
            assert place(url, "main").prepared == kept
        else:
            with pytest.raises(StartupError):
                place(url, "main")


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
    types = {"a": "int", "b": "timestamp", "c": "string collate UNICODE_CI", "d": "array<int>"}
    types |= {"e": "varchar(5)", "f": "decimal(12,2)", "g": "binary"}
    assert [c.name for c in columns_of(types)] == ["a", "b", "f"]
    assert column_type("decimal(12,2)") == NUMERIC.with_precision(12, 2)


def test_an_unsigned_number_is_of_a_type_that_holds_it():
    kinds = ["unsigned tinyint", "unsigned smallint", "unsigned int", "unsigned bigint"]
    assert [column_type(kind) for kind in kinds] == [INT2, INT4, INT8, NUMERIC.with_precision(20, 0)]


def test_types_are_asked_of_names_as_they_are():
    where = place("sc://h/;folder=/lake;tables=t", "main")
    asked = types_asked("v", ["a", "b`c"], where, "t")
    assert asked.startswith("SELECT typeof(`a`) AS `a`, typeof(`b``c`) AS `b``c` FROM ")


def test_names_that_differ_by_case_only_are_refused():
    where = place("sc://h/;folder=/lake;tables=t", "main")
    with pytest.raises(StartupError, match="differ by the case of letters only"):
        types_asked("v", ["a", "A"], where, "t")


def test_a_float_is_read_as_the_double_it_is():
    columns = columns_of({"a": "float", "b": "tinyint", "c": "decimal(9,2)"})
    found = readers(columns)
    assert [(v.kind, v.wrap) for v in found.values()] == [
        (ValueKind.DOUBLE, "{}::DOUBLE"), (ValueKind.WHOLE, "{}::BIGINT"), (ValueKind.DECIMAL, "{}"),
    ]  # fmt: skip
    assert found["c"].scale == 2
