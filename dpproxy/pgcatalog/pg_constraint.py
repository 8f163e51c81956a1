"""pg_constraint: the declared domains of columns, as CHECK constraints."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.check_text import check
from dpproxy.pgcatalog.table import Row, Table, columns, table
from dpproxy.pgcatalog.view import CatalogueView, Relation

_DEFAULTS: dict[str, object] = {
    "contype": "c",
    "condeferrable": False,
    "condeferred": False,
    "convalidated": True,
    "contypid": 0,
    "conindid": 0,
    "conparentid": 0,
    "confrelid": 0,
    "confupdtype": " ",
    "confdeltype": " ",
    "confmatchtype": " ",
    "conislocal": True,
    "coninhcount": 0,
    "connoinherit": False,
}


def checks(relation: Relation) -> Iterator[tuple[int, str, str, str]]:
    """The number of each column that has one, the constraint's name, its definition, and that with few brackets."""
    for number, column in enumerate(relation.columns, 1):
        found = check(column, relation.domains.get(column.name))
        if found is not None:
            yield number, f"{relation.name}_{column.name}_check", *found


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.named():
        for number, name, _, _ in checks(relation):
            yield _DEFAULTS | {
                "oid": oids.constraint_oid(schema, relation.name, name),
                "conname": name,
                "connamespace": oids.SCHEMAS[schema],
                "conrelid": oids.relation_oid(schema, relation.name),
                "conkey": [number],
            }


def _texts(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.named():
        for _, name, plain, pretty in checks(relation):
            oid = oids.constraint_oid(schema, relation.name, name)
            yield {"internal_oid": oid, "internal_plain": plain, "internal_pretty": pretty}


TABLE = table(
    "pg_catalog",
    "pg_constraint",
    2606,
    "oid:oid conname connamespace:oid contype condeferrable:bool condeferred:bool "
    "convalidated:bool conrelid:oid contypid:oid conindid:oid conparentid:oid confrelid:oid "
    "confupdtype confdeltype confmatchtype conislocal:bool coninhcount:int4 connoinherit:bool "
    "conkey:int2[] confkey:int2[] conpfeqop:oid[] conppeqop:oid[] conffeqop:oid[] "
    "confdelsetcols:int2[] conexclop:oid[] conbin",
    _rows,
)
TEXTS = Table(
    "internal", "constraint_texts", 0, columns("internal_oid:oid internal_plain internal_pretty"), _texts
)
"""pg_get_constraintdef; no client can read it."""
