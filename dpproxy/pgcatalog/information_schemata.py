"""information_schema.schemata: the four schemas."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import OWNER, CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for name in oids.SCHEMAS:
        yield {"catalog_name": view.database, "schema_name": name, "schema_owner": OWNER}


TABLE = table("information_schema", "schemata", _rows)
