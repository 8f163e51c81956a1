"""Types, and the operator classes of their B-trees."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.pgtypes import RECORD, TEXT, VARCHAR

# pg_type: the built-in types that clients look for, their arrays, and the row types of relations.


@cache
def built_in() -> dict[int, Mapping[str, Any]]:
    """The types of PostgreSQL that exist here, by OID: rows of pg_type with ``display``, what format_type answers."""
    return {row["oid"]: row for row in facts("pg_type")}


def _row(fact: Row) -> Row:
    row = {"typsubscript": "array_subscript_handler" if fact["typelem"] else "-", **fact}
    del row["display"]
    return row


def _rows(view: CatalogueView) -> Iterator[Row]:
    yield from map(_row, built_in().values())
    record = built_in()[RECORD.oid]
    records = built_in()[record["typarray"]]
    for schema, relation in view.with_schemas():
        name = relation.name
        row, array = oids.row_type_oid(schema, name), oids.row_array_oid(schema, name)
        own = {"typname": name, "typtype": "c", "typcategory": "C", "oid": row, "typarray": array}
        own_array = {"typname": f"_{name}", "typtype": "b", "typcategory": "A", "oid": array, "typelem": row}
        namespace = {"typnamespace": oids.schema_oid(schema)}
        yield {**_row(record), **own, **namespace, "typrelid": oids.relation_oid(schema, name)}
        yield {**_row(records), **own_array, **namespace}


PG_TYPE = table("pg_catalog", "pg_type", _rows)


# pg_opclass: operator classes of B-trees, the only indexes here.


_ARRAYS = 2277
"""anyarray."""


@cache
def _of_types() -> dict[int, int]:
    return {row["opcintype"]: row["oid"] for row in facts("pg_opclass")}


def class_of_type(oid: int, *, is_array: bool) -> int:
    """The OID of the default class for a type; 0 where PostgreSQL has none."""
    compared = TEXT.oid if oid == VARCHAR.oid else oid
    return _of_types().get(_ARRAYS if is_array else compared, 0)


TABLES = (PG_TYPE,)
