"""A time series inside a range of time has the points of that range alone."""

# ruff: noqa: DTZ001 - the type has no time zone

from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis.scopes import Parameters, StatementClock
from dpproxy.analysis.typed import Typed
from dpproxy.planner.accept import parse
from dpproxy.planner.keys.moments import during
from dpproxy.values.pgtypes import TIMESTAMP, TIMESTAMPTZ
from dpproxy.wire.zones import zone
from tests.analysis.rows import row_scope
from tests.proxies import serving, write_home

FIRST, LAST = datetime(2000, 1, 1), datetime(2030, 1, 1)
SEEN = Typed(nodes.ColumnRef(nodes.Bare("seen")), TIMESTAMP, first=FIRST, last=LAST)
A_DAY, A_MOMENT = datetime(2020, 5, 1), datetime(2020, 5, 1, 12)


@pytest.mark.parametrize(
    ("condition", "first", "last"),
    [
        ("seen >= timestamp '2020-05-01 12:00:00'", A_MOMENT, LAST),
        ("seen > '2020-05-01 12:00:00'", A_MOMENT.replace(microsecond=1), LAST),
        ("seen < timestamp '2020-05-01'", FIRST, datetime(2020, 4, 30, 23, 59, 59, 999999)),
        ("(seen <= to_timestamp('2020-05-01 12', 'YYYY-MM-DD HH24'))", FIRST, A_MOMENT),
        ("timestamp '2020-05-01' <= seen", A_DAY, LAST),
        ("seen BETWEEN date '2020-05-01' AND timestamp '2020-05-01 12:00:00'", A_DAY, A_MOMENT),
        ("seen = timestamp '2020-05-01'", A_DAY, A_DAY),
        ("seen >= date '2020-04-30' + INTERVAL '1 day'", A_DAY, LAST),
        # these leave nothing out, or are about something else
        ("seen >= timestamp '1990-01-01'", FIRST, LAST),
        ("seen > timestamp '2040-01-01'", FIRST, LAST),
        ("seen <> timestamp '2020-05-01'", FIRST, LAST),
        ("NOT seen < timestamp '2020-05-01'", FIRST, LAST),
        ("told >= timestamp '2020-05-01'", FIRST, LAST),
        ("seen >= told", FIRST, LAST),
        ("seen >= NULL", FIRST, LAST),
        ("seen >= $1", FIRST, LAST),
        ("seen > timestamp '9999-12-31 23:59:59.999999'", FIRST, LAST),
    ],
)
def test_what_a_condition_leaves(condition: str, first: datetime, last: datetime):
    found = parse(f"SELECT 1 FROM t WHERE {condition}").args["where"].this
    narrow = during(exp.column("seen"), SEEN, [found], row_scope())
    assert (narrow.first, narrow.last) == (first, last)


@pytest.mark.parametrize(
    ("condition", "first"),
    [
        ("seen >= '2020-05-01'", datetime(2020, 4, 30, 22)),
        ("seen >= date '2020-05-01'", datetime(2020, 4, 30, 22)),
        ("seen >= timestamp '2020-05-01'", datetime(2020, 4, 30, 22)),
        ("seen >= timestamptz '2020-05-01 00:00+00'", A_DAY),
        ("seen > timestamptz '2020-05-01 00:00+00'", A_DAY.replace(microsecond=1)),
        ("seen >= 'nonsense'", FIRST),
    ],
)
def test_moments_are_compared_by_the_clock_of_the_session(condition: str, first: datetime):
    scope = row_scope()
    present = StatementClock(datetime.now(UTC), datetime.now(UTC), zone("Europe/Berlin"))
    scope = replace(scope, parameters=Parameters(present=present))
    found = parse(f"SELECT 1 FROM t WHERE {condition}").args["where"].this
    narrow = during(exp.column("seen"), replace(SEEN, type=TIMESTAMPTZ), [found], scope)
    assert (narrow.first, narrow.last) == (first, LAST)


def test_conditions_hold_together_and_others_are_left():
    conditions = [parse(f"SELECT 1 WHERE {text}").args["where"].this for text in
                  ("seen >= timestamp '2020-05-01'", "age > 3", "seen < timestamp '2021-05-01'")]  # fmt: skip
    narrow = during(exp.column("seen"), SEEN, conditions, row_scope())
    assert (narrow.first, narrow.last) == (A_DAY, datetime(2021, 4, 30, 23, 59, 59, 999999))


DDL = (
    "CREATE TABLE t (seen TIMESTAMP, x INTEGER)",
    "INSERT INTO t SELECT TIMESTAMP '2020-01-01' + to_hours(CAST(i AS INTEGER)), 1 FROM range(9600) AS r(i)",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 1000;
ALTER TABLE t ALTER COLUMN seen SET PRIVACY
  DOMAIN BETWEEN TIMESTAMP '2000-01-01 00:00:00' AND TIMESTAMP '2030-01-01 00:00:00';
CREATE PRIVACY BUDGET b LIMIT EPSILON 1000 MAX EPSILON 10 DEFAULT EPSILON 10;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""


@pytest.fixture(scope="module")
def connection(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[psycopg.Connection[tuple[datetime, int]]]:
    home = write_home(tmp_path_factory.mktemp("during"), DDL, POLICY)
    with serving(home) as proxy, psycopg.connect(proxy.dsn(), autocommit=True) as found:
        yield found


@pytest.mark.parametrize(
    ("unit", "first", "end", "points", "each"),
    [("month", "2020-02-01", "2020-04-01", 2, 24 * 30), ("hour", "2020-02-01", "2020-02-02 12:00:00", 36, 1)],
)
def test_only_points_of_the_range_are_answered(
    connection: psycopg.Connection[tuple[datetime, int]],
    unit: str,
    first: str,
    end: str,
    points: int,
    each: int,
):
    """All hours of thirty years would be too many. At epsilon 10 noise exceeds 30 with probability below e^-290."""
    sql = (
        f"SELECT date_trunc('{unit}', seen) AS at, count(*) FROM t WHERE seen >= timestamp '{first}' "
        f"AND seen < timestamp '{end}' GROUP BY 1 ORDER BY 1"
    )
    rows = connection.execute(sql.encode()).fetchall()
    assert len(rows) == points
    assert rows[0][0] == datetime.fromisoformat(first)
    assert all(abs(n - each) <= 30 for _, n in rows)


def test_a_group_at_the_end_that_the_range_cuts_is_answered(
    connection: psycopg.Connection[tuple[datetime, int]],
):
    sql = (
        "SELECT date_trunc('month', seen), count(*) FROM t WHERE seen BETWEEN timestamp '2020-02-10' "
        "AND timestamp '2020-03-01' GROUP BY 1 ORDER BY 1"
    )
    [february, march] = connection.execute(sql.encode()).fetchall()
    assert february[0] == datetime(2020, 2, 1)
    assert abs(february[1] - 480) <= 30
    assert abs(march[1] - 1) <= 30
