"""The staircase's Arrow functions where DuckDB does not lead: chunks without rows."""

import pyarrow as pa

from udfs.functions.staircase import release
from udfs.pool import Pool


def test_no_rows():
    empty = pa.chunked_array([], pa.list_(pa.decimal128(38, 0)))
    assert len(release(Pool(), empty, empty, pa.chunked_array([], pa.decimal128(18, 9)))) == 0
