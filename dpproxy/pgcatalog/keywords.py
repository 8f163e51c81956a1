"""pg_get_keywords(): the words of the grammar, which clients ask for to know what to quote."""

from collections.abc import Iterator
from functools import cache

import duckdb

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView

_CODES = {
    "unreserved": ("U", "unreserved"),
    "column_name": ("C", "unreserved (cannot be function or type name)"),
    "type_function": ("T", "reserved (can be function or type name)"),
    "reserved": ("R", "reserved"),
}


@cache
def _words() -> tuple[tuple[str, str], ...]:
    """Every word with its kind: the engine's grammar is PostgreSQL's with few words more."""
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT DISTINCT keyword_name, keyword_category FROM duckdb_keywords() ORDER BY 1"
        )
        return tuple(rows.fetchall())


@cache
def _never_bare() -> frozenset[str]:
    return frozenset(word for word, kind in _words() if kind != "unreserved")


def is_reserved(word: str) -> bool:
    """Whether PostgreSQL quotes it as a name (quote_ident): every word of the grammar that is not free for all."""
    return word in _never_bare()


def _rows(_view: CatalogueView) -> Iterator[Row]:
    for word, kind in _words():
        code, description = _CODES[kind]
        yield {
            "word": word,
            "catcode": code,
            "barelabel": kind != "reserved",
            "catdesc": description,
            "baredesc": "can be bare label" if kind != "reserved" else "requires AS",
        }


KEYWORDS = table("internal", "pg_get_keywords", 0, "word catcode barelabel:bool catdesc baredesc", _rows)
