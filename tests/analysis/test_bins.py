"""Bins and written moments: the same answers as PostgreSQL's."""

# ruff: noqa: ISC004 - statements written out

import psycopg
import pytest

from dpproxy.values.errors import Refusal
from tests.analysis.test_instants import CREATE, INSERT, counted, world
from tests.golden.world import plan_of
from tests.planner.answers import answered
from tests.postgres import Server

QUESTIONS = (
    "SELECT date_bin('1 day', ts, timestamp '2001-01-01'), sum(n) FROM ev GROUP BY 1",
    "SELECT date_bin('7 hours', ts, timestamp '2030-01-01 03:17:00'), sum(n) FROM ev GROUP BY 1",
    "SELECT date_bin(interval '5 minutes', ts, '2001-01-01'), sum(n) FROM ev "
    "WHERE ts BETWEEN '2024-10-27' AND '2024-10-28' GROUP BY 1",
    "SELECT date_bin('2 days'::interval, d::timestamp, timestamp '2001-01-01'), sum(n) FROM ev GROUP BY 1",
    "SELECT date_bin('1 hour', ts AT TIME ZONE 'UTC', timestamptz '2001-01-01 00:00Z'), sum(n) FROM ev GROUP BY 1",
    "SELECT sum(n) FROM ev WHERE date_bin('1 hour', timestamp '2024-10-27 01:59', timestamp '2001-01-01') <= ts",
    "SELECT to_char(date_trunc('month', ts), 'YYYY-MM'), sum(n) FROM ev GROUP BY 1",
    "SELECT to_char(d, 'yyyy/mm'), sum(n) FROM ev GROUP BY 1",
    "SELECT to_char(ts, 'YYYYMMDD'), sum(n) FROM ev GROUP BY to_char(ts, 'YYYYMMDD')",
    "SELECT to_char(ts, 'DD.MM.YYYY HH24:00'), sum(n) FROM ev GROUP BY 1",
    "SELECT to_char(ts::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD'), sum(n) FROM ev GROUP BY 1",
    "SELECT to_char(m, 'YYYY-MM'), s FROM (SELECT date_trunc('month', ts) AS m, sum(n) AS s FROM ev GROUP BY 1) AS t",
    "SELECT to_char(date_trunc('month', ts), 'YYYY-MM'), sum(n) FROM ev GROUP BY date_trunc('month', ts)",
    "SELECT to_char(date_trunc('day', ts AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS'), sum(n) FROM ev GROUP BY 1",
    "SELECT sum(n) FROM ev WHERE to_char(ts, 'YYYY-MM') = '2024-10'",
)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_answers_are_those_of_postgresql(sql: str, postgres: Server) -> None:
    with psycopg.connect(postgres.url()) as connection:
        connection.execute("SELECT set_config('TimeZone', 'UTC', true)")
        for statement in (CREATE, INSERT):
            connection.execute(statement.encode())
        theirs = connection.execute(sql.encode()).fetchall()
        connection.rollback()
    assert counted(answered(world(), sql, **{"dp.empty_groups": "show"})) == counted(theirs)


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("SELECT count(*) FROM ev WHERE date_bin('1 month', ts, timestamp '2001-01-01') > ts", "22023"),
        ("SELECT count(*) FROM ev WHERE date_bin('0 days', ts, timestamp '2001-01-01') > ts", "22023"),
        ("SELECT count(*) FROM ev WHERE date_bin('1 day', n, timestamp '2001-01-01') > ts", "42883"),
        ("SELECT count(*) FROM ev WHERE date_bin('1 day', ts, ts) > ts", "0A000"),
        ("SELECT date_bin('1 second', ts, timestamp '2001-01-01'), count(*) FROM ev GROUP BY 1", "PD003"),
        ("SELECT count(*) FROM ev WHERE to_char(ts, 'Day') = 'Monday'", "0A000"),
        ("SELECT count(*) FROM ev WHERE to_char(n, 'YYYY') = '1'", "42883"),
        ("SELECT to_char(ts, 'YYYY-MM-DD HH24:MI:SS'), count(*) FROM ev GROUP BY 1", "PD003"),
    ],
)
def test_what_is_refused(sql: str, state: str) -> None:
    with pytest.raises(Refusal) as refused:
        plan_of(world(), sql)
    assert refused.value.sqlstate == state
