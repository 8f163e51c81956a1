"""The types of a result's columns: PostgreSQL's where they are known, else those of the engine's values."""

from collections.abc import Mapping, Sequence

from dpproxy.pgcatalog.compiler import casts
from dpproxy.pgcatalog.compiler.results import column_type
from dpproxy.pgcatalog.table import PROCEDURE
from dpproxy.values.pgtypes import (
    FLOATS,
    INTEGERS,
    NUMERIC,
    REGPROC,
    TEXT,
    TIMESTAMPTZ,
    UNKNOWN,
    SqlType,
    element_of,
)


def result_types(
    fields: Sequence[tuple[str, SqlType | None]] | None, described: Sequence[tuple[str, str]]
) -> list[SqlType]:
    """The types of the result's columns: those that are known and that the engine's values have, else the engine's."""
    known = [None] * len(described) if fields is None else [_SHOWN.get(kind, kind) for _, kind in fields]
    return [
        kind if kind is not None and fits(stored, kind) else column_type(stored)
        for kind, (_, stored) in zip(known, described, strict=True)
    ]


_SHOWN: Mapping[SqlType | None, SqlType] = {UNKNOWN: TEXT, PROCEDURE: REGPROC}
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT"})
_NOTHING = '"NULL"'
"""The engine's name for the type of a bare NULL."""
_ALSO: Mapping[int, frozenset[str]] = {
    **dict.fromkeys(INTEGERS, _WHOLE),
    **dict.fromkeys(FLOATS, _WHOLE | {"FLOAT", "DOUBLE"}),
    NUMERIC.oid: _WHOLE | {"DECIMAL"},
    REGPROC.oid: frozenset({"VARCHAR"}),
    TIMESTAMPTZ.oid: frozenset({"TIMESTAMP"}),
}
"""The engine's types, without parameters, whose values are encoded as a type besides those of its own."""


def fits(stored: str, kind: SqlType) -> bool:
    """Whether values of an engine's type can be encoded as a type."""
    element = element_of(kind)
    if element is not None and stored != _NOTHING:
        return stored.endswith("[]") and fits(stored.rstrip("[]"), element)
    held = stored.partition("(")[0]
    return held in (_NOTHING, casts.stored(kind)) or held in _ALSO.get(kind.oid, ())
