"""information_schema.tables: the relations a caller may see."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        yield {
            "table_catalog": view.database,
            "table_schema": schema,
            "table_name": relation.name,
            "table_type": "BASE TABLE" if relation.kind == "r" else "VIEW",
            "is_insertable_into": "NO",
            "is_typed": "NO",
        }


TABLE = table("information_schema", "tables", _rows)
