"""Differentially private mechanisms as functions of DuckDB; a package that knows nothing of the proxy.

In come exact whole numbers with their sensitivities and a loss, as columns of SQL; out come columns with
noise, drawn from the operating system's randomness alone. ``register(connection)`` makes the functions known.
Start with ``functions.table`` for what there is, then ``mechanisms`` for how it is drawn and proved.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from udfs.pool import Pool

__all__ = ["register"]


def register(
    connection: "duckdb.DuckDBPyConnection", pool: "Pool | None" = None, *, macros: bool = True
) -> None:
    """Add the ``dp_*`` functions to a connection; a connection that has them keeps its own."""
    from udfs import registration  # noqa: PLC0415 - the families of functions are loaded where they are used

    registration.register(connection, pool, macros=macros)
