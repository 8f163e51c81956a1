"""The engine's types as clients see them."""

import re
from typing import Final

from dpproxy.values.pgtypes import ARRAYS, IN_DUCKDB, INT2, INT4, INT8, NUMERIC, TEXT, SqlType, array_of

_TYPES: dict[str, SqlType] = {
    **IN_DUCKDB,
    "TINYINT": INT2,
    "UTINYINT": INT2,
    "USMALLINT": INT4,
    "UINTEGER": INT8,
    "UBIGINT": NUMERIC.with_precision(20, 0),
    "HUGEINT": NUMERIC.with_precision(38, 0),
}
ENUM: Final = "ENUM("
_LABEL: Final = re.compile(r"'((?:[^']|'')*)'")
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def column_type(name: str) -> SqlType | None:
    """The client's type of an engine type; None for types that are not answered, whose columns do not exist."""
    if name.endswith("[]"):
        element = column_type(name.removesuffix("[]"))
        if element is None or element.oid in ARRAYS or name.startswith(ENUM):
            return None
        return array_of(element)
    if name.startswith(ENUM):
        return TEXT
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return NUMERIC.with_precision(int(decimal[1]), int(decimal[2]))
    return _TYPES.get(name)


def labels(kind: str) -> tuple[str, ...]:
    """The labels of an enum, by the engine's name of its type.

    >>> labels("ENUM('a', 'it''s')")
    ('a', "it's")
    """
    return tuple(label.replace("''", "'") for label in _LABEL.findall(kind.removeprefix(ENUM)))
