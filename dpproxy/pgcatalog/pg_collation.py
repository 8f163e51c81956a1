"""pg_collation: the two collations that columns may name."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(_view: CatalogueView) -> Iterator[Row]:
    for oid, name, provider in ((100, "default", "d"), (950, "C", "c")):
        yield {
            "oid": oid,
            "collname": name,
            "collnamespace": oids.CATALOGUE,
            "collowner": oids.OWNER,
            "collprovider": provider,
            "collisdeterministic": True,
            "collencoding": -1,
            "collcollate": None if provider == "d" else name,
            "collctype": None if provider == "d" else name,
        }


TABLE = table(
    "pg_catalog",
    "pg_collation",
    3456,
    "oid:oid collname collnamespace:oid collowner:oid collprovider collisdeterministic:bool "
    "collencoding:int4 collcollate collctype colliculocale collversion",
    _rows,
)
