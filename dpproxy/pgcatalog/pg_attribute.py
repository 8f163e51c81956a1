"""pg_attribute: the columns of the relations a caller may see, and of the indexes below their keys."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.keys import of_tables
from dpproxy.pgcatalog.pg_type import built_in
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.pgtypes import ARRAYS, Column

_DEFAULTS: dict[str, object] = {
    "attstattarget": -1,
    "attcacheoff": -1,
    "attcompression": "",
    "atthasdef": False,
    "atthasmissing": False,
    "attidentity": "",
    "attgenerated": "",
    "attisdropped": False,
    "attislocal": True,
    "attinhcount": 0,
}


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        oid = oids.relation_oid(schema, relation.name)
        for number, column in enumerate(relation.columns, 1):
            yield _row(oid, number, column, not_null=column.not_null)
    for key in of_tables(view):
        for number, place in enumerate(key.columns, 1):
            yield _row(key.index_oid, number, key.table.columns[place - 1], not_null=False)


def _row(oid: int, number: int, column: Column, *, not_null: bool) -> Row:
    stored = built_in()[column.type.oid]
    return _DEFAULTS | {
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


TABLE = table("pg_catalog", "pg_attribute", _rows)
