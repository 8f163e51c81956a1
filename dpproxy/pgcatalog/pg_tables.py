"""pg_tables: the tables a caller may see."""

from collections.abc import Iterator

from dpproxy.pgcatalog.keys import of_tables, with_triggers
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import OWNER, CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    keyed, triggered = {key.table.name for key in of_tables(view)}, with_triggers(view)
    for schema, relation in view.with_schemas():
        if relation.kind == "r":
            yield {
                "schemaname": schema,
                "tablename": relation.name,
                "tableowner": OWNER,
                "hasindexes": relation.name in keyed,
                "hasrules": False,
                "hastriggers": relation.name in triggered,
                "rowsecurity": False,
            }


TABLE = table("pg_catalog", "pg_tables", _rows)
