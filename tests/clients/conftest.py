import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.assurance.people import write_twin
from tests.proxies import ROOT, Proxy, serving, spawned, write_home

ENDLESS = (
    """CREATE TABLE much AS SELECT CAST(i % 1000 AS INTEGER) AS x, CAST(i % 7 AS INTEGER) AS y, i % 100000 AS owner
      FROM range(3000000) AS r(i)""",
    "CREATE VIEW busy AS SELECT y, count(*) AS n, avg(x) AS mean FROM much GROUP BY y",
    "CREATE VIEW unasked AS SELECT x FROM much",
)
POLICY = """
ALTER TABLE much SET PRIVACY KEY (owner) MAX ROWS 30;
ALTER TABLE much SET PRIVACY CEILING EPSILON 100000;
ALTER TABLE much ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE much ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 6;
GRANT SELECT ON much, busy TO analyst WITH PRIVACY BUDGET research;
"""

collect_ignore_glob = ["*_client.py"]  # they run in the environments of their own clients
CLIENTS = ROOT / ".venv-clients"
"""Where `make clients` puts what does not go into the project's own environment."""
WORLD = (
    """CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER NOT NULL, town VARCHAR, income DOUBLE, born DATE,
      seen TIMESTAMP, member BOOLEAN, paid DECIMAL(10,2), big BIGINT)""",
    """INSERT INTO people SELECT i, i % 100, ['Bern', 'Oslo', 'Rome'][1 + i % 3], i * 1.5,
      DATE '1950-01-01' + CAST(i AS INTEGER), TIMESTAMP '2020-01-01 00:00:00', i % 2 = 0, i / 4, i
      FROM range(1000) AS r(i)""",
    "CREATE TABLE visits (person INTEGER REFERENCES people (id), cost INTEGER)",
    "INSERT INTO visits SELECT i % 1000, i % 50 FROM range(3000) AS r(i)",
    "CREATE TABLE salaries (person INTEGER, amount DOUBLE)",
    """CREATE TABLE towns (town VARCHAR PRIMARY KEY, n INTEGER, size DOUBLE, founded DATE, seen TIMESTAMP,
      area DECIMAL(8,2), capital BOOLEAN)""",
    """INSERT INTO towns VALUES
      ('Bern', 1, 1.5, DATE '1191-01-01', TIMESTAMP '2020-01-01 10:00:00', 51.60, true),
      ('Oslo', 2, 2.5, DATE '1048-01-01', TIMESTAMP '2020-01-02 10:00:00.25', 480.75, true),
      ('Rome', 3, NULL, NULL, NULL, NULL, NULL)""",
    "CREATE VIEW spent AS SELECT cost, count(*) AS n FROM visits GROUP BY cost",
)
WORLD_POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 100000;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110;
ALTER TABLE people ALTER COLUMN town SET PRIVACY DOMAIN IN ('Bern', 'Oslo', 'Rome');
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN 0 AND 100000;
ALTER TABLE people ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN DATE '1900-01-01' AND DATE '2020-12-31';
ALTER TABLE people ALTER COLUMN seen SET PRIVACY
  DOMAIN BETWEEN TIMESTAMP '2000-01-01 00:00:00' AND TIMESTAMP '2030-01-01 00:00:00';
ALTER TABLE people ALTER COLUMN member SET PRIVACY DOMAIN IN (true, false);
ALTER TABLE people ALTER COLUMN paid SET PRIVACY DOMAIN BETWEEN -10 AND 1000.5;
ALTER TABLE people ALTER COLUMN big SET PRIVACY DOMAIN BETWEEN -1000000000000 AND 1000000000000;
ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 5;
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE towns SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET research LIMIT EPSILON 100000 MAX EPSILON 10 DEFAULT EPSILON 1;
GRANT SELECT ON people, visits, spent TO analyst WITH PRIVACY BUDGET research;
GRANT SELECT ON towns TO analyst;
"""
SLOW = """SELECT count(*) FROM pg_type a, pg_type b, pg_type c, pg_type d, pg_type e, pg_type f, pg_type g
  WHERE length(a.typname) + length(b.typname) + length(c.typname) + length(d.typname) + length(e.typname)
    + length(f.typname) + length(g.typname) > 1"""
"""Runs until the catalogue's own limit of 5 seconds: it is charged to nobody, and ends at once when it is cancelled."""


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A small one for all clients: two protected tables, a view, a public table, a hidden one."""
    with spawned(write_home(tmp_path_factory.mktemp("world"), WORLD, WORLD_POLICY)) as found:
        yield found


@pytest.fixture(scope="session")
def program() -> Callable[[str, str], str]:
    """Where a client is; skips where it is not installed, unless this is the project's own check."""

    def find(name: str, package: str) -> str:
        own = os.pathsep.join(map(str, (CLIENTS / "bin", CLIENTS / "node_modules" / ".bin")))
        found = shutil.which(name) or shutil.which(name, path=own)
        if found is None:
            assert not os.environ.get("CI"), f"{name} is to be installed: {package}"
            pytest.skip(f"{name} is not installed: {package}")
        return found

    return find


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("clients")
    with serving(write_twin(folder, with_her=True, ddl=ENDLESS, policy=POLICY)) as found:
        yield found


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Path]]:
    """One with TLS, and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "server.crt", folder / "server.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    more = 'tls_certificate = "server.crt"\ntls_key = "server.key"'
    with serving(write_twin(folder, with_her=True, more=more)) as found:
        yield found, certificate
