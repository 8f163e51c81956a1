"""What a session sets for itself: how long a statement may take, and how long it may be silent."""

import time
from pathlib import Path

import psycopg
import psycopg2
import psycopg2.errors
import pytest

from tests.assurance.people import write_twin
from tests.clients.conftest import ENDLESS, POLICY, SLOW
from tests.proxies import Proxy, serving

pytestmark = pytest.mark.external
HEAVY = "SELECT " + ", ".join(f"sum((x + {n}) * (y - {n}))" for n in range(11, 39)) + " FROM much"


def test_a_statement_has_its_time(world: Proxy):
    with psycopg.connect(world.dsn(options="'-c statement_timeout=300'"), autocommit=True) as connection:
        began = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(SLOW)
        assert time.monotonic() - began < 4  # the catalogue's own limit is 5
        assert connection.execute("SELECT n FROM towns WHERE town = 'Rome'").fetchone() == (3,)
        connection.execute("SET statement_timeout = 0")
        assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_a_charged_statement_that_had_its_time_stays_charged(proxy: Proxy):
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        connection.execute("SET statement_timeout = '60ms'")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(HEAVY)
        connection.execute("SET statement_timeout = 0")
        assert connection.execute(HEAVY).fetchone() is not None
        assert connection.execute("SHOW dp.last_cost").fetchone() in {("0",), ("0.1",)}


@pytest.mark.parametrize(
    ("name", "begin", "sqlstate"),
    [
        ("idle_session_timeout", "SELECT 1", "57P05"),
        ("idle_in_transaction_session_timeout", "BEGIN", "25P03"),
    ],
)
def test_silence_ends_a_session(world: Proxy, name: str, begin: str, sqlstate: str):
    with psycopg.connect(world.dsn(), autocommit=True) as connection:
        connection.execute(f"SET {name} = '200ms'".encode())
        connection.execute(begin.encode())
        time.sleep(0.6)
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT 1")
        assert caught.value.sqlstate == sqlstate
    older = psycopg2.connect(world.dsn(options=f"'-c {name}=1min'"))
    older.cursor().execute("SELECT 1")
    older.close()


def test_no_role_lifts_the_limits_of_the_server(world: Proxy):
    """A role sets a timeout of its own to 0; what the catalogue may take is no setting."""
    with psycopg.connect(world.dsn(), autocommit=True) as connection:
        connection.execute("ALTER ROLE ann SET statement_timeout = 0")
    try:
        with psycopg.connect(world.dsn(), autocommit=True) as connection:
            assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
            began = time.monotonic()
            with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
                connection.execute(SLOW)
            assert time.monotonic() - began < 60
    finally:
        with psycopg.connect(world.dsn(), autocommit=True) as connection:
            connection.execute("ALTER ROLE ann RESET statement_timeout")


def test_the_limit_of_the_server_holds_where_a_role_has_none(tmp_path: Path):
    """One unit's work takes 39 ms at its worst: half of this limit is enough. Everybody's is far over it."""
    more = '[limits]\nstatement_timeout = "100ms"'
    ddl = [s.replace("range(3000000)", "range(9000000)").replace("i % 100000", "i % 300000") for s in ENDLESS]
    with serving(write_twin(tmp_path, with_her=True, ddl=ddl, policy=POLICY, more=more)) as limited:
        with psycopg.connect(limited.dsn(), autocommit=True) as connection:
            connection.execute("ALTER ROLE ann SET statement_timeout = 0")
        with psycopg.connect(limited.dsn(), autocommit=True) as connection:
            assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
            with pytest.raises(psycopg.errors.QueryCanceled, match="The limit is the server's"):
                connection.execute(HEAVY)
