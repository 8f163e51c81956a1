"""information_schema.enabled_roles: the caller alone."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    yield {"role_name": view.user}


TABLE = table(
    "information_schema",
    "enabled_roles",
    13325,
    "role_name",
    _rows,
    kind="v",
)
