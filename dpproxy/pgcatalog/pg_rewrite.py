"""pg_rewrite: the rule of each view; its definition is not shown."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        if relation.kind == "v":
            yield {
                "oid": oids.rule_oid(schema, relation.name),
                "rulename": "_RETURN",
                "ev_class": oids.relation_oid(schema, relation.name),
                "ev_type": "1",
                "ev_enabled": "O",
                "is_instead": True,
                "ev_qual": "<>",
            }


TABLE = table("pg_catalog", "pg_rewrite", _rows)
