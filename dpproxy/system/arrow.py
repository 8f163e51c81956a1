"""pyarrow and DuckDB without pandas, which they would load, where there is one, at the first value they are given."""

import sys
from contextlib import suppress

import pyarrow as pa


def do_without_pandas() -> None:
    """Have nothing in this process find pandas from now on, unless it was loaded already."""
    if "pandas" in sys.modules:
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]
    with suppress(AttributeError, ImportError):
        pa.array([0])  # looks for it once
