"""Fields of documents in DuckDB: a value or NULL, whatever a row holds."""

import duckdb
import pytest

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.documents import LONGEST_DOCUMENT, stored_rows
from dpproxy.policy.documents import field_of
from tests.empty import empty


def read(connection: duckdb.DuckDBPyConnection, name: str) -> object:
    field = field_of(name)
    assert field is not None
    rows = nodes.Select((nodes.ColumnRef(name),), stored_rows("t", (field,)))
    [[value]] = connection.execute(printing.text(rows)).fetchall()
    return value


@pytest.mark.parametrize(
    ("name", "document", "value"),
    [
        ("j ->> 'a'", '{"a": "x"}', "x"),
        ("j ->> 'a'", '{"a": null}', None),
        ("j ->> 'a'", '{"a": true}', "true"),
        ("j ->> 'a'", '{"a":', None),
        ("j ->> 'a'", "", None),
        ("j ->> 'a'", None, None),
        ("j ->> 'a'", '{"a": "x", "more": "' + "y" * LONGEST_DOCUMENT + '"}', None),
        ("j #>> '{a,b c}'", '{"a": {"b c": "x"}}', "x"),
        ("j #>> '{a,b c}'", '{"a": ["b c"]}', None),
        ("j ->> '$.a'", '{"a": "x", "$.a": "y"}', "y"),
        ("(j ->> 'a')::integer", '{"a": "-999999999"}', -999_999_999),
        ("(j ->> 'a')::integer", '{"a": 9999999999}', None),
        ("(j ->> 'a')::bigint", '{"a": 999999999999999999}', 999_999_999_999_999_999),
        ("(j ->> 'a')::bigint", '{"a": "1.0"}', None),
        ("(j ->> 'a')::numeric", '{"a": 0.1}', 0.1),
        ("(j ->> 'a')::double precision", '{"a": "-1.5E-3"}', -0.0015),
        ("(j ->> 'a')::numeric", '{"a": "NaN"}', None),
        ("(j ->> 'a')::numeric", '{"a": "1e999"}', None),
        ("(j ->> 'a')::boolean", '{"a": false}', False),
        ("(j ->> 'a')::boolean", '{"a": "yes"}', None),
    ],
)
def test_a_field_is_its_value_or_null(name: str, document: str | None, value: object):
    with empty() as connection:
        connection.execute("CREATE TEMP TABLE t AS SELECT ?::VARCHAR AS j", [document])
        assert read(connection, name) == value


def test_a_table_without_fields_is_itself():
    assert stored_rows("t", (), nodes.Bare("m")) == nodes.Table("t", nodes.Bare("m"))
