"""pg_timezone_names: the zones that a session may set, each as it is now; its rows come with each statement."""

from collections.abc import Iterator
from datetime import UTC, timedelta
from zoneinfo import ZoneInfo, available_timezones

from dpproxy.analysis.present import present_of
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(view: CatalogueView) -> Iterator[Row]:
    now = present_of(view.settings).began.replace(tzinfo=UTC)
    for name in sorted(available_timezones()):
        local = now.astimezone(ZoneInfo(name))
        yield {
            "name": name,
            "abbrev": local.tzname(),
            "utc_offset": local.utcoffset(),
            "is_dst": local.dst() not in (None, timedelta()),
        }


TABLE = table("pg_catalog", "pg_timezone_names", _rows)
