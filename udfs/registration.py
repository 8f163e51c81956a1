"""The mechanisms as SQL functions of a DuckDB connection.

Every function that draws is registered as having side effects, so that DuckDB runs it once per row. Even so, store a
released value in a table before it is used twice.
"""

from collections.abc import Callable
from typing import Any, Final

import duckdb
from duckdb.func import FunctionNullHandling, PythonUDFType

from udfs.functions.model import SYSTEM, SqlFunction
from udfs.functions.table import functions
from udfs.pool import Pool

_DEFAULT: Final = Pool()


def register(connection: duckdb.DuckDBPyConnection, pool: Pool | None = None, *, macros: bool = True) -> None:
    """Add the ``dp_*`` functions to a connection.

    Macros belong to the connection, which can do without them where statements run in cursors; all other functions
    belong to its database. Functions that exist already are left alone.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     register(connection)
    ...     connection.sql("SELECT count(*) > 4 FROM dp_functions()").fetchall()
    [(True,)]
    """
    known: dict[str, list[SqlFunction]] = {}
    for function in functions(pool or _DEFAULT):
        known.setdefault(function.name, []).append(function)
        if function.run is not None:
            _create(connection, function, function.run)
    for overloads in known.values() if macros else ():
        if any(function.run is None for function in overloads):
            connection.execute(_macro(overloads))


def _macro(overloads: list[SqlFunction]) -> str:
    bodies = ", ".join(f"({f.arguments}) AS {f.body or _call(f)}" for f in overloads)
    return f"CREATE OR REPLACE TEMP MACRO {overloads[0].name}{bodies}"


def _call(function: SqlFunction) -> str:
    """A call of the Arrow function that has the macro's own name."""
    names = ", ".join(argument.split()[0] for argument in function.arguments.split(", "))
    return f"{SYSTEM}{function.name}({names})"


def _create(connection: duckdb.DuckDBPyConnection, function: SqlFunction, run: Callable[..., Any]) -> None:
    try:
        connection.create_function(
            function.name,
            run,
            list(function.types) or None,
            function.returns,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
            side_effects=True,
        )
    except (duckdb.CatalogException, duckdb.NotImplementedException) as error:
        # One error is raised if another connection of the database has registered it, the other if this one has.
        if "already" not in str(error):
            raise
