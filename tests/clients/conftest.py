import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.people import write_twin
from tests.proxies import Proxy, serving

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
