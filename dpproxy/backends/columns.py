"""The Arrow types of what passes between the stages: keys in their physical form, and whole numbers."""

import pyarrow as pa

from dpproxy.values.pgtypes import SqlType

FEW = 500
"""Keys up to which rows are fetched one by one in less time than an Arrow table is made."""
WHOLE = pa.decimal128(38, 0)
"""A measure."""
_KEYS = {
    "bool": pa.bool_(),
    "text": pa.string(),
    "varchar": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "numeric": WHOLE,
}
_ENGINE = {
    pa.bool_(): "BOOLEAN",
    pa.string(): "VARCHAR",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.int64(): "BIGINT",
    WHOLE: "DECIMAL(38, 0)",
}


def engine_type(column: pa.DataType) -> str | None:
    """How DuckDB calls the type of a key column; None for any other type."""
    return _ENGINE.get(column)


def key_type(kind: SqlType) -> pa.DataType:
    """The type of a key column; integers, and whatever else is held as one, are 64-bit."""
    return _KEYS.get(kind.name, pa.int64())
