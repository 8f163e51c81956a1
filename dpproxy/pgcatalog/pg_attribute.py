"""pg_attribute: the columns of the relations a caller may see, and of the indexes below their keys."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.keys import of_tables
from dpproxy.pgcatalog.pg_type import BY_OID
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
    for schema, relation in view.named():
        oid = oids.relation_oid(schema, relation.name)
        for number, column in enumerate(relation.columns, 1):
            yield _row(oid, number, column, not_null=column.not_null)
    for key in of_tables(view):
        for number, place in enumerate(key.columns, 1):
            yield _row(key.index_oid, number, key.table.columns[place - 1], not_null=False)


def _row(oid: int, number: int, column: Column, *, not_null: bool) -> Row:
    stored = BY_OID[column.type.oid]
    return _DEFAULTS | {
        "attrelid": oid,
        "attname": column.name,
        "atttypid": stored.oid,
        "attlen": stored.size,
        "attnum": number,
        "attndims": 1 if column.type.oid in ARRAYS else 0,
        "atttypmod": column.type.modifier,
        "attbyval": stored.by_value,
        "attalign": stored.align,
        "attstorage": stored.storage,
        "attnotnull": not_null,
        "attcollation": stored.collation,
    }


TABLE = table(
    "pg_catalog",
    "pg_attribute",
    1249,
    "attrelid:oid attname atttypid:oid attstattarget:int4 attlen:int2 attnum:int2 attndims:int4 "
    "attcacheoff:int4 atttypmod:int4 attbyval:bool attalign attstorage attcompression "
    "attnotnull:bool atthasdef:bool atthasmissing:bool attidentity attgenerated attisdropped:bool "
    "attislocal:bool attinhcount:int4 attcollation:oid attacl:text[] attoptions:text[] "
    "attfdwoptions:text[] attmissingval",
    _rows,
)
