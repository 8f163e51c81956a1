"""Relations and their columns, and comments on them."""

from collections.abc import Iterable, Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.keys import KeyConstraint, of_tables, with_triggers
from dpproxy.pgcatalog.table import CatalogueTable, Row, table
from dpproxy.pgcatalog.tables.constraints import checks
from dpproxy.pgcatalog.tables.types import built_in
from dpproxy.pgcatalog.view import OWNER, CatalogueView
from dpproxy.policy.dump import domain_text
from dpproxy.policy.model import Domain, Members
from dpproxy.sql.quoting import quoted
from dpproxy.values.pgtypes import ARRAYS, Column

# pg_class: the relations a caller may see, and the catalogue itself.


def acl(view: CatalogueView) -> list[str]:
    """Who may do what with a relation, as aclitems: the owner and the caller may read."""
    names = [name if name.isalnum() else quoted(name) for name in (OWNER, view.user)]
    return [f"{name}=r/{OWNER}" for name in dict.fromkeys(names)]


def _user_rows(view: CatalogueView) -> Iterator[Row]:
    indexes = list(of_tables(view))
    keyed, triggered = {key.table.one_name for key in indexes}, with_triggers(view)
    yield from (_of_index(key) for key in indexes)
    for schema, relation in view.with_schemas():
        yield {
            "oid": oids.relation_oid(schema, relation.name),
            "relname": relation.name,
            "relnamespace": oids.schema_oid(schema),
            "reltype": oids.row_type_oid(schema, relation.name),
            "relam": oids.HEAP if relation.kind == "r" else 0,
            "relreplident": "d" if relation.kind == "r" else "n",
            "relkind": relation.kind,
            "relhasrules": relation.kind == "v",
            "relnatts": len(relation.columns),
            "relacl": acl(view),
            "relchecks": sum(1 for _ in checks(relation)),
            "relhasindex": schema != "dp" and relation.one_name in keyed,
            "relhastriggers": schema != "dp" and relation.one_name in triggered,
        }


def _of_index(key: KeyConstraint) -> Row:
    return {
        "oid": key.index_oid,
        "relname": key.index,
        "relnamespace": oids.schema_oid(key.schema),
        "relam": oids.BTREE,
        "relkind": "i",
        "relnatts": len(key.columns),
    }


def _own_rows(tables: Iterable[CatalogueTable]) -> tuple[Row, ...]:
    return tuple(
        {
            "oid": table.oid,
            "relname": table.name,
            "relnamespace": oids.SCHEMAS[table.schema],
            "relam": oids.HEAP if table.kind == "r" else 0,
            "relkind": table.kind,
            "relnatts": len(table.columns),
        }
        for table in tables
    )


def pg_class(others: Iterable[CatalogueTable]) -> CatalogueTable:
    """The table, which lists itself and the other relations of the catalogue."""

    def rows(view: CatalogueView) -> Iterator[Row]:
        yield from _user_rows(view)
        yield from own

    made = table("pg_catalog", "pg_class", rows)
    own = _own_rows((made, *others))
    return made


# pg_attribute: the columns of the relations a caller may see, and of the indexes below their keys.


def _pg_attribute_rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        oid = oids.relation_oid(schema, relation.name)
        for number, column in enumerate(relation.columns, 1):
            yield _row(oid, number, column, not_null=column.not_null)
    for key in of_tables(view):
        for number, place in enumerate(key.columns, 1):
            yield _row(key.index_oid, number, key.table.columns[place - 1], not_null=False)


def _row(oid: int, number: int, column: Column, *, not_null: bool) -> Row:
    stored = built_in()[column.type.oid]
    return {
        "attrelid": oid,
        "attname": column.name,
        "atttypid": column.type.oid,
        "attlen": stored["typlen"],
        "attnum": number,
        "attndims": 1 if column.type.oid in ARRAYS else 0,
        "atttypmod": column.type.modifier,
        "attbyval": stored["typbyval"],
        "attalign": stored["typalign"],
        "attstorage": stored["typstorage"],
        "attnotnull": not_null,
        "attcollation": stored["typcollation"],
    }


# pg_tables: the tables a caller may see.


def _pg_tables_rows(view: CatalogueView) -> Iterator[Row]:
    keyed, triggered = {key.table.one_name for key in of_tables(view)}, with_triggers(view)
    for schema, relation in view.with_schemas():
        if relation.kind == "r":
            yield {
                "schemaname": schema,
                "tablename": relation.name,
                "hasindexes": relation.one_name in keyed,
                "hastriggers": relation.one_name in triggered,
            }


# pg_views: the views a caller may see; their text is not shown.


def _pg_views_rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        if relation.kind == "v":
            yield {"schemaname": schema, "viewname": relation.name}


# pg_rewrite: the rule of each view; its definition is not shown.


def _pg_rewrite_rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        if relation.kind == "v":
            yield {
                "oid": oids.rule_oid(schema, relation.name),
                "ev_class": oids.relation_oid(schema, relation.name),
            }


PG_REWRITE = table("pg_catalog", "pg_rewrite", _pg_rewrite_rows)


# pg_description: comments on relations and their columns; of a column, the domain that is declared.


_PG_CLASS = 1259


def _pg_description_rows(view: CatalogueView) -> Iterator[Row]:
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


TABLES = (
    table("pg_catalog", "pg_attribute", _pg_attribute_rows),
    table("pg_catalog", "pg_tables", _pg_tables_rows),
    table("pg_catalog", "pg_views", _pg_views_rows),
    PG_REWRITE,
    table("pg_catalog", "pg_description", _pg_description_rows),
)
