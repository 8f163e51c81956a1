"""Questions about moments: the same answers as PostgreSQL's, in zones with and without changing clocks."""

# ruff: noqa: ISC004 - statements written out

from datetime import UTC, datetime
from functools import cache

import psycopg
import pytest

from dpproxy.config.settings import PRESENT, moments
from dpproxy.values.errors import Refusal
from tests.golden.world import World, build, plan_of
from tests.planner.answers import answered
from tests.postgres import Server

_ROWS = (
    "('2024-03-31 00:30:00', '2024-03-31', 1), ('2024-03-31 01:30:00', '2024-03-30', 2), "
    "('2024-03-31 02:30:00', '2024-03-31', 3), ('2024-03-31 03:30:00', '2024-04-01', 4), "
    "('2024-10-27 00:30:00', '2024-10-27', 5), ('2024-10-27 01:30:00', '2024-10-26', 6), "
    "('2024-10-27 02:30:00', '2024-10-28', 7), ('2024-10-27 03:30:00', '2024-10-27', 8), "
    "('2024-12-31 23:59:59.999999', '2024-12-31', 9), ('2024-01-01 00:00:00', '2024-01-01', 10)"
)
CREATE = "CREATE TABLE ev (ts timestamp, d date, n integer)"
INSERT = f"INSERT INTO ev VALUES {_ROWS}"
ZONED = (
    "CREATE TABLE zev (seen timestamptz, n integer)",
    "INSERT INTO zev VALUES ('2024-03-31 00:30:00+00', 1), ('2024-03-31 01:30:00+00', 2), "
    "('2024-03-31 02:30:00+00', 3), ('2024-03-31 05:30:00+02', 4), ('2024-10-27 00:30:00+00', 5), "
    "('2024-10-27 01:30:00+00', 6), ('2024-10-27 02:30:00+00', 7), ('2024-10-27 03:30:00+00', 8), "
    "('2024-12-31 23:59:59.999999+00', 9), ('2024-01-01 00:00:00+00', 10), (NULL, 11)",
)


@cache
def world() -> World:
    return build(
        (
            CREATE,
            INSERT,
            "ALTER TABLE ev SET PRIVACY KEY ROW",
            "ALTER TABLE ev ALTER COLUMN ts SET PRIVACY DOMAIN BETWEEN '2024-01-01' AND '2024-12-31 23:59:59.999999'",
            "ALTER TABLE ev ALTER COLUMN d SET PRIVACY DOMAIN BETWEEN '2024-01-01' AND '2024-12-31'",
            "ALTER TABLE ev ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN 0 AND 100",
            "CREATE TABLE old (seen timestamptz)",
            "ALTER TABLE old SET PRIVACY KEY ROW",
            "ALTER TABLE old ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN '1880-01-01' AND '1900-01-01'",
            *ZONED,
            "ALTER TABLE zev SET PRIVACY KEY ROW",
            "ALTER TABLE zev ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN '2024-01-01' "
            "AND '2024-12-31 23:59:59.999999+00'",
            "ALTER TABLE zev ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN 0 AND 100",
        )
    )


