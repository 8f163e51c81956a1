"""The database, its schemas and settings, the session, the zones."""

from collections.abc import Iterator
from datetime import UTC, timedelta
from zoneinfo import ZoneInfo, available_timezones

from dpproxy.analysis.present import present_of
from dpproxy.config.setting_checks import duration, seconds, switch
from dpproxy.config.settings import SETTINGS
from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.tables.roles import role_oids
from dpproxy.pgcatalog.view import CatalogueView

# pg_database: the data sources, all of which any user may connect to.


def _pg_database_rows(view: CatalogueView) -> Iterator[Row]:
    for name in dict.fromkeys((view.database, *view.databases)):
        yield {"oid": oids.database(name), "datname": name}


# pg_namespace: the schemas.


def _pg_namespace_rows(view: CatalogueView) -> Iterator[Row]:
    for name, oid in view.schemas.items():
        yield {"oid": oid, "nspname": name}


PG_NAMESPACE = table("pg_catalog", "pg_namespace", _pg_namespace_rows)


# pg_settings: the session's settings; its rows are computed for each statement.


_INTEGERS = frozenset({"extra_float_digits", "max_identifier_length", "max_index_keys", "server_version_num"})
_FLAGS = frozenset({"in_hot_standby", "integer_datetimes", "is_superuser", "standard_conforming_strings"})
"""Those that no session sets to anything else."""


def _type(name: str) -> str:
    check = SETTINGS[name].check if name in SETTINGS else None
    if check is switch or name in _FLAGS:
        return "bool"
    return "integer" if check is duration or name in _INTEGERS else "string"


def _pg_settings_rows(view: CatalogueView) -> Iterator[Row]:
    for name, shown in sorted(view.settings.items()):
        has_unit = name in SETTINGS and SETTINGS[name].check is duration
        setting = str(round(seconds(shown) * 1000)) if has_unit else shown
        yield {
            "name": name,
            "setting": setting,
            "unit": "ms" if has_unit else None,
            "vartype": _type(name),
            "boot_val": setting,
            "reset_val": setting,
        }


# pg_stat_activity: the caller's own session alone, with what the caller knows of it.  Its row is computed
# for each statement. Other sessions are not shown, nor are the times and the statement of one's own.


def _pg_stat_activity_rows(view: CatalogueView) -> Iterator[Row]:
    yield {
        "datid": oids.database(view.database),
        "datname": view.database,
        "pid": view.process,
        "usesysid": role_oids(view)[view.user],
        "usename": view.user,
        "application_name": view.settings.get("application_name", ""),
    }


# pg_timezone_names: the zones that a session may set, each as it is now; its rows come with each
# statement.


def _pg_timezone_names_rows(view: CatalogueView) -> Iterator[Row]:
    now = present_of(view.settings).began.replace(tzinfo=UTC)
    for name in sorted(available_timezones()):
        local = now.astimezone(ZoneInfo(name))
        yield {
            "name": name,
            "abbrev": local.tzname(),
            "utc_offset": local.utcoffset(),
            "is_dst": local.dst() not in (None, timedelta()),
        }


PG_TIMEZONE_NAMES = table("pg_catalog", "pg_timezone_names", _pg_timezone_names_rows)

TABLES = (
    table("pg_catalog", "pg_database", _pg_database_rows),
    PG_NAMESPACE,
    table("pg_catalog", "pg_settings", _pg_settings_rows),
    table("pg_catalog", "pg_stat_activity", _pg_stat_activity_rows),
    PG_TIMEZONE_NAMES,
)
