"""pg_matviews: the protected views a caller may see; what they are made of is not shown."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import OWNER, CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.named():
        if relation.kind == "m":
            yield {
                "schemaname": schema,
                "matviewname": relation.name,
                "matviewowner": OWNER,
                "hasindexes": False,
                "ispopulated": True,
            }


TABLE = table(
    "pg_catalog",
    "pg_matviews",
    12038,
    "schemaname matviewname matviewowner tablespace hasindexes:bool ispopulated:bool definition",
    _rows,
    kind="v",
)
