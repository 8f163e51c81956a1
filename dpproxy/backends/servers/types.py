"""Rows of a query that was rewritten for another engine, in the types that the engine of ours gives them."""

from collections.abc import Sequence

import pyarrow as pa

from dpproxy.backends.columns import WHOLE, key_type
from dpproxy.backends.servers.dialect import Kind
from dpproxy.backends.servers.printer import Item
from dpproxy.values.pgtypes import SqlType

_ARROW = {
    Kind.NULL: pa.int32(),
    Kind.TRUTH: pa.bool_(),
    Kind.WHOLE: pa.int64(),
    Kind.HUGE: WHOLE,
    Kind.SINGLE: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.INSTANT: pa.timestamp("us", "UTC"),
}


def types_of(columns: Sequence[Item], few: Sequence[SqlType] | None = None) -> pa.Schema:
    """The types of the columns: as the engine of ours gives them, or declared keys and whole numbers."""
    if few is not None:
        kinds = [key_type(key) for key in few] + [WHOLE] * (len(columns) - len(few))
    else:
        kinds = [
            pa.decimal128(38, c.value.scale) if c.value.kind is Kind.DECIMAL else _ARROW[c.value.kind]
            for c in columns
        ]
    return pa.schema([(c.name, kind) for c, kind in zip(columns, kinds, strict=True)])


def rows_of(table: pa.Table, columns: Sequence[Item]) -> list[tuple[object, ...]]:
    """The rows as Python values: a whole number of any size is an ``int``."""
    values = [
        [v if v is None or c.value.kind is not Kind.HUGE else int(v) for v in column.to_pylist()]
        for c, column in zip(columns, table.columns, strict=True)
    ]
    return list(zip(*values, strict=True))