QUESTIONS = (
    "SELECT count(*) FROM ev WHERE ts >= now() - interval '2 years'",
    "SELECT count(*) FROM ev WHERE ts < now() AND d <= current_date AND d > current_date - 3650",
    "SELECT count(*) FROM ev WHERE ts BETWEEN '2024-03-31T00:30:00Z'::timestamptz AND '2024-10-27'::timestamptz",
    "SELECT sum(n) FROM ev WHERE ts >= timestamptz '2024-03-31 01:00:00+00'",
    "SELECT sum(n) FROM ev WHERE ts < timestamptz '2024-10-27 01:00:00+00'",
    "SELECT sum(n) FROM ev WHERE ts <= timestamptz '2024-10-27 00:45:00+00'",
    "SELECT sum(n) FROM ev WHERE d >= timestamptz '2024-10-26 22:00:00+00'",
    "SELECT sum(n) FROM ev WHERE ts::timestamptz > '2024-10-27 01:30'",
    "SELECT date_trunc('day', ts AT TIME ZONE 'UTC'), count(*) FROM ev GROUP BY 1",
    "SELECT DATE_TRUNC('month', \"ev\".\"ts\" AT TIME ZONE 'UTC'), sum(n) FROM ev "
    "GROUP BY DATE_TRUNC('month', \"ev\".\"ts\" AT TIME ZONE 'UTC')",
    "SELECT date_trunc('day', (ev.ts::timestamptz AT TIME ZONE 'UTC')), sum(n) FROM ev AS ev GROUP BY 1",
    "SELECT date_trunc('day', (ts::timestamptz AT TIME ZONE 'America/New_York')), sum(n) FROM ev GROUP BY 1",
    "SELECT date_trunc('month', ts AT TIME ZONE 'Europe/Berlin'), sum(n) FROM ev GROUP BY 1",
    "SELECT (ts AT TIME ZONE 'Asia/Tokyo')::date, sum(n) FROM ev GROUP BY 1",
    "SELECT extract(hour FROM ts::timestamptz), sum(n) FROM ev GROUP BY 1",
    "SELECT floor(extract(epoch FROM ts) / 86400) * 86400 AS time, count(*) FROM ev GROUP BY time",
    "SELECT floor(extract(epoch FROM ts) / 300) * 300 AS time, sum(n) FROM ev "
    "WHERE ts BETWEEN '2024-10-27T00:00:00Z' AND '2024-10-27T06:00:00Z' GROUP BY 1",
    "SELECT floor(extract(epoch FROM ts::timestamptz) / 86400) * 86400, sum(n) FROM ev GROUP BY 1",
    "SELECT date_trunc('week', ts::timestamptz, 'Europe/Berlin'), sum(n) FROM ev GROUP BY 1",
    "SELECT date_trunc('hour', ts::timestamptz), sum(n) FROM ev GROUP BY 1",
    "SELECT date_trunc('hour', ts::timestamptz, 'Asia/Kathmandu'), sum(n) FROM ev GROUP BY 1",
    "SELECT date_trunc('month', d::timestamp), sum(n) FROM ev WHERE d < date_trunc('year', now()) GROUP BY 1",
    "SELECT sum(n) FROM ev WHERE ts + interval '1 day' < '2024-04-01'::timestamptz",
    "SELECT sum(n) FROM ev WHERE ts::timestamptz + interval '1 day' < '2024-04-01'::timestamptz",
    "SELECT sum(n) FROM ev WHERE ts::timestamptz - interval '1 month 2 hours' >= timestamptz '2024-09-27 00:00Z'",
    "SELECT sum(current_date - d) FROM ev",
    "SELECT sum(CASE WHEN ts > now() - interval '100 years' THEN n END) FROM ev",
    # a column of moments with a time zone
    "SELECT sum(n) FROM zev WHERE seen >= '2024-03-31 01:00'",
    "SELECT sum(n) FROM zev WHERE seen >= timestamptz '2024-03-31 01:00:00+00' AND seen < now()",
    "SELECT sum(n) FROM zev WHERE seen > now() - interval '3 years' AND seen < date '2024-10-27'",
    "SELECT sum(n) FROM zev WHERE seen BETWEEN '2024-03-31T00:30:00Z' AND timestamp '2024-10-27 01:30'",
    "SELECT sum(n) FROM zev WHERE seen IN ('2024-03-31 00:30:00+00', '2024-10-27 04:30:00+01')",
    "SELECT sum(n) FROM zev WHERE seen AT TIME ZONE 'Asia/Tokyo' < '2024-10-27 09:31'",
    "SELECT sum(n) FROM zev WHERE seen + interval '1 day' < '2024-04-01 02:30'",
    "SELECT count(*) FROM zev WHERE seen::date = '2024-10-27'",
    "SELECT sum(n) FROM zev WHERE seen IS NULL",
    "SELECT count(seen) FROM zev",
    "SELECT date_trunc('day', seen), sum(n) FROM zev WHERE seen IS NOT NULL GROUP BY 1",
    "SELECT date_trunc('month', seen), count(*) FROM zev WHERE seen IS NOT NULL GROUP BY 1",
    "SELECT date_trunc('hour', seen), sum(n) FROM zev "
    "WHERE seen >= '2024-10-26 12:00+00' AND seen < '2024-10-28' GROUP BY 1",
    "SELECT date_trunc('minute', seen), sum(n) FROM zev "
    "WHERE seen >= '2024-10-27 00:00+00' AND seen < '2024-10-27 06:00+00' GROUP BY 1",
    "SELECT date_trunc('day', seen AT TIME ZONE 'America/New_York'), sum(n) FROM zev WHERE seen IS NOT NULL GROUP BY 1",
    "SELECT seen::date, sum(n) FROM zev WHERE seen IS NOT NULL GROUP BY 1",
    "SELECT extract(hour FROM seen), sum(n) FROM zev WHERE seen IS NOT NULL GROUP BY 1",
    "SELECT extract(dow FROM seen), extract(month FROM seen), sum(n) FROM zev WHERE seen IS NOT NULL GROUP BY 1, 2",
    "SELECT to_char(seen, 'YYYY-MM'), sum(n) FROM zev WHERE seen IS NOT NULL GROUP BY 1",
    "SELECT floor(extract(epoch FROM seen) / 3600) * 3600 AS time, sum(n) FROM zev "
    "WHERE seen BETWEEN '2024-10-27T00:00:00Z' AND '2024-10-27T06:00:00Z' GROUP BY time",
    "SELECT d, sum(n) FROM (SELECT date_trunc('day', seen) AS d, n FROM zev WHERE seen IS NOT NULL) AS s GROUP BY d",
    "SELECT sum(n) FROM (SELECT seen, n FROM zev WHERE n > 2) AS s WHERE seen < '2024-10-27 02:00'",
    "SELECT date_trunc('day', CASE WHEN n > 4 THEN seen END), count(*) FROM zev "
    "WHERE n > 4 AND seen IS NOT NULL GROUP BY 1",
    "SELECT date_trunc('day', coalesce(seen, '2024-06-01')), count(*) FROM zev GROUP BY 1",
)


