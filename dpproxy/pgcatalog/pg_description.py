"""pg_description: comments on relations."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView

_PG_CLASS = 1259


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.named():
        if relation.comment is not None:
            yield {
                "objoid": oids.relation_oid(schema, relation.name),
                "classoid": _PG_CLASS,
                "objsubid": 0,
                "description": relation.comment,
            }


TABLE = table(
    "pg_catalog",
    "pg_description",
    2609,
    "objoid:oid classoid:oid objsubid:int4 description",
    _rows,
)
