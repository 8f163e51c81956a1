"""Texts of ours as statements of other engines."""

from collections.abc import Sequence

from dpproxy.algebra.plan import PreparedTable
from dpproxy.backends.servers.dialect import Dialect
from dpproxy.backends.servers.printer import PrintedQuery, Tables, statement
from dpproxy.backends.source import Source
from tests.reading import read


def transpiled(sql: str, dialect: Dialect, tables: Tables) -> PrintedQuery:
    """What an engine reads for a text of ours."""
    return statement(read(sql), dialect, tables)


def check(source: Source, sql: str, prepares: Sequence[PreparedTable] = ()) -> None:
    """Ask a source whether it takes a text of ours."""
    source.check(read(sql), prepares)


OF_DUCKDB_ALONE = frozenset(
    (
        "ascii",
        "concat_ws",
        "lpad",
        "regexp_extract",
        "regexp_matches",
        "regexp_replace",
        "repeat",
        "reverse",
        "rpad",
    )
)
"""Functions of rows that no server computes: it has regular expressions, or texts, of another kind."""
