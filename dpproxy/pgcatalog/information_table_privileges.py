"""information_schema.table_privileges: the caller may SELECT what it sees."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import OWNER, CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        yield {
            "grantor": OWNER,
            "grantee": view.user,
            "table_catalog": view.database,
            "table_schema": schema,
            "table_name": relation.name,
            "privilege_type": "SELECT",
            "is_grantable": "NO",
            "with_hierarchy": "YES",
        }


TABLE = table("information_schema", "table_privileges", _rows)
