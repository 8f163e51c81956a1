"""pg_db_role_setting: the settings that sessions of a role start with."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.pg_roles import role_oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    roles = role_oids(view)
    for role, database, told in view.role_defaults:
        yield {
            "setdatabase": oids.database(database) if database else 0,
            "setrole": roles[role] if role else 0,
            "setconfig": list(told),
        }


TABLE = table("pg_catalog", "pg_db_role_setting", _rows)
