"""Mechanisms and priors through psycopg 3, as an analyst asks for them."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from tests.proxies import Proxy, serving, write_home

pytestmark = pytest.mark.external
Connection = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def connection(proxy: Proxy) -> Iterator[Connection]:
    with psycopg.connect(proxy.dsn(), autocommit=True) as found:
        yield found


def cost(connection: Connection) -> float:
    [[found]] = connection.execute("SHOW dp.last_cost").fetchall()
    return float(str(found))


@pytest.mark.parametrize("mechanism", ["staircase", "laplace", "auto"])
def test_each_mechanism_answers_and_says_so(connection: Connection, mechanism: str):
    sql = "SELECT ward, count(*), sum(cost) FROM visits GROUP BY ward"
    connection.execute("SET dp.epsilon = 1")
    if mechanism == "auto":  # what it chooses is released under its own name before
        connection.execute("SET dp.mechanism = 'staircase'")
        connection.execute(sql)
    connection.execute(f"SET dp.mechanism = '{mechanism}'")
    assert len(connection.execute(sql).fetchall()) == 4
    [[text]] = connection.execute(f"EXPLAIN (PRIVACY, FORMAT JSON) {sql}").fetchall()
    [part] = json.loads(str(text))["parts"]
    assert part["mechanism"] == ("staircase" if mechanism == "auto" else mechanism)
    if mechanism == "auto":
        assert part["why"].startswith("least predicted error: laplace ")
        assert cost(connection) == 0
        return
    assert part["why"] == f"dp.mechanism = {mechanism}"
    [[entry]] = connection.execute(
        "SELECT mechanism FROM dp.ledger ORDER BY sequence DESC LIMIT 1"
    ).fetchall()
    assert str(entry).startswith(f"{part['mechanism']} widths=")


@pytest.fixture
def with_delta(tmp_path: Path) -> Iterator[Connection]:
    policy = """
    ALTER TABLE t SET PRIVACY KEY (id);
    ALTER TABLE t SET PRIVACY CEILING EPSILON 10 DELTA 0.001;
    CREATE PRIVACY BUDGET lab LIMIT EPSILON 10 DELTA 0.0001;
    GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET lab;
    """
    ddl = ("CREATE TABLE t AS SELECT CAST(i AS INTEGER) AS id FROM range(100) AS r(i)",)
    with (
        serving(write_home(tmp_path, ddl, policy)) as own,
        psycopg.connect(own.dsn(), autocommit=True) as found,
    ):
        yield found


def test_a_gaussian_is_charged_in_epsilon_and_delta(with_delta: Connection):
    told: list[str] = []
    with_delta.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
    with_delta.execute("SET dp.mechanism = 'gaussian'")
    with_delta.execute("SET dp.epsilon = 1")
    [[count]] = with_delta.execute("SELECT count(*) FROM t").fetchall()
    assert with_delta.execute("SELECT count(*) AS n FROM t").fetchall() == [(count,)]
    first, second = (message for message in told if message.startswith("cost"))
    assert first.startswith("cost 1 epsilon and delta 1e-6, ")
    assert second.startswith("cost 0, ")
    with_delta.execute("SET dp.delta = 0.0001")
    with pytest.raises(psycopg.Error, match="delta"):
        with_delta.execute("SELECT count(*) FROM t")


def test_a_gaussian_needs_a_delta(connection: Connection):
    connection.execute("SET dp.mechanism = 'gaussian'")
    with pytest.raises(psycopg.Error, match="Gaussian noise costs delta, and there is none"):
        connection.execute("SELECT count(*) FROM visits")


@pytest.mark.parametrize("binary", [False, True])
def test_many_and_one(connection: Connection, *, binary: bool):
    rows = connection.execute(
        "SELECT ward, dp.with_prior(avg(minutes), family => 'normal', mean => 30, sd => 2) AS m, "
        "dp.with_prior(count(*), family => 'uniform', low => 0, high => 2000) AS n FROM visits GROUP BY ward",
        binary=binary,
    ).fetchall()
    assert [row[0] for row in rows] == ["a", "b", "c", None]
    assert all(isinstance(mean, Decimal) and 10 < mean < 50 for _, mean, _ in rows)
    assert all(isinstance(count, int) and 0 <= count <= 2000 for _, _, count in rows)
    own = (
        "SELECT dp.with_prior(cost, family => 'lognormal', mean => 3, sd => 1) FROM visits WHERE person = %s"
    )
    for person in (7, 1000, -5):
        [[value]] = connection.execute(own, [person], binary=binary).fetchall()
        assert isinstance(value, Decimal)
        assert value > 0


def test_a_draw_is_charged_once_and_replayed(connection: Connection):
    sql = "SELECT dp.with_prior(minutes, 'uniform(0, 60)') FROM visits WHERE person = 1001"
    connection.execute("SET dp.epsilon = 0.25")
    first = connection.execute(sql).fetchall()
    assert cost(connection) == 0.25
    assert connection.execute(sql).fetchall() == first
    assert cost(connection) == 0
    connection.execute("SET dp.prior = 'uniform(0, 60)'")
    again = connection.execute(
        "SELECT dp.with_prior(minutes) AS m FROM visits WHERE person = 1001 LIMIT 1"
    ).fetchall()
    assert again == first


def test_a_prior_that_is_none_is_refused(connection: Connection):
    with pytest.raises(psycopg.Error, match="invalid value for parameter"):
        connection.execute("SET dp.prior = 'normal(1'")
    with pytest.raises(psycopg.Error, match="no family of priors is called cauchy"):
        connection.execute("SELECT dp.with_prior(avg(cost), family => 'cauchy') FROM visits")
