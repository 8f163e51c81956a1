"""information_schema.information_schema_catalog_name: the name of the data source."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    yield {"catalog_name": view.database}


TABLE = table("information_schema", "information_schema_catalog_name", _rows)
