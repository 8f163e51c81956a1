"""What DuckDB answers, as PostgreSQL's types and values."""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from dpproxy.pgtypes import ARRAYS, IN_DUCKDB, INT2, INT4, NUMERIC, OID, TEXT, SqlType, array_of, element_of

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
    """The type of a DuckDB type's name; text for whatever has no counterpart.

    Example:
        >>> column_type("UINTEGER").name, column_type("DECIMAL(3,1)").scale, column_type("VARCHAR[]").name
        ('oid', 1, '_text')
    """
    if of.endswith("[]"):
        element = column_type(of.removesuffix("[]"))
        return element if element.oid in ARRAYS else array_of(element)
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
    convert = [(at, change) for at, kind in enumerate(kinds) if (change := _change(kind)) is not None]
    if not convert:
        return list(fetched)
    answer = []
    for row in fetched:
        values = list(row)
        for at, change in convert:
            values[at] = _changed(change, values[at])
        answer.append(tuple(values))
    return answer


def _change(kind: SqlType) -> Callable[[object], object] | None:
    element = element_of(kind) or kind
    return _CONVERT.get(element.oid) if element.modifier < 0 else None


def _changed(change: Callable[[object], object], value: object) -> object:
    if isinstance(value, list | tuple):
        return [_changed(change, item) for item in value]
    return None if value is None else change(value)
