import pytest

from dpproxy.backends.duckdb.types import column_type
from dpproxy.values.pgtypes import INT4, INT8, JSON, NUMERIC, TEXT, TIMESTAMPTZ, UUID, SqlType, array_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("BIGINT", INT8),
        ("DECIMAL(5,2)", NUMERIC.with_precision(5, 2)),
        ("UUID", UUID),
        ("JSON", JSON),
        ("TIMESTAMP WITH TIME ZONE", TIMESTAMPTZ),
        ("INTEGER[]", array_of(INT4)),
        ("DECIMAL(5,2)[]", array_of(NUMERIC.with_precision(5, 2))),
        ("INTEGER[][]", None),
        ("INTEGER[3]", None),
        ("ENUM('a[]', 'it''s')", TEXT),
        ("ENUM('a')[]", None),
        ("BIT", None),
        ("STRUCT(a INTEGER)", None),
        ("STRUCT(a INTEGER)[]", None),
    ],
)
def test_types(name: str, kind: SqlType | None):
    assert column_type(name) == kind
