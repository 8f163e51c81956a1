"""pg_am: access methods; tables are heaps and there are no indexes."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView

HEAP = 2
"""pg_am.oid of heap."""


def _rows(_view: CatalogueView) -> Iterator[Row]:
    yield {"oid": HEAP, "amname": "heap", "amhandler": "heap_tableam_handler", "amtype": "t"}
    yield {"oid": 403, "amname": "btree", "amhandler": "bthandler", "amtype": "i"}


TABLE = table(
    "pg_catalog",
    "pg_am",
    2601,
    "oid:oid amname amhandler amtype",
    _rows,
)
