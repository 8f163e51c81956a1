"""pg_settings: the session's settings; its rows are computed for each statement."""

from collections.abc import Iterator

from dpproxy.config.setting_checks import duration, seconds, switch
from dpproxy.config.settings import SETTINGS
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView

_INTEGERS = frozenset({"extra_float_digits", "max_identifier_length", "max_index_keys", "server_version_num"})
_FLAGS = frozenset({"in_hot_standby", "integer_datetimes", "is_superuser", "standard_conforming_strings"})
"""Those that no session sets to anything else."""


def _type(name: str) -> str:
    check = SETTINGS[name].check if name in SETTINGS else None
    if check is switch or name in _FLAGS:
        return "bool"
    return "integer" if check is duration or name in _INTEGERS else "string"


def _rows(view: CatalogueView) -> Iterator[Row]:
    for name, shown in sorted(view.settings.items()):
        has_unit = name in SETTINGS and SETTINGS[name].check is duration
        setting = str(round(seconds(shown) * 1000)) if has_unit else shown
        yield {
            "name": name,
            "setting": setting,
            "unit": "ms" if has_unit else None,
            "category": "Session",
            "short_desc": "",
            "context": "user",
            "vartype": _type(name),
            "source": "session",
            "boot_val": setting,
            "reset_val": setting,
            "pending_restart": False,
        }


TABLE = table("pg_catalog", "pg_settings", _rows)
