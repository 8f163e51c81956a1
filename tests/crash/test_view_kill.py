"""A proxy killed while it builds a view: the old view and the charge are there afterwards."""

import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from dpproxy.anonymize.methods import METHODS
from tests.hospital import Plain, home
from tests.proxies import ROOT, environment, serving

SERVER = """
import sys, time
from pathlib import Path
from dpproxy.anonymize.methods import METHODS
from dpproxy.cli.main import main
from tests.hospital import Plain

folder = Path(sys.argv[1]).parent

def wait(progress):
    if (folder / "wait").exists():
        (folder / "building").touch()
        time.sleep(60)

METHODS["plain"] = Plain()
Plain.before = staticmethod(wait)
main(["serve", "--config", sys.argv[1]])
"""
VIEW = "CREATE PROTECTED VIEW v WITH (method = plain, epsilon = 2) AS SELECT age, cost FROM patients"


def test_a_kill_while_building_leaves_the_old_view_and_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = home(tmp_path, f"{VIEW};\nGRANT SELECT ON v TO analyst;\n")
    command = [sys.executable, "-c", SERVER, str(file)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None
    port = int(process.stdout.readline().rpartition(":")[2].split(" ")[0])
    dsn = f"host=127.0.0.1 port={port} user=root password='correct horse' dbname=main"
    (tmp_path / "wait").touch()
    connection = psycopg.connect(dsn, autocommit=True)
    connection.pgconn.send_query(b"REFRESH PROTECTED VIEW v")
    until = time.monotonic() + 60
    while not (tmp_path / "building").exists() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    connection.close()
    (tmp_path / "wait").unlink()
    monkeypatch.setitem(METHODS, "plain", Plain())
    with serving(file) as proxy:
        with psycopg.connect(proxy.dsn("ann"), autocommit=True) as analyst:
            assert analyst.execute("SELECT count(*) FROM v").fetchone() == (60,)
        with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
            row = root.execute("SHOW PRIVACY VIEWS").fetchone()
            assert row is not None
            assert (row[2], row[6], row[8]) == ("released", 2, 1)  # two builds were begun, the first is read
            entries = root.execute("SELECT epsilon FROM dp.ledger").fetchall()
            assert entries == [(Decimal(2),), (Decimal(2),)]
