"""Mechanisms and priors through psycopg 3, as an analyst asks for them."""

import json
from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest

from tests.proxies import Proxy

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
    connection.execute(f"SET dp.mechanism = '{mechanism}'")
    connection.execute("SET dp.epsilon = 1")
    assert len(connection.execute(sql).fetchall()) == 4
    [[text]] = connection.execute(f"EXPLAIN (PRIVACY, FORMAT JSON) {sql}").fetchall()
    [part] = json.loads(str(text))["parts"]
    assert part["mechanism"] == ("staircase" if mechanism == "auto" else mechanism)
    if mechanism == "auto":  # what it chose was released under its own name before
        assert part["why"].startswith("least predicted error: laplace ")
        assert cost(connection) == 0
        return
    assert part["why"] == f"dp.mechanism = {mechanism}"
    [[entry]] = connection.execute(
        "SELECT mechanism FROM dp.ledger ORDER BY sequence DESC LIMIT 1"
    ).fetchall()
    assert str(entry).startswith(f"{part['mechanism']} widths=")


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
