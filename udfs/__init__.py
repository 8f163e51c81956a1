"""Differentially private mechanisms for DuckDB."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from udfs.pool import Pool

__all__ = ["register"]


def register(connection: "duckdb.DuckDBPyConnection", pool: "Pool | None" = None) -> None:
    """Add the ``dp_*`` functions to a connection; a connection that has them keeps its own."""
    from udfs import registration  # noqa: PLC0415 - the families of functions are loaded where they are used

    registration.register(connection, pool)
