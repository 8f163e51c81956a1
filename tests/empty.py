"""Empty databases in memory and in files: one engine for all tests of a process, since opening one costs 25 ms."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

_ENGINE = duckdb.connect(":memory:", config={"threads": "1"})
_NUMBERS = itertools.count()


def opened() -> duckdb.DuckDBPyConnection:
    """A connection to one, for as long as the process lives.

    Functions and settings that a test adds would stay: these want an engine of their own.
    """
    connection = _ENGINE.cursor()
    name = f"empty{next(_NUMBERS)}"
    connection.execute(f"ATTACH ':memory:' AS {name}; USE {name}")
    return connection


@contextmanager
def empty() -> Iterator[duckdb.DuckDBPyConnection]:
    """One that is gone at the end."""
    with opened() as connection:
        [[name]] = connection.execute("SELECT current_database()").fetchall()
        try:
            yield connection
        finally:
            connection.execute(f"USE memory; DETACH {name}")


@contextmanager
def database(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """One in a file, which is complete at the end."""
    with _ENGINE.cursor() as connection:
        connection.execute(f'ATTACH \'{path}\' AS "{path.stem}"; USE "{path.stem}"')
        try:
            yield connection
        finally:
            connection.execute(f'USE memory; DETACH "{path.stem}"')
