"""Through a proxy, as a client sees it: the answers, the charge, and what is refused."""

from collections.abc import Iterator

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
