"""The session's TimeZone, IntervalStyle and bytea_output as part of the types that they apply to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from dpproxy.values.pgtypes import ARRAYS, BYTEA, INTERVAL, TIMESTAMPTZ, Column, SqlType

_SETTINGS: Final = {TIMESTAMPTZ.oid: "timezone", INTERVAL.oid: "intervalstyle", BYTEA.oid: "bytea_output"}
_STYLED: Final[Mapping[int, str]] = {
    **_SETTINGS,
    **{oid: _SETTINGS[element.oid] for oid, element in ARRAYS.items() if element.oid in _SETTINGS},
}
"""The setting that applies to a type."""


def styled_types(types: Sequence[SqlType], settings: Mapping[str, str]) -> tuple[SqlType, ...]:
    """Types with the session's style."""
    return tuple(
        replace(kind, style=settings[_STYLED[kind.oid]]) if kind.oid in _STYLED else kind for kind in types
    )


def styled_columns(columns: Sequence[Column], settings: Mapping[str, str]) -> tuple[Column, ...]:
    """Columns whose types have the session's style."""
    if not _any(column.type for column in columns):
        return tuple(columns)
    kinds = styled_types([column.type for column in columns], settings)
    return tuple(replace(column, type=kind) for column, kind in zip(columns, kinds, strict=True))


def _any(kinds: Iterable[SqlType]) -> bool:
    return any(kind.oid in _STYLED for kind in kinds)
