"""The engine's types as clients see them."""

import re

from dpproxy.pgtypes import (
    ARRAYS,
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSON,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    SqlType,
    array_of,
)

_TYPES: dict[str, SqlType] = {
    "BOOLEAN": BOOL,
    "TINYINT": INT2,
    "UTINYINT": INT2,
    "SMALLINT": INT2,
    "USMALLINT": INT4,
    "INTEGER": INT4,
    "UINTEGER": INT8,
    "BIGINT": INT8,
    "UBIGINT": NUMERIC.with_precision(20, 0),
    "HUGEINT": NUMERIC.with_precision(38, 0),
    "FLOAT": FLOAT4,
    "DOUBLE": FLOAT8,
    "VARCHAR": TEXT,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": TIMESTAMPTZ,
    "TIME": TIME,
    "INTERVAL": INTERVAL,
    "UUID": UUID,
    "BLOB": BYTEA,
    "JSON": JSON,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def column_type(name: str) -> SqlType | None:
    """The client's type of an engine type; None for types that are not answered, whose columns do not exist."""
    if name.endswith("[]"):
        element = column_type(name.removesuffix("[]"))
        return None if element is None or element.oid in ARRAYS else array_of(element)
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return NUMERIC.with_precision(int(decimal[1]), int(decimal[2]))
    return _TYPES.get(name)
