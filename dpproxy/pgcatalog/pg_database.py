"""pg_database: the data sources, all of which any user may connect to."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView

UTF8 = 6
"""pg_database.encoding."""


def _rows(view: CatalogueView) -> Iterator[Row]:
    for name in dict.fromkeys((view.database, *view.databases)):
        yield _row(name)


def _row(name: str) -> Row:
    return {
        "oid": oids.database(name),
        "datname": name,
        "datdba": oids.OWNER,
        "encoding": UTF8,
        "datlocprovider": "c",
        "datistemplate": False,
        "datallowconn": True,
        "datconnlimit": -1,
        "datfrozenxid": 1,
        "datminmxid": 1,
        "dattablespace": 1663,
        "datcollate": "C",
        "datctype": "C.UTF-8",
    }


TABLE = table("pg_catalog", "pg_database", _rows)
