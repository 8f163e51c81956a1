"""Keys, foreign keys, declared domains, and the indexes of keys."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.check_text import check
from dpproxy.pgcatalog.keys import KeyConstraint, keys, of_tables
from dpproxy.pgcatalog.names import quoted_name
from dpproxy.pgcatalog.table import CatalogueTable, Row, columns, table
from dpproxy.pgcatalog.tables.types import built_in, class_of_type
from dpproxy.pgcatalog.view import CatalogueRelation, CatalogueView
from dpproxy.values.pgtypes import (
    ARRAYS,
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
)

# pg_constraint: keys, foreign keys, and the declared domains of columns as CHECK constraints.


_FOREIGN: dict[str, object] = {"confupdtype": "a", "confdeltype": "a", "confmatchtype": "s"}
_EQUAL = {
    BOOL.oid: 91, INT2.oid: 94, INT4.oid: 96, INT8.oid: 410, TEXT.oid: 98, VARCHAR.oid: 98, FLOAT4.oid: 620,
    FLOAT8.oid: 670, NUMERIC.oid: 1752, DATE.oid: 1093, TIMESTAMP.oid: 2060, TIMESTAMPTZ.oid: 1320, TIME.oid: 1108,
    INTERVAL.oid: 1330, BYTEA.oid: 1955, UUID.oid: 2972,
}  # fmt: skip
"""pg_operator.oid of = between two values of a type."""


def checks(relation: CatalogueRelation) -> Iterator[tuple[int, str, str, str]]:
    """The number of each column that has one, the constraint's name, its definition, and that with few brackets."""
    for number, column in enumerate(relation.columns, 1):
        found = check(column, relation.domains.get(column.name))
        if found is not None:
            yield number, f"{relation.name}_{column.name}_check", *found


def _pg_constraint_rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        for number, name, _, _ in checks(relation):
            oid = oids.constraint_oid(schema, relation.name, name)
            yield {
                "oid": oid,
                "conbin": f"{{CHECK {oid}}}",
                "conname": name,
                "connamespace": oids.schema_oid(schema),
                "conrelid": oids.relation_oid(schema, relation.name),
                "conkey": [number],
            }
    for key in keys(view):
        yield _of_key(key)


def _of_key(key: KeyConstraint) -> Row:
    found = {
        "connoinherit": True,
        "oid": key.oid,
        "conname": key.name,
        "connamespace": oids.schema_oid(key.schema),
        "contype": key.kind,
        "conrelid": oids.relation_oid(key.schema, key.table.name),
        "conindid": key.index_oid,
        "conkey": list(key.columns),
    }
    if key.target is None:
        return found
    types = [key.table.columns[number - 1].type.oid for number in key.columns]
    others = [key.target.columns[number - 1].type.oid for number in key.referenced]
    equal = [_EQUAL.get(a) if a == b else None for a, b in zip(types, others, strict=True)]
    operators = None if None in equal else equal
    return found | {
        **_FOREIGN,
        "confrelid": oids.relation_oid(key.target.schema, key.target.name),
        "confkey": list(key.referenced),
        **dict.fromkeys(("conpfeqop", "conppeqop", "conffeqop"), operators),
    }


def _pg_constraint_texts(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        for _, name, plain, pretty in checks(relation):
            oid = oids.constraint_oid(schema, relation.name, name)
            yield {"internal_oid": oid, "internal_plain": plain, "internal_pretty": pretty}
    for key in keys(view):
        yield {"internal_oid": key.oid, "internal_plain": key.definition, "internal_pretty": key.definition}


PG_CONSTRAINT = table("pg_catalog", "pg_constraint", _pg_constraint_rows)
PG_CONSTRAINT_TEXTS = CatalogueTable(
    "internal",
    "constraint_texts",
    0,
    columns("internal_oid:oid internal_plain internal_pretty"),
    _pg_constraint_texts,
)
"""pg_get_constraintdef; no client can read it."""


# pg_index and pg_indexes: an index below every primary key and unique constraint, as PostgreSQL has.


def _pg_index_rows(view: CatalogueView) -> Iterator[Row]:
    for key in of_tables(view):
        stored = [key.table.columns[number - 1].type.oid for number in key.columns]
        yield {
            "indexrelid": key.index_oid,
            "indrelid": oids.relation_oid(key.schema, key.table.name),
            "indnatts": len(key.columns),
            "indnkeyatts": len(key.columns),
            "indisprimary": key.kind == "p",
            "indkey": list(key.columns),
            "indcollation": [built_in()[of]["typcollation"] for of in stored],
            "indclass": [class_of_type(of, is_array=of in ARRAYS) for of in stored],
            "indoption": [0] * len(stored),
        }


def _index_rows(view: CatalogueView) -> Iterator[Row]:
    for key in of_tables(view):
        yield {
            "schemaname": key.schema,
            "tablename": key.table.name,
            "indexname": key.index,
            "indexdef": key.index_definition(),
        }


def _pg_index_texts(view: CatalogueView) -> Iterator[Row]:
    """The definitions by position: 0 is the whole index, others its columns."""
    for key in of_tables(view):
        yield _text(key, 0, key.index_definition(), key.index_definition(short=True))
        for place, name in enumerate(key.names, 1):
            yield _text(key, place, quoted_name(name), quoted_name(name))


def _text(key: KeyConstraint, place: int, plain: str, pretty: str) -> Row:
    return {
        "internal_oid": key.index_oid,
        "internal_place": place,
        "internal_plain": plain,
        "internal_pretty": pretty,
    }


PG_INDEX_TEXTS = CatalogueTable(
    "internal",
    "index_texts",
    0,
    columns("internal_oid:oid internal_place:int4 internal_plain internal_pretty"),
    _pg_index_texts,
)
"""pg_get_indexdef; no client can read it."""

TABLES = (
    PG_CONSTRAINT,
    table("pg_catalog", "pg_index", _pg_index_rows),
    table("pg_catalog", "pg_indexes", _index_rows),
)
