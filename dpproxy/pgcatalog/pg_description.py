"""pg_description: comments on relations and their columns; of a column, the domain that is declared."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.policy.dump import domain_text
from dpproxy.policy.model import Domain, Members

_PG_CLASS = 1259


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        of = {"objoid": oids.relation_oid(schema, relation.name), "classoid": _PG_CLASS}
        if relation.comment is not None:
            yield {**of, "objsubid": 0, "description": relation.comment}
        for number, column in enumerate(relation.columns, 1):
            domain = relation.domains.get(column.name)
            if domain is not None:
                yield {**of, "objsubid": number, "description": _words(domain)}


MOST_LISTED = 20
"""Longest list of values in a comment."""


def _words(domain: Domain) -> str:
    if isinstance(domain, Members) and len(domain.values) > MOST_LISTED:
        return f"DOMAIN IN {len(domain.values)} values"
    return f"DOMAIN {domain_text(domain)}"


TABLE = table("pg_catalog", "pg_description", _rows)
