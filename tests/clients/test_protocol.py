"""Newer protocols and SCRAM with channel binding, by libpq itself."""

import os
import subprocess
import threading
import time
from pathlib import Path

import psycopg
import pytest

from tests.clients.conftest import SLOW
from tests.proxies import Proxy

pytestmark = pytest.mark.external


@pytest.mark.parametrize("newest", ["3.0", "3.2", "latest"])
def test_a_newer_protocol_and_its_cancel(world: Proxy, newest: str):
    if psycopg.pq.version() < 180000:
        assert not os.environ.get("CI"), "psycopg with libpq 18 is to be installed"
        pytest.skip("libpq is older than 18")
    dsn = world.dsn(max_protocol_version=newest)
    with psycopg.connect(dsn, autocommit=True) as connection:
        timer = threading.Timer(0.3, connection.cancel_safe)
        timer.start()
        began = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
            connection.execute(SLOW)
        assert time.monotonic() - began < 4  # the catalogue's own limit is 5
        timer.join()


def test_channel_binding(secured: tuple[Proxy, Path]):
    proxy, certificate = secured
    dsn = proxy.dsn(sslmode="verify-full", sslrootcert=certificate, channel_binding="require")
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        connection.cancel_safe(timeout=5)
    done = subprocess.run(
        ["psql", "-X", "-At", dsn, "-c", "SELECT 2"], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.stdout, done.stderr) == ("2\n", "")
    with psycopg.connect(proxy.dsn(sslmode="require", channel_binding="disable")) as connection:
        assert connection.execute("SELECT 3").fetchone() == (3,)


def test_channel_binding_needs_tls(world: Proxy):
    with pytest.raises(psycopg.OperationalError, match="channel binding"):
        psycopg.connect(world.dsn(channel_binding="require"))
