"""ALTER ROLE ... SET through psql and drivers: applied at the next login, before what the client asks for."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.proxies import Proxy, serving, write_home

pytestmark = pytest.mark.external


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with serving(
        write_home(tmp_path, ["CREATE TABLE t (a INTEGER)"], "ALTER TABLE t SET PRIVACY PUBLIC;")
    ) as found:
        yield found


def shown(proxy: Proxy, user: str, name: str, **more: object) -> str:
    with psycopg.connect(proxy.dsn(user, **more), autocommit=True) as connection:
        [[value]] = connection.execute(f"SHOW {name}".encode()).fetchall()
        return str(value)


def test_the_next_login_starts_with_it(proxy: Proxy):
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        done = root.execute("ALTER ROLE analyst SET dp.epsilon = 0.1")
        assert done.statusmessage == "ALTER ROLE"
        root.execute("ALTER ROLE ann SET TimeZone = 'Asia/Kolkata'")
        root.execute("ALTER ROLE ann IN DATABASE main SET dp.session_epsilon = 2")
    assert shown(proxy, "ann", "dp.epsilon") == "0.1"
    assert shown(proxy, "ann", "TimeZone") == "Asia/Kolkata"
    assert shown(proxy, "ann", "dp.epsilon", options="'-c dp.epsilon=0.05'") == "0.05"
    assert shown(proxy, "bob", "TimeZone") == "UTC"
    with pytest.raises(psycopg.OperationalError, match="can only be lowered"):
        shown(proxy, "ann", "jit", options="'-c dp.session_epsilon=3'")
    with psycopg.connect(proxy.dsn(), autocommit=True) as ann:
        assert ann.info.parameter_status("TimeZone") == "Asia/Kolkata"
        ann.execute("SET TimeZone = 'UTC'")
        ann.execute("RESET TimeZone")
        assert ann.execute("SHOW TimeZone").fetchall() == [("Asia/Kolkata",)]
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            ann.execute("ALTER ROLE ann SET dp.session_epsilon = 5")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            ann.execute("ALTER ROLE bob SET dp.notices = off")
        ann.execute("ALTER ROLE ann RESET TimeZone")
        found = ann.execute("SELECT rolconfig FROM pg_roles WHERE rolname = 'ann'").fetchall()
        assert found == [(None,)]
    assert shown(proxy, "ann", "TimeZone") == "UTC"


def test_psql_lists_them(proxy: Proxy, program: Callable[[str, str], str]):
    psql = program("psql", "postgresql-client")
    said = subprocess.run(
        [psql, "-XAtc", "ALTER ROLE root SET dp.notices = off", "-c", r"\drds", "-c", r"\drds root"],
        env=proxy.environment("root"), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert said.stdout.splitlines() == ["ALTER ROLE", "root||dp.notices=off", "root||dp.notices=off"], (
        said.stderr
    )
