"""pg_tables: the tables a caller may see."""

from collections.abc import Iterator

from dpproxy.pgcatalog.keys import of_tables
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import OWNER, CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    keyed = {key.table.name for key in of_tables(view)}
    for schema, relation in view.named():
        if relation.kind == "r":
            yield {
                "schemaname": schema,
                "tablename": relation.name,
                "tableowner": OWNER,
                "hasindexes": relation.name in keyed,
                "hasrules": False,
                "hastriggers": False,
                "rowsecurity": False,
            }


TABLE = table(
    "pg_catalog",
    "pg_tables",
    12033,
    "schemaname tablename tableowner tablespace hasindexes:bool hasrules:bool hastriggers:bool "
    "rowsecurity:bool",
    _rows,
    kind="v",
)
