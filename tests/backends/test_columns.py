import duckdb
import pyarrow as pa
import pytest

from dpproxy.backends.columns import engine_type, key_type
from dpproxy.values.pgtypes import BOOL, DATE, INT2, INT4, INT8, NUMERIC, TEXT, TIMESTAMP, VARCHAR, SqlType


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (BOOL, pa.bool_()),
        (TEXT, pa.string()),
        (VARCHAR, pa.string()),
        (DATE, pa.date32()),
        (TIMESTAMP, pa.timestamp("us")),
        (NUMERIC, pa.decimal128(38, 0)),
        (INT2, pa.int64()),
        (INT4, pa.int64()),
        (INT8, pa.int64()),
    ],
)
def test_a_key_has_the_type_it_is_held_in(kind: SqlType, expected: pa.DataType):
    assert key_type(kind) == expected


@pytest.mark.parametrize("kind", [BOOL, TEXT, DATE, TIMESTAMP, NUMERIC, INT8])
def test_the_engine_has_the_type_under_its_name(kind: SqlType):
    with duckdb.connect() as connection:
        empty = pa.table({"k": pa.array([None], key_type(kind))})
        connection.register("kept", empty)
        [(shown,)] = connection.execute("SELECT typeof(k) FROM kept").fetchall()
    assert shown.replace(",", ", ") == engine_type(key_type(kind))


def test_another_type_has_no_name():
    assert engine_type(pa.float64()) is None
