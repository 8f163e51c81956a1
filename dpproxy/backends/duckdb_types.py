"""The engine's types as clients see them."""

import re

from dpproxy.values.pgtypes import ARRAYS, IN_DUCKDB, INT2, INT4, INT8, NUMERIC, SqlType, array_of

_TYPES: dict[str, SqlType] = {
    **IN_DUCKDB,
    "TINYINT": INT2,
    "UTINYINT": INT2,
    "USMALLINT": INT4,
    "UINTEGER": INT8,
    "UBIGINT": NUMERIC.with_precision(20, 0),
    "HUGEINT": NUMERIC.with_precision(38, 0),
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
