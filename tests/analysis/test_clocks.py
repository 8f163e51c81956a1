"""Clocks of zones, against PostgreSQL and against the definition of a change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import psycopg
import pytest

from dpproxy.analysis.clocks import changes, fixed_offset, local_of, offset_at, utc_of
from dpproxy.wire.zones import zone
from tests.postgres import Server

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia")
FIRST, LAST = datetime(2009, 1, 1), datetime(2013, 1, 1)  # noqa: DTZ001 - of UTC


@pytest.mark.parametrize("name", ZONES)
def test_local_times_and_moments_are_those_of_postgresql(name: str, postgres: Server) -> None:
    found = changes(ZoneInfo(name), FIRST, LAST)
    assert found is not None
    near = [c.at + timedelta(minutes=m) for c in found for m in (-90, -61, -30, -1, 0, 1, 29, 59, 60, 90)]
    near += [FIRST, LAST]
    with psycopg.connect(postgres.url()) as connection:
        for moment in near:
            row = connection.execute(
                "SELECT %s::timestamptz AT TIME ZONE %s, (%s::timestamp AT TIME ZONE %s) AT TIME ZONE 'UTC'",
                (moment.replace(tzinfo=UTC), name, local_of(moment, ZoneInfo(name)), name),
            ).fetchone()
            shown = local_of(moment, ZoneInfo(name))
            assert row == (shown, utc_of(shown, ZoneInfo(name)))
            skipped = moment + offset_at(
                ZoneInfo(name), moment - timedelta(hours=2)
            )  # shown by no clock, perhaps
            again = connection.execute(
                "SELECT (%s::timestamp AT TIME ZONE %s) AT TIME ZONE 'UTC'", (skipped, name)
            ).fetchone()
            assert again == (utc_of(skipped, ZoneInfo(name)),)


@pytest.mark.parametrize("name", ZONES)
def test_between_changes_the_offset_stays(name: str) -> None:
    found = changes(ZoneInfo(name), FIRST, LAST)
    assert found is not None
    for change in found:
        assert offset_at(ZoneInfo(name), change.at) == change.after
        assert offset_at(ZoneInfo(name), change.at - timedelta(microseconds=1)) == change.before
    day = FIRST
    while day < LAST:
        told = next((c.after for c in reversed(found) if c.at <= day), found[0].before if found else None)
        assert told in (None, offset_at(ZoneInfo(name), day))
        day += timedelta(hours=7)


def test_too_many_changes_are_none() -> None:
    assert changes(ZoneInfo("Europe/Berlin"), datetime(1900, 1, 1), datetime(2100, 1, 1)) is None  # noqa: DTZ001
    assert changes(ZoneInfo("Europe/Berlin"), datetime(1, 1, 1), LAST) is None  # noqa: DTZ001


def test_offsets_that_never_change() -> None:
    assert fixed_offset(UTC) == timedelta()
    assert fixed_offset(zone("-3.5")) == timedelta(hours=-3, minutes=-30)
    assert fixed_offset(ZoneInfo("Europe/Berlin")) is None
