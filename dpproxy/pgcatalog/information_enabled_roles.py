"""information_schema.enabled_roles: the caller and the roles that the caller has."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for name in dict.fromkeys((view.user, *view.caller_roles)):
        yield {"role_name": name}


TABLE = table("information_schema", "enabled_roles", _rows)
