"""Constants of the types that nothing is computed with: UUIDs, times, moments, intervals, bytes, JSON, and arrays."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.values.errors import InvalidText
from dpproxy.values.pgtypes import (
    BYTEA,
    IN_DUCKDB,
    INTERVAL,
    JSON,
    NUMERIC,
    TEXT,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    element_of,
)
from dpproxy.wire import arrays
from dpproxy.wire.datetimes import Endless
from dpproxy.wire.intervals import of
from dpproxy.wire.values import decode, encode_value

_ENGINE: Mapping[int, str] = {
    **{kind.oid: name for name, kind in IN_DUCKDB.items()},
    VARCHAR.oid: "VARCHAR",
}


def engine_type(kind: SqlType) -> str:
    """The engine's name of a type. Errors: ``KeyError``."""
    element = element_of(kind)
    if element is not None:
        return f"{engine_type(element)}[]"
    if kind.oid == NUMERIC.oid and kind.scale is not None:
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return _ENGINE[kind.oid]


def is_known(kind: SqlType) -> bool:
    """Whether constants of it can be written."""
    return (element_of(kind) or kind).oid in _ENGINE


def read(text: str, kind: SqlType) -> object:
    """A text as PostgreSQL reads it as the type.

    Errors: ``InvalidText``, ``NumberOutOfRange``; ``ValueError`` for a moment that is written without a zone.
    """
    if (element_of(kind) or kind).oid == TIMESTAMPTZ.oid and not kind.style:
        east, west = (decode(_in_zone(kind, zone), text.encode(), 0) for zone in ("-1", "1"))
        if east != west:
            raise ValueError("a moment without a zone")
    return decode(kind, text.encode(), 0)


def _in_zone(kind: SqlType, zone: str) -> SqlType:
    return SqlType(kind.name, kind.oid, kind.size, kind.modifier, zone)


def texts_of(node: exp.Expr) -> list[object]:
    """The texts in the literal ``'{1,2}'``. Errors: ``InvalidText``."""
    try:
        return arrays.read_text(node.name.encode(), bytes.decode)
    except ValueError:
        raise InvalidText("malformed array literal", position=position(node)) from None


def constant(value: object, kind: SqlType) -> nodes.Expr:
    """A value as the engine's expression of its type; NULL too. Errors: as ``encode_value``."""
    if value is None:
        return duck.cast(nodes.Null(), engine_type(kind))
    element = element_of(kind)
    if element is not None and isinstance(value, list | tuple):
        listed = nodes.Array(tuple(_item(item, element) for item in value))
        return duck.cast(listed, "[]".join([engine_type(element), *[""] * _depth(value)]))
    write = _WRITERS.get(kind.oid)
    if write is not None:
        return write(value)
    written = (encode_value(kind, value, 0) or b"").decode()
    return duck.cast(nodes.Text(written), engine_type(kind))


def _item(value: object, element: SqlType) -> nodes.Expr:
    if isinstance(value, list | tuple):
        return nodes.Array(tuple(_item(item, element) for item in value))
    return nodes.Null() if value is None else constant(value, element)


def _depth(values: Any) -> int:  # noqa: ANN401 - lists in lists
    return 1 + (_depth(values[0]) if values and isinstance(values[0], list | tuple) else 0)


def _interval(value: object) -> nodes.Expr:
    parts = of(value)
    days = duck.binary(
        "+",
        duck.call("to_months", duck.integer(parts.months)),
        duck.call("to_days", duck.integer(parts.days)),
    )
    return duck.binary("+", days, duck.call("to_microseconds", duck.integer(parts.microseconds)))


def _moment(value: Any) -> nodes.Expr:  # noqa: ANN401 - a datetime
    if isinstance(value, Endless):
        return duck.cast(nodes.Text(value.value.decode()), "TIMESTAMPTZ")
    moment: datetime = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return duck.cast(nodes.Text(moment.isoformat(sep=" ")), "TIMESTAMPTZ")


_WRITERS: Mapping[int, Callable[[Any], nodes.Expr]] = {
    BYTEA.oid: lambda value: duck.call("unhex", nodes.Text(bytes(value).hex())),
    INTERVAL.oid: _interval,
    TIMESTAMPTZ.oid: _moment,
    TEXT.oid: lambda value: nodes.Text(str(value)),
    JSON.oid: lambda value: duck.cast(nodes.Text(str(value)), "JSON"),
}
