"""How pyarrow works in a process that serves."""

import sys
from contextlib import suppress

import pyarrow as pa


def configure() -> None:
    """Take memory from the system, and do without pandas.

    pyarrow's own allocator keeps 5 MB for each thread that has used it. pandas, where there is one, would be loaded by
    pyarrow and DuckDB at the first value they are given; nothing in this process finds it from now on, unless it was
    loaded already.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    if "pandas" in sys.modules:
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]
    with suppress(AttributeError, ImportError):
        pa.array([0])  # looks for it once
