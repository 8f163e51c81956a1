"""Values as bytes and back, between two processes: numbers, text, dates, lists, and the records listed here.

Nothing else can be written or read: no code, no class that is not in the table.
"""

import json
from datetime import date, datetime
from decimal import Decimal

from dpproxy.values.pgtypes import CheckConstraint, Column, ForeignKey, Schema, SqlType, UniqueKey, View

RECORDS: dict[str, type] = {
    kind.__name__: kind for kind in (SqlType, Column, UniqueKey, ForeignKey, CheckConstraint, View, Schema)
}
"""Frozen records of public facts; their sequences are tuples."""


def dumps(value: object) -> bytes:
    """The bytes of a value; tuples become lists. Raises ``TypeError`` for what is not listed."""
    return json.dumps(value, default=_tagged).encode()


def loads(data: bytes | bytearray | memoryview) -> object:
    """The value of ``dumps``. Raises ``ValueError`` for bytes that are none of its."""
    try:
        return json.loads(bytes(data), object_hook=_untagged)
    except (TypeError, ArithmeticError, RecursionError) as error:
        raise ValueError("not a value") from error


def _tagged(value: object) -> dict[str, object]:
    match value:
        case Decimal():
            return {"decimal": str(value)}
        case datetime():
            return {"timestamp": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case _ if RECORDS.get(type(value).__name__) is type(value):
            inside = [getattr(value, name) for name in value.__struct_fields__]  # type: ignore[attr-defined]
            return {type(value).__name__: [_mapping(v) if isinstance(v, dict) else v for v in inside]}
    raise TypeError(f"a {type(value).__name__} is not sent")


def _mapping(value: dict[str, object]) -> dict[str, object]:
    return {"mapping": list(value.items())}


def _untagged(tagged: dict[str, object]) -> object:
    [(tag, inside)] = tagged.items()
    match tag, inside:
        case "decimal", str():
            return Decimal(inside)
        case "timestamp", str():
            return datetime.fromisoformat(inside)
        case "date", str():
            return date.fromisoformat(inside)
        case "mapping", list():
            return {str(key): _frozen(value) for key, value in inside}
        case _, list() if tag in RECORDS:
            return RECORDS[tag](*map(_frozen, inside))
    raise ValueError("not a value")


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
