"""Rows of a query that was rewritten for another engine, in the types that the engine of ours gives them."""

from collections.abc import Sequence

import pyarrow as pa

from dpproxy.backends.columns import WHOLE, key_type
from dpproxy.backends.servers.dialect import ValueKind
from dpproxy.backends.servers.printer import OutputColumn
from dpproxy.values.pgtypes import SqlType

_ARROW = {
    ValueKind.NULL: pa.int32(),
    ValueKind.TRUTH: pa.bool_(),
    ValueKind.WHOLE: pa.int64(),
    ValueKind.HUGE: WHOLE,
    ValueKind.SINGLE: pa.float32(),
    ValueKind.DOUBLE: pa.float64(),
    ValueKind.TEXT: pa.string(),
    ValueKind.DATE: pa.date32(),
    ValueKind.TIMESTAMP: pa.timestamp("us"),
    ValueKind.INSTANT: pa.timestamp("us", "UTC"),
}


def types_of(columns: Sequence[OutputColumn], few: Sequence[SqlType] | None = None) -> pa.Schema:
    """The types of the columns: as the engine of ours gives them, or declared keys and whole numbers."""
    if few is not None:
        kinds = [key_type(key) for key in few] + [WHOLE] * (len(columns) - len(few))
    else:
        kinds = [
            pa.decimal128(38, c.value.scale) if c.value.kind is ValueKind.DECIMAL else _ARROW[c.value.kind]
            for c in columns
        ]
    return pa.schema([(c.name, kind) for c, kind in zip(columns, kinds, strict=True)])


def rows_of(table: pa.Table, columns: Sequence[OutputColumn]) -> list[tuple[object, ...]]:
    """The rows as Python values: a whole number of any size is an ``int``."""
    values = [
        [v if v is None or c.value.kind is not ValueKind.HUGE else int(v) for v in column.to_pylist()]
        for c, column in zip(columns, table.columns, strict=True)
    ]
    return list(zip(*values, strict=True))
