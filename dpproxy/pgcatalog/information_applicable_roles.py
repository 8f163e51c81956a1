"""information_schema.applicable_roles: the roles that the caller has."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for name in view.caller_roles:
        if name != view.user:
            yield {"grantee": view.user, "role_name": name, "is_grantable": "NO"}


TABLE = table("information_schema", "applicable_roles", _rows)
