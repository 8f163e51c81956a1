"""information_schema.character_sets: UTF8 alone."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    yield {
        "character_set_name": "UTF8",
        "character_repertoire": "UCS",
        "form_of_use": "UTF8",
        "default_collate_catalog": view.database,
        "default_collate_schema": "pg_catalog",
        "default_collate_name": "C",
    }


TABLE = table("information_schema", "character_sets", _rows)
