"""Statements that take long to plan: refused by the work that it is, and given up at once where that is asked for."""

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.proxies import Proxy, serving, write_home

pytestmark = [pytest.mark.external, pytest.mark.alone]
DDL = ("CREATE TABLE people (id INTEGER, place INTEGER, age INTEGER)", "INSERT INTO people VALUES (1, 2, 3)")
POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people ALTER COLUMN place SET PRIVACY DOMAIN BETWEEN 0 AND 99999;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99;
ALTER TABLE people SET PRIVACY CEILING EPSILON 10;
CREATE PRIVACY BUDGET lab LIMIT EPSILON 10;
GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET lab;
"""
AT_ONCE = 0.2
MEANWHILE = 0.5
"""Seconds after which planning still goes on."""


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with serving(write_home(tmp_path_factory.mktemp("planning"), DDL, POLICY)) as found:
        yield found


def long(first: int) -> str:
    """A statement of its own that groups by 100,000 keys, a hundred times."""
    places = range(first, first + 100)
    most = "SELECT max(n) FROM (SELECT place, count(*) AS n FROM people WHERE age > {} GROUP BY place) t"
    return "SELECT " + ", ".join(f"({most.format(n)})" for n in places)


def test_more_work_than_a_plan_may_take_is_refused_uncharged(proxy: Proxy):
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        before = connection.execute("SHOW dp.budget_remaining").fetchone()
        with pytest.raises(psycopg.errors.StatementTooComplex) as caught:
            connection.execute(long(-1000))
        assert "coarser columns" in (caught.value.diag.message_hint or "")
        assert connection.execute("SHOW dp.budget_remaining").fetchone() == before


def test_a_cancel_request_ends_planning(proxy: Proxy):
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        sent: list[float] = []

        def cancel() -> None:
            sent.append(time.monotonic())
            connection.cancel_safe(timeout=10)

        timer = threading.Timer(MEANWHILE, cancel)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(long(-2000))
        assert time.monotonic() - sent[0] < AT_ONCE
        timer.join()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_timeout_ends_planning(proxy: Proxy):
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        connection.execute(f"SET statement_timeout = '{int(MEANWHILE * 1000)}ms'")
        began = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(long(-3000))
        assert time.monotonic() - began < MEANWHILE + AT_ONCE


def test_psql_cancels_planning(proxy: Proxy, tmp_path: Path):
    script = tmp_path / "long.sql"
    script.write_text(long(-4000) + ";\n", encoding="utf-8")
    with subprocess.Popen(
        ["psql", "-X", "-f", str(script)],
        env=proxy.environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as psql:  # fmt: skip
        time.sleep(2 * MEANWHILE)
        assert psql.poll() is None
        psql.send_signal(2)
        began = time.monotonic()
        _, errors = psql.communicate(timeout=10)
    assert time.monotonic() - began < 2 * AT_ONCE  # its own connection for the cancel, and its end
    assert "canceling statement due to user request" in errors
