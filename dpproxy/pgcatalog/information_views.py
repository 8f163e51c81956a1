"""information_schema.views: the views a caller may see, protected ones too; their text is not shown."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        if relation.kind == "v":
            yield {
                "table_catalog": view.database,
                "table_schema": schema,
                "table_name": relation.name,
                "check_option": "NONE",
                "is_updatable": "NO",
                "is_insertable_into": "NO",
                "is_trigger_updatable": "NO",
                "is_trigger_deletable": "NO",
                "is_trigger_insertable_into": "NO",
            }


TABLE = table("information_schema", "views", _rows)
