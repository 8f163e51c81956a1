"""DuckDB's results as PostgreSQL's types and values."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from functools import partial
from typing import Any

from dpproxy.values.pgtypes import (
    ARRAYS,
    BPCHAR,
    FLOATS,
    IN_DUCKDB,
    INT2,
    INT4,
    NUMERIC,
    OID,
    RECORD,
    TEXT,
    ObjectName,
    SqlType,
    array_of,
    element_of,
)

OBJECTS = {
    "regclass": "class",
    "regtype": "type",
    "regnamespace": "schema",
    "regrole": "role",
    "regproc": "proc",
    "regprocedure": "procedure",
}
"""Types that refer to objects, and the kind of object in the words of our macros."""

_TYPES: dict[str, SqlType] = {
    **IN_DUCKDB,
    "TINYINT": INT2,
    "UTINYINT": INT2,
    "USMALLINT": INT4,
    "UINTEGER": OID,
    "UBIGINT": NUMERIC,
    "HUGEINT": NUMERIC,
    "UHUGEINT": NUMERIC,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


def column_type(of: str) -> SqlType:
    """The type for a DuckDB type's name; text where it has no counterpart.

    Example:
        >>> column_type("UINTEGER").name, column_type("DECIMAL(3,1)").scale, column_type("VARCHAR[]").name
        ('oid', 1, '_text')
    """
    if of.endswith("[]"):
        element = column_type(of.removesuffix("[]"))
        return element if element.oid in ARRAYS else array_of(element)
    if of.startswith(("STRUCT(", "TUPLE(", "ROW(")):
        return RECORD
    decimal = _DECIMAL.fullmatch(of)
    if decimal:
        if decimal[1] == "38":
            return NUMERIC
        return NUMERIC.with_precision(int(decimal[1]), int(decimal[2]))
    return _TYPES.get(of, TEXT)


def _as_text(value: object) -> object:
    return record_text(value.values()) if isinstance(value, dict) else str(value)


def record_text(values: Iterable[object]) -> str:
    """A row as PostgreSQL writes it.

    Example:
        >>> record_text([10, None, "a b", False])
        '(10,,"a b",f)'
    """
    return "(" + ",".join("" if value is None else _field(value) for value in values) + ")"


def _field(value: object) -> str:
    match value:
        case bool():
            return "t" if value else "f"
        case str() if not value or re.search(r'[(),"\\\s]', value):
            return '"' + value.replace("\\", "\\\\").replace('"', '""') + '"'
        case _:
            return str(value)


_WIDE = Context(prec=100)
"""The default of 28 digits would round, or refuse, some of the engine's values."""


def _as_number(value: object) -> object:
    """A number without the trailing zeros of the column's common scale."""
    number = Decimal(str(value))
    short = number.normalize(_WIDE)
    return (
        short.quantize(Decimal(1), context=_WIDE)
        if isinstance(e := short.as_tuple().exponent, int) and e > 0
        else short
    )


def _as_blank_padded(value: object, width: int) -> object:
    return str(value).ljust(width)


def padding(kind: SqlType) -> int:
    """The length that values of the type are padded to."""
    element = element_of(kind) or kind
    return element.modifier - 4 if element.oid == BPCHAR.oid and element.modifier > 0 else 0


Names = Callable[[str], Mapping[int, str]]
"""By kind of object, names by OID."""


def rows(
    kinds: Sequence[SqlType], stored: Sequence[str], fetched: Sequence[tuple[object, ...]], names: Names
) -> list[tuple[object, ...]]:
    """The values in the columns' types."""
    changes = (_change(kind, held, names) for kind, held in zip(kinds, stored, strict=True))
    convert = [(at, change) for at, change in enumerate(changes) if change is not None]
    if not convert:
        return list(fetched)
    answer = []
    for row in fetched:
        values = list(row)
        for at, change in convert:
            values[at] = _changed(change, values[at])
        answer.append(tuple(values))
    return answer


Change = Callable[[Any], object]


def _change(kind: SqlType, stored: str, names: Names) -> Change | None:
    element = element_of(kind) or kind
    if element.name in OBJECTS:
        return _names_of(names(OBJECTS[element.name]))
    match element.oid:
        case TEXT.oid:
            return _as_text
        case RECORD.oid:
            return lambda value: record_text(value.values() if isinstance(value, dict) else value)
        case NUMERIC.oid if element.modifier < 0 and stored.startswith(_SCALED):
            return _as_number
        case BPCHAR.oid if element.modifier > 0:
            return partial(_as_blank_padded, width=padding(kind))
        case oid if oid in FLOATS and not stored.startswith(("FLOAT", "DOUBLE")):
            return float
        case _:
            return None


_SCALED = ("DECIMAL(38", "HUGEINT", "UHUGEINT")
"""Columns whose scale is of our own choice, and not a value's."""


def _names_of(names: Mapping[int, str]) -> Change:
    numbers = {name: oid for oid, name in names.items()}

    def change(value: object) -> object:
        if isinstance(value, str):
            return ObjectName(value, numbers.get(value, 0))
        number = int(str(value))
        return ObjectName(names.get(number, str(number) if number else "-"), number)

    return change


def _changed(change: Change, value: object) -> object:
    if isinstance(value, list):
        return [_changed(change, item) for item in value]
    return None if value is None else change(value)
