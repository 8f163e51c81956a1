"""information_schema.tables: the relations a caller may see."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.named():
        yield {
            "table_catalog": view.database,
            "table_schema": schema,
            "table_name": relation.name,
            "table_type": "BASE TABLE" if relation.kind == "r" else "VIEW",
            "is_insertable_into": "NO",
            "is_typed": "NO",
        }


TABLE = table(
    "information_schema",
    "tables",
    13425,
    "table_catalog table_schema table_name table_type self_referencing_column_name "
    "reference_generation user_defined_type_catalog user_defined_type_schema "
    "user_defined_type_name is_insertable_into is_typed commit_action",
    _rows,
    kind="v",
)
