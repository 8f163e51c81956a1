"""pg_tablespace: the default one, and the one of what all databases share."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(_view: CatalogueView) -> Iterator[Row]:
    yield {"oid": 1663, "spcname": "pg_default", "spcowner": oids.OWNER}
    yield {"oid": 1664, "spcname": "pg_global", "spcowner": oids.OWNER}


TABLE = table("pg_catalog", "pg_tablespace", _rows)
