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


_FOREIGN = (
    "anti approx asof centuries century connect days decade decades describe destroy disconnect distance "
    "error exact export export_state extensions glob grouping_id hours ignore install json lambda macro map "
    "microsecond microseconds millennia millennium millisecond milliseconds minutes months nearest "
    "partitioned percent persistent pivot pivot_longer pivot_wider positional pragma qualify quarter quarters "
    "register resource resources respect sample scope seconds secret secure semi similarity sorted source "
    "struct summarize target try_cast tuple unpack unpivot use variable virtual week weeks years "
)
"""Words of the engine that are none of PostgreSQL's."""
_OTHERWISE = {
    "column_name": "greatest least normalize",
    "reserved": (
        "current_catalog current_date current_role current_time current_timestamp current_user grant localtime "
        "localtimestamp session_user user "
    ),
    "type_function": "current_schema",
    "unreserved": (
        "asensitive at atomic breadth by columns depth expression finalize generated nfc nfd nfkc nfkd normalized "
        "parameter procedures return routine routines show support uescape "
    ),
}
"""Words of PostgreSQL's that the engine does not know, or knows as another kind."""
_AS = (
    "array as char character create day except fetch filter for from grant group having hour intersect into "
    "isnull limit minute month notnull offset on order over overlaps precision returning second to union "
    "varying where window with within without year "
)
"""Words that name a column after AS only."""


@cache
def _words() -> tuple[tuple[str, str], ...]:
    """Every word with its kind: the engine's grammar is PostgreSQL's, but for few words."""
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT DISTINCT keyword_name, keyword_category FROM duckdb_keywords() ORDER BY 1"
        )
        found = {str(word): str(kind) for word, kind in rows.fetchall() if word not in _FOREIGN.split()}
    found.update((word, kind) for kind, words in _OTHERWISE.items() for word in words.split())
    return tuple(sorted(found.items()))


@cache
def _never_bare() -> frozenset[str]:
    return frozenset(word for word, kind in _words() if kind != "unreserved")


def is_reserved(word: str) -> bool:
    """Whether PostgreSQL quotes it as a name (quote_ident): every word of the grammar that is not free for all."""
    return word in _never_bare()


def _rows(_view: CatalogueView) -> Iterator[Row]:
    only_after_as = frozenset(_AS.split())
    for word, kind in _words():
        code, description = _CODES[kind]
        yield {
            "word": word,
            "catcode": code,
            "barelabel": word not in only_after_as,
            "catdesc": description,
            "baredesc": "requires AS" if word in only_after_as else "can be bare label",
        }


KEYWORDS = table("internal", "pg_get_keywords", 0, "word catcode barelabel:bool catdesc baredesc", _rows)
