"""pg_namespace: the four schemas."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(_view: CatalogueView) -> Iterator[Row]:
    for name, oid in oids.SCHEMAS.items():
        yield {"oid": oid, "nspname": name, "nspowner": oids.OWNER}


TABLE = table("pg_catalog", "pg_namespace", _rows)
