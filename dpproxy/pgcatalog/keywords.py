"""pg_get_keywords(): the keywords of the grammar, from which clients learn which names to quote."""

from functools import cache

from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.table import CatalogueTable, columns

KEYWORDS = CatalogueTable(
    "internal",
    "pg_get_keywords",
    0,
    columns("word catcode barelabel:bool catdesc baredesc"),
    lambda _view: facts("keywords"),
)


@cache
def _never_bare() -> frozenset[str]:
    return frozenset(row["word"] for row in facts("keywords") if row["catcode"] != "U")


def is_reserved(word: str) -> bool:
    """Whether PostgreSQL quotes it as a name (quote_ident): every word of the grammar that is not free for all."""
    return word in _never_bare()
