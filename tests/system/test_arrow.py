"""pyarrow is given values, and answers, without pandas and from the memory of the system."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from dpproxy.system.arrow import configure
configure()
import pyarrow as pa, duckdb
table = pa.table({"x": pa.array([1, None]), "y": ["a", "b"]})
with duckdb.connect() as own:
    own.register("t", table)
    assert own.execute("SELECT count(x) FROM t WHERE y <> $1", ["c"]).fetchall() == [(1,)]
    assert own.sql("SELECT x, y FROM t").to_arrow_table().num_rows == 2
assert sys.modules["pandas"] is None
assert pa.default_memory_pool().backend_name == "system"
"""


def test_pandas_is_not_loaded_at_the_first_value() -> None:
    pytest.importorskip("pandas")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
