from datetime import timedelta

from dpproxy.pgcatalog import CatalogueView
from dpproxy.pgcatalog.pg_timezone_names import TABLE
from dpproxy.wire.zones import zone


def test_every_zone_can_be_set(view: CatalogueView):
    rows = {str(row["name"]): row for row in TABLE.rows(view)}
    assert rows["Asia/Kolkata"]["utc_offset"] == timedelta(hours=5.5)
    assert rows["UTC"]["is_dst"] is False
    assert all(zone(name) for name in rows)
