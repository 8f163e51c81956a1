"""Empty databases in memory: one engine for all tests of a process, since opening one costs 25 ms."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

_ENGINE = duckdb.connect(":memory:", config={"threads": "1"})
_NUMBERS = itertools.count()


@contextmanager
def empty() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to one. Functions and settings that a test adds would stay: these want an engine of their own."""
    name = f"empty{next(_NUMBERS)}"
    with _ENGINE.cursor() as connection:
        connection.execute(f"ATTACH ':memory:' AS {name}; USE {name}")
        try:
            yield connection
        finally:
            connection.execute(f"USE memory; DETACH {name}")
