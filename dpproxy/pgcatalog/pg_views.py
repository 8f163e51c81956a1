"""pg_views: the views a caller may see; their text is not shown."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import OWNER, CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        if relation.kind == "v":
            yield {"schemaname": schema, "viewname": relation.name, "viewowner": OWNER}


TABLE = table("pg_catalog", "pg_views", _rows)
