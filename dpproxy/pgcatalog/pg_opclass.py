"""pg_opclass: how the indexes here compare the values of a type; all of them are B-trees."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView

BTREE = 403
"""pg_am.oid of btree."""
_ARRAYS = 2277
"""anyarray."""
_CLASSES = """
int4_ops 1978 1976 23
int2_ops 1979 1976 21
oid_ops 1981 1989 26
date_ops 3122 434 1082
float8_ops 3123 1970 701
int8_ops 3124 1976 20
numeric_ops 3125 1988 1700
text_ops 3126 1994 25
timestamptz_ops 3127 434 1184
timestamp_ops 3128 434 1114
array_ops 10000 397 2277
bool_ops 10003 424 16
bpchar_ops 10004 426 1042
bytea_ops 10006 428 17
char_ops 10007 429 18
float4_ops 10012 1970 700
interval_ops 10022 1982 1186
name_ops 10028 1994 19
time_ops 10038 1996 1083
timetz_ops 10041 2000 1266
uuid_ops 10065 2968 2950
jsonb_ops 10088 4033 3802
"""
"""Facts of PostgreSQL 15: the default class of each type, by name: its number, its family and the type."""
_ROWS = [
    (name, int(number), int(family), int(kind))
    for name, number, family, kind in (line.split() for line in _CLASSES.strip().splitlines())
]
_OF_TYPES = {kind: number for _, number, _, kind in _ROWS}
_AS_TEXT = 1043
"""varchar, whose values are compared as texts."""


def of_type(oid: int, *, is_array: bool) -> int:
    """The number of the class for a type; 0 where PostgreSQL has none."""
    found = _OF_TYPES.get(_ARRAYS if is_array else oid)
    return found or (_OF_TYPES[25] if oid == _AS_TEXT else 0)


def _rows(_view: CatalogueView) -> Iterator[Row]:
    for name, number, family, kind in _ROWS:
        yield {
            "oid": number,
            "opcmethod": BTREE,
            "opcname": name,
            "opcnamespace": oids.SCHEMAS["pg_catalog"],
            "opcowner": oids.OWNER,
            "opcfamily": family,
            "opcintype": kind,
            "opcdefault": True,
            "opckeytype": 2275 if name == "name_ops" else 0,
        }


TABLE = table(
    "pg_catalog",
    "pg_opclass",
    2616,
    "oid:oid opcmethod:oid opcname opcnamespace:oid opcowner:oid opcfamily:oid opcintype:oid opcdefault:bool "
    "opckeytype:oid",
    _rows,
)
