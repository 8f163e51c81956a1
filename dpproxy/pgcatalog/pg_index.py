"""pg_index and pg_indexes: an index below every primary key and unique constraint, as PostgreSQL has."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids, pg_opclass
from dpproxy.pgcatalog.keys import Key, of_tables
from dpproxy.pgcatalog.names import quoted_name
from dpproxy.pgcatalog.pg_type import built_in
from dpproxy.pgcatalog.table import Row, Table, columns, table
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.pgtypes import ARRAYS


def _rows(view: CatalogueView) -> Iterator[Row]:
    for key in of_tables(view):
        stored = [key.table.columns[number - 1].type.oid for number in key.columns]
        yield {
            "indexrelid": key.index_oid,
            "indrelid": oids.relation_oid(key.schema, key.table.name),
            "indnatts": len(key.columns),
            "indnkeyatts": len(key.columns),
            "indisunique": True,
            "indnullsnotdistinct": False,
            "indisprimary": key.kind == "p",
            "indisexclusion": False,
            "indimmediate": True,
            "indisclustered": False,
            "indisvalid": True,
            "indcheckxmin": False,
            "indisready": True,
            "indislive": True,
            "indisreplident": False,
            "indkey": list(key.columns),
            "indcollation": [built_in()[of]["typcollation"] for of in stored],
            "indclass": [pg_opclass.of_type(of, is_array=of in ARRAYS) for of in stored],
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


def _texts(view: CatalogueView) -> Iterator[Row]:
    """The definitions by position: 0 is the whole index, others its columns."""
    for key in of_tables(view):
        yield _text(key, 0, key.index_definition(), key.index_definition(short=True))
        for place, name in enumerate(key.names, 1):
            yield _text(key, place, quoted_name(name), quoted_name(name))


def _text(key: Key, place: int, plain: str, pretty: str) -> Row:
    return {
        "internal_oid": key.index_oid,
        "internal_place": place,
        "internal_plain": plain,
        "internal_pretty": pretty,
    }


TABLE = table("pg_catalog", "pg_index", _rows)
VIEW = table("pg_catalog", "pg_indexes", _index_rows)
TEXTS = Table(
    "internal",
    "index_texts",
    0,
    columns("internal_oid:oid internal_place:int4 internal_plain internal_pretty"),
    _texts,
)
"""pg_get_indexdef; no client can read it."""
