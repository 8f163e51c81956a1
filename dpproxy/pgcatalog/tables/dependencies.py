"""pg_depend: dependencies of relations, keys, checks and views; the tables that a view reads are not shown."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.keys import KeyConstraint, keys
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.tables.classes import PG_REWRITE
from dpproxy.pgcatalog.tables.constraints import PG_CONSTRAINT, checks
from dpproxy.pgcatalog.tables.server import PG_NAMESPACE
from dpproxy.pgcatalog.tables.types import PG_TYPE
from dpproxy.pgcatalog.view import CatalogueRelation, CatalogueView

_CLASS = 1259
"""The oid of pg_class."""
_CONSTRAINT = PG_CONSTRAINT.oid
_NAMESPACE = PG_NAMESPACE.oid
_RULE = PG_REWRITE.oid
_TYPE = PG_TYPE.oid

Place = tuple[int, int, int]
"""An object's catalogue, its OID there, and the number of its column or 0."""


def _row(of: Place, on: Place, kind: str) -> Row:
    return {
        "classid": of[0],
        "objid": of[1],
        "objsubid": of[2],
        "refclassid": on[0],
        "refobjid": on[1],
        "refobjsubid": on[2],
        "deptype": kind,
    }


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        yield from _of_relation(schema, relation)
    for key in keys(view):
        yield from _of_key(key)


def _of_relation(schema: str, relation: CatalogueRelation) -> Iterator[Row]:
    oid = oids.relation_oid(schema, relation.name)
    whole, row_type = (_CLASS, oid, 0), (_TYPE, oids.row_type_oid(schema, relation.name), 0)
    yield _row(whole, (_NAMESPACE, oids.schema_oid(schema), 0), "n")
    yield _row(row_type, whole, "i")
    yield _row((_TYPE, oids.row_array_oid(schema, relation.name), 0), row_type, "i")
    if relation.kind == "v":
        rule = _RULE, oids.rule_oid(schema, relation.name), 0
        yield from (_row(rule, whole, kind) for kind in "in")
    for number, name, _, _ in checks(relation):
        check = _CONSTRAINT, oids.constraint_oid(schema, relation.name, name), 0
        yield from (_row(check, (_CLASS, oid, number), kind) for kind in "an")


def _of_key(key: KeyConstraint) -> Iterator[Row]:
    """An index belongs to its key, a foreign key refers to the index of another."""
    constraint, index = (_CONSTRAINT, key.oid, 0), (_CLASS, key.index_oid, 0)
    own = oids.relation_oid(key.schema, key.table.name)
    yield from (_row(constraint, (_CLASS, own, number), "a") for number in key.columns)
    if key.target is None:
        yield _row(index, constraint, "i")
        return
    other = oids.relation_oid(key.target.schema, key.target.name)
    yield from (_row(constraint, (_CLASS, other, number), "n") for number in key.referenced)
    yield _row(constraint, index, "n")


PG_DEPEND = table("pg_catalog", "pg_depend", _rows)

TABLES = (PG_DEPEND,)
