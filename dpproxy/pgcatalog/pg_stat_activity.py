"""pg_stat_activity: the caller's own session alone, with what the caller knows of it.

Its row comes with each statement. Of other sessions nothing is shown, not even that there are any, and of one's own
neither moments nor the statement.
"""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.pg_roles import role_oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    yield {
        "datid": oids.database(view.database),
        "datname": view.database,
        "pid": view.process,
        "usesysid": role_oids(view)[view.user],
        "usename": view.user,
        "application_name": view.settings.get("application_name", ""),
        "state": "active",
        "backend_type": "client backend",
    }


TABLE = table("pg_catalog", "pg_stat_activity", _rows)
