"""pg_auth_members: the roles that the caller has; those of others are not shown."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.pg_roles import role_oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    roles = role_oids(view)
    for name in view.caller_roles:
        if name != view.user:
            yield {
                "roleid": roles[name],
                "member": roles[view.user],
                "grantor": oids.OWNER,
                "admin_option": False,
            }


TABLE = table("pg_catalog", "pg_auth_members", _rows)
