"""What DuckDB answers, as PostgreSQL's types and values."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from dpproxy.pgtypes import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    OID,
    TEXT,
    TIMESTAMP,
    SqlType,
)  # fmt: skip

_TYPES: dict[str, SqlType] = {
    "BIGINT": INT8,
    "BLOB": BYTEA,
    "BOOLEAN": BOOL,
    "DATE": DATE,
    "DOUBLE": FLOAT8,
    "FLOAT": FLOAT4,
    "HUGEINT": NUMERIC,
    "INTEGER": INT4,
    "SMALLINT": INT2,
    "TIMESTAMP": TIMESTAMP,
    "TINYINT": INT2,
    "UBIGINT": NUMERIC,
    "UHUGEINT": NUMERIC,
    "UINTEGER": OID,
    "USMALLINT": INT4,
    "UTINYINT": INT2,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


def column_type(of: str) -> SqlType:
    """The type of a DuckDB type's name; text for arrays, JSON, and whatever has no counterpart.

    Example:
        >>> column_type("UINTEGER").name, column_type("DECIMAL(3,1)").scale, column_type("VARCHAR[]").name
        ('oid', 1, 'text')
    """
    decimal = _DECIMAL.fullmatch(of)
    if decimal:
        if decimal[1] == "38":
            return NUMERIC
        return NUMERIC.with_precision(int(decimal[1]), int(decimal[2]))
    return _TYPES.get(of, TEXT)


def array_text(value: Sequence[object]) -> str:
    r"""An array as PostgreSQL writes it.

    Example:
        >>> array_text(["r", None, 'a "b"', True, [1]])
        '{r,NULL,"a \\"b\\"",t,{1}}'
    """
    return "{" + ",".join(_element(item) for item in value) + "}"


def _element(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "t" if value else "f"
        case list() | tuple():
            return array_text(value)
        case str() if not value or value.upper() == "NULL" or re.search(r'[{}",\\\s]', value):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case _:
            return str(value)


def _as_text(value: object) -> object:
    return array_text(value) if isinstance(value, list | tuple) else str(value)


def _as_number(value: object) -> object:
    """Without the zeros that a column's common scale adds."""
    number = Decimal(str(value))
    short = number.normalize()
    return short.quantize(Decimal(1)) if isinstance(e := short.as_tuple().exponent, int) and e > 0 else short


_CONVERT: dict[int, Callable[[object], object]] = {
    TEXT.oid: _as_text,
    NUMERIC.oid: _as_number,
}


def rows(kinds: Sequence[SqlType], fetched: Sequence[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """The values in the columns' types."""
    convert = [
        (at, _CONVERT[kind.oid])
        for at, kind in enumerate(kinds)
        if kind.oid in _CONVERT and kind.modifier < 0
    ]
    if not convert:
        return list(fetched)
    answer = []
    for row in fetched:
        values = list(row)
        for at, change in convert:
            if values[at] is not None:
                values[at] = change(values[at])
        answer.append(tuple(values))
    return answer
