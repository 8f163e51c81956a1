"""pg_stat_activity: the caller's own session alone, with what the caller knows of it.

Its row is computed for each statement. Other sessions are not shown, nor are the times and the statement of one's own.
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
