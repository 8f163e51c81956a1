"""Through a proxy, as a client sees it: the answers, the charge, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.backends.suite.engines import Engine, proxied
from tests.proxies import Proxy
from tests.shapes.data import DDL, POLICY


@pytest.fixture(scope="module")
def proxy(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Proxy]:
    with proxied(engine, DDL, POLICY, tmp_path_factory.mktemp("proxy"), request) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: Proxy) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        yield connection


def test_a_client_is_answered(client: psycopg.Connection[tuple[object, ...]]):
    rows = client.execute("SELECT sex, count(*), avg(age) FROM patients GROUP BY sex ORDER BY sex").fetchall()
    assert [row[0] for row in rows] == ["f", "m"]
    assert sum(float(str(row[1])) for row in rows) == pytest.approx(480, abs=0.1)


def test_a_cut_table_is_answered_and_charged_once(client: psycopg.Connection[tuple[object, ...]]):
    before = client.execute("SHOW dp.budget_remaining").fetchone()
    sql = "SELECT ward, sum(cost) FROM visits WHERE minutes > %s GROUP BY ward ORDER BY ward"
    first, second = client.execute(sql, [10]).fetchall(), client.execute(sql, [10]).fetchall()
    after = client.execute("SHOW dp.budget_remaining").fetchone()
    assert len(first) == 4
    assert first == second
    assert before != after


def test_public_rows_are_shown(client: psycopg.Connection[tuple[object, ...]]):
    rows = client.execute("SELECT ward, beds FROM wards ORDER BY beds").fetchall()
    assert rows == [("D", 5), ("A", 10), ("B", 20), ("C", 30)]
    assert client.execute("SELECT string_agg(ward, '' ORDER BY ward) FROM wards").fetchall() == [("ABCD",)]


def test_rows_of_people_are_not(client: psycopg.Connection[tuple[object, ...]]):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        client.execute("SELECT * FROM patients")


def test_the_catalogue_is_of_the_policy(client: psycopg.Connection[tuple[object, ...]]):
    found = client.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    ).fetchall()
    assert {name for (name,) in found} >= {"patients", "visits", "wards"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM visits AS v WHERE cost > (SELECT avg(cost) FROM visits AS w WHERE w.ward = v.ward)",
        "SELECT count(*) FROM patients AS p WHERE (SELECT count(*) FROM visits AS v WHERE v.patient = p.id) > 2",
        "SELECT count(*) FROM visits WHERE ward ~ '^[AB]$'",
        "SELECT regexp_replace(ward, '[AB]', 'x') AS w, count(*) FROM visits GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM patients WHERE initcap(sex) = 'F'",
    ],
)
def test_what_an_engine_does_not_compute_is_refused_before_it_is_charged(
    client: psycopg.Connection[tuple[object, ...]], sql: str
):
    before = client.execute("SHOW dp.budget_remaining").fetchone()
    try:
        assert client.execute(sql.encode()).fetchall()
    except psycopg.errors.FeatureNotSupported:
        assert client.execute("SHOW dp.budget_remaining").fetchone() == before


ZONED = (
    "CREATE TABLE visits (person INTEGER, seen TIMESTAMP WITH TIME ZONE)",
    """INSERT INTO visits SELECT i % 500, TIMESTAMPTZ '2024-05-01 00:00:00+00' + to_hours(CAST(i AS INTEGER))
       FROM range(2000) AS r (i)""",
    "CREATE TABLE feasts (since TIMESTAMP WITH TIME ZONE, name VARCHAR)",
    "INSERT INTO feasts VALUES ('2024-05-10 12:00:00+02', 'a'), ('2024-06-30 23:30:00+00', 'b'), (NULL, 'c')",
)
OF_ZONED = """
ALTER TABLE visits SET PRIVACY KEY (person) MAX ROWS 4;
ALTER TABLE visits SET PRIVACY CEILING EPSILON 1000000000;
ALTER TABLE visits ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN '2024-05-01' AND '2024-07-31';
ALTER TABLE feasts SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET b LIMIT EPSILON 1000000000 DEFAULT EPSILON 1000000 MAX EPSILON 1000000;
GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET b; GRANT SELECT ON feasts TO analyst;
"""


def test_moments_with_a_time_zone_are_those_of_the_session(
    engine: Engine, tmp_path: Path, request: pytest.FixtureRequest
):
    """The values are PostgreSQL's."""
    with (
        proxied(engine, ZONED, OF_ZONED, tmp_path, request) as proxy,
        psycopg.connect(proxy.dsn(options="'-c TimeZone=Europe/Berlin'"), autocommit=True) as client,
    ):

        def shown(sql: str) -> list[list[str]]:
            found = client.pgconn.exec_(sql.encode())
            assert found.status == psycopg.pq.ExecStatus.TUPLES_OK, found.error_message
            columns = range(found.nfields)
            return [[(found.get_value(r, c) or b"").decode() for c in columns] for r in range(found.ntuples)]

        months = [
            ["2024-05-01 00:00:00", "742"],
            ["2024-06-01 00:00:00", "720"],
            ["2024-07-01 00:00:00", "538"],
        ]
        by = "SELECT {}, count(*) FROM visits GROUP BY 1 ORDER BY 1"
        assert shown(by.format("date_trunc('month', seen)")) == [[f"{m}+02", n] for m, n in months]
        assert shown(by.format("date_trunc('month', seen AT TIME ZONE 'Europe/Berlin')")) == months
        day = "seen >= '2024-06-01 00:00+00' AND seen < '2024-06-02 00:00'"
        assert shown(f"SELECT count(*) FROM visits WHERE {day}") == [["22"]]
        assert shown("SELECT count(*) FROM visits WHERE seen > (SELECT max(since) FROM feasts)") == [["536"]]
        assert shown("SELECT since, since::date FROM feasts ORDER BY name") == [
            ["2024-05-10 12:00:00+02", "2024-05-10"], ["2024-07-01 01:30:00+02", "2024-07-01"], ["", ""],
        ]  # fmt: skip
        assert shown("SELECT name FROM feasts WHERE since = '2024-05-10 12:00'") == [["a"]]
        released = "SELECT date_trunc('month', seen) AS m, count(*) AS n FROM visits GROUP BY 1"
        joined = f"SELECT name, n FROM ({released}) AS r JOIN feasts ON since > r.m ORDER BY 1, 2"
        assert shown(joined) == [["a", "742"], ["b", "538"], ["b", "720"], ["b", "742"]]