def counted(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Without the keys that have no rows, which PostgreSQL does not show."""
    counted = (row for row in rows if len(row) == 1 or row[-1])
    return sorted((tuple(map(_in_utc, row)) for row in counted), key=repr)


def _in_utc(value: object) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "<+05:30>-05:30"])
@pytest.mark.parametrize("sql", QUESTIONS)
def test_answers_are_those_of_postgresql(sql: str, zone: str, postgres: Server) -> None:
    with psycopg.connect(postgres.url()) as connection:
        connection.execute("SELECT set_config('TimeZone', %s, true)", (zone,))
        for statement in (CREATE, INSERT, *ZONED):
            connection.execute(statement.encode())
        row = connection.execute("SELECT now(), statement_timestamp()").fetchone()
        assert row is not None
        theirs = connection.execute(sql.encode()).fetchall()
        connection.rollback()
    ours = answered(world(), sql, **{"timezone": zone, "dp.empty_groups": "show", PRESENT: moments(*row)})
    assert counted(ours) == counted(theirs)


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("SELECT count(*) FROM ev WHERE ts AT TIME ZONE 'Nowhere/Land' > now()", "22023"),
        ("SELECT count(*) FROM ev WHERE ts AT TIME ZONE n > now()", "0A000"),
        ("SELECT count(*) FROM ev WHERE ts > 'tomorrowish'::timestamptz", "22007"),
        ("SELECT count(*) FROM ev WHERE ts::timestamptz - now() > 3", "42883"),
        ("SELECT count(*) FROM old WHERE date_trunc('hour', seen) < now()", "0A000"),
    ],
)
def test_what_is_refused(sql: str, state: str) -> None:
    with pytest.raises(Refusal) as refused:
        plan_of(world(), sql, {"timezone": "Europe/Berlin"})
    assert refused.value.sqlstate == state
    assert refused.value.position is not None


def test_what_follows_from_the_day_is_found_again() -> None:
    sql = "SELECT count(*) FROM ev WHERE ts >= date_trunc('day', now()) - interval '7 days'"
    morning, evening = (datetime(2024, 5, 1, hour, tzinfo=UTC) for hour in (8, 18))
    plans = [plan_of(world(), sql, {PRESENT: moments(m, m)}).parts[0].exact for m in (morning, evening)]
    assert plans[0] == plans[1]
    assert "now" not in plans[0].lower()
