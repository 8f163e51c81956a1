"""A real pgbouncer that gives a connection to another client after each transaction."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.ports import free_port
from tests.proxies import PASSWORD, Proxy, serving, write_home

POLICY = """
ALTER TABLE t SET PRIVACY KEY (id);
ALTER TABLE t SET PRIVACY CEILING EPSILON 100;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 99;
CREATE PRIVACY BUDGET b LIMIT EPSILON 10 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
SHARED = "SET dp.session_settings = transaction"


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with serving(
        write_home(
            tmp_path,
            ["CREATE TABLE t AS SELECT i AS id, CAST(i AS INTEGER) AS x FROM range(100) AS r(i)"],
            POLICY,
        )
    ) as found:
        yield found


@contextmanager
def pooled(proxy: Proxy, program: str, connect: str = "") -> Iterator[str]:
    """One connection for all clients of a pgbouncer; how they reach it."""
    port = free_port()
    folder = Path("/tmp") / f"pgbouncer-{port}"
    folder.mkdir(mode=0o755)
    (folder / "users.txt").write_text(f'"ann" "{PASSWORD}"\n"bob" "{PASSWORD}"\n')
    first = f" connect_query='{connect}'" if connect else ""
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\nmain = host=127.0.0.1 port={proxy.port} user=ann{first}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n"
        f"auth_file = {folder}/users.txt\npool_mode = transaction\ndefault_pool_size = 1\n"
    )
    user = "nobody" if os.geteuid() == 0 else None  # it does not run as root
    process = subprocess.Popen([program, str(folder / "pgbouncer.ini")], user=user, stderr=subprocess.DEVNULL)
    dsn = f"host=127.0.0.1 port={port} dbname=main connect_timeout=10"
    try:
        for _ in range(100):
            try:
                psycopg.connect(f"{dsn} user=ann").close()
                break
            except psycopg.OperationalError:
                assert process.poll() is None, "pgbouncer has ended"
                time.sleep(0.1)
        yield dsn
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder)


@contextmanager
def two(dsn: str) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    with (
        psycopg.connect(f"{dsn} user=ann", autocommit=True, prepare_threshold=None) as first,
        psycopg.connect(f"{dsn} user=bob", autocommit=True, prepare_threshold=None) as second,
    ):
        yield first, second


def spent(proxy: Proxy) -> float:
    assert proxy.engine is not None
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        [[found]] = root.execute("SELECT sum(epsilon) FROM dp.ledger").fetchall()
        return float(str(found or 0))


def test_nobody_is_charged_by_what_another_client_has_set(proxy: Proxy, program: Callable[[str, str], str]):
    with pooled(proxy, program("pgbouncer", "pgbouncer"), SHARED) as dsn, two(dsn) as (first, second):
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction, match="whoever has this connection next"):
            first.execute("SET dp.epsilon = 0.9")
        with first.transaction():
            first.execute("SET dp.epsilon = 0.9")
            assert first.execute("SHOW dp.epsilon").fetchone() == ("0.9",)
        assert second.execute("SHOW dp.epsilon").fetchone() == ("",)
        second.execute("SELECT count(*) FROM t WHERE x < 50")
        assert spent(proxy) == pytest.approx(0.1)
        second.execute("DISCARD ALL")
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
            first.execute("SET dp.epsilon = 0.9")
        with first.transaction():
            first.execute("SET LOCAL dp.epsilon = 0.4")
            first.execute("SELECT count(*) FROM t WHERE x < 20")
        assert spent(proxy) == pytest.approx(0.5)


def test_what_a_role_starts_with_says_it_too(proxy: Proxy, program: Callable[[str, str], str]):
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        root.execute("ALTER ROLE analyst SET dp.session_settings = 'transaction'")
    with pooled(proxy, program("pgbouncer", "pgbouncer")) as dsn, two(dsn) as (first, second):
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
            first.execute("SET dp.epsilon = 0.9")
        assert second.execute("SHOW dp.epsilon").fetchone() == ("",)


def test_settings_are_reported_for_poolers_that_track_them(proxy: Proxy):
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        status = connection.info.parameter_status
        assert (status("dp.epsilon"), status("dp.session_settings")) == ("", "session")
        connection.execute("SET dp.epsilon = 0.5")
        assert status("dp.epsilon") == "0.5"
        connection.execute("SET dp.epsilon = '0.7'")  # as a pooler puts it back
        assert status("dp.epsilon") == "0.7"
        connection.execute("SET dp.epsilon = ''")
        assert status("dp.epsilon") == ""
        assert status("dp.last_cost") is None
