"""pg_user: the caller."""

from collections.abc import Iterator

from dpproxy.pgcatalog.pg_roles import config, role_oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    yield {
        "usename": view.user,
        "usesysid": role_oids(view)[view.user],
        "usecreatedb": False,
        "usesuper": False,
        "userepl": False,
        "usebypassrls": False,
        "passwd": "********",
        "useconfig": config(view, view.user),
    }


TABLE = table("pg_catalog", "pg_user", _rows)
