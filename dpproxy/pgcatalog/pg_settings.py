"""pg_settings: the settings of the session; its rows come with each statement."""

from collections.abc import Iterator

from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    for name, setting in sorted(view.settings.items()):
        yield {
            "name": name,
            "setting": setting,
            "category": "Session",
            "short_desc": "",
            "context": "user",
            "vartype": "string",
            "source": "session",
            "boot_val": setting,
            "reset_val": setting,
            "pending_restart": False,
        }


TABLE = table(
    "pg_catalog",
    "pg_settings",
    12104,
    "name setting unit category short_desc extra_desc context vartype source min_val max_val "
    "enumvals:text[] boot_val reset_val sourcefile sourceline:int4 pending_restart:bool",
    _rows,
    kind="v",
)
