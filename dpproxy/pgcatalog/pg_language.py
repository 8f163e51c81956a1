"""pg_language: SQL, and that of functions that are compiled in."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(_view: CatalogueView) -> Iterator[Row]:
    for oid, name, trusted in ((12, "internal", False), (14, "sql", True)):
        yield {
            "oid": oid,
            "lanname": name,
            "lanowner": oids.OWNER,
            "lanispl": False,
            "lanpltrusted": trusted,
            "lanplcallfoid": 0,
            "laninline": 0,
            "lanvalidator": 0,
        }


TABLE = table("pg_catalog", "pg_language", _rows)
