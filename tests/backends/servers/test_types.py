from decimal import Decimal

import pyarrow as pa

from dpproxy.backends.servers.dialect import Value, ValueKind
from dpproxy.backends.servers.printer import OutputColumn
from dpproxy.backends.servers.types import rows_of, types_of
from dpproxy.values.pgtypes import INT4, TEXT

COLUMNS = (
    OutputColumn("k", Value("k", ValueKind.TEXT)),
    OutputColumn("d", Value("d", ValueKind.DECIMAL, scale=2)),
    OutputColumn("m", Value("m", ValueKind.HUGE)),
)


def test_types_are_those_of_the_kinds_or_of_declared_keys():
    assert types_of(COLUMNS).types == [pa.string(), pa.decimal128(38, 2), pa.decimal128(38, 0)]
    assert types_of(COLUMNS, [TEXT, INT4]).types == [pa.string(), pa.int64(), pa.decimal128(38, 0)]


def test_whole_numbers_are_plain():
    table = pa.table([["a", None], [Decimal("1.50"), None], [Decimal(2**70), None]], schema=types_of(COLUMNS))
    rows = rows_of(table, COLUMNS)
    assert rows == [("a", Decimal("1.50"), 2**70), (None, None, None)]
    assert type(rows[0][2]) is int
