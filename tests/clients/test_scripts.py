"""The drivers of Perl, Ruby, PHP, R and Go: a program of each says what it saw, and here it is compared."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.proxies import Proxy

pytestmark = [pytest.mark.external, pytest.mark.clients]
TOWNS = ["Bern", "Oslo", "Rome"]
PERL = {
    "version": 1, "ping": 1, "tables": ["people", "towns", "visits"], "views": ["spent"], "key": ["town"], "types": 1,
    "columns": ["town text", "n integer", "size double precision", "founded date", "seen timestamp without time zone",
                "area numeric", "capital boolean"],
    "groups": TOWNS, "notice": 1, "names": ["n", "size", "founded", "capital"], "row": [2, 2.5, "1048-01-01", 1],
    "list": [1, 3], "refused": ["42501", 1], "fetched": [1, 2], "copied": TOWNS, "again": 3,
}  # fmt: skip
RUBY = {
    "groups": TOWNS, "notice": True, "typed": ["Integer", "TrueClass", "Float", "Array", "Date"],
    "row": ["2", "2.5", "1048-01-01", "true"], "binary": [2, True], "list": [1, 3], "described": ["n"],
    "refused": ["42501", True], "single": [1, 2, 3], "copied": TOWNS, "transaction": 3, "again": 1,
}  # fmt: skip
PHP = {
    "groups": [TOWNS, TOWNS], "row": [2, "2.5", "1048-01-01", True], "meta": ["int4", "bool"],
    "refused": ["42501", True], "fetched": [1, 2], "copied": TOWNS, "tables": ["towns"],
    "columns": {"town": "text", "n": "int4", "size": "float8", "founded": "date", "seen": "timestamp",
                "area": "numeric", "capital": "bool"},
    "list": ["1", "3"], "selected": "Oslo", "notice": True, "prepared": "42", "reset": True,
}  # fmt: skip
R = {
    "tables": ["people", "towns", "visits"], "fields": ["town", "n", "size", "founded", "seen", "area", "capital"],
    "exists": [True, False], "classes": ["character", "integer", "numeric", "Date", "POSIXct", "numeric", "logical"],
    "row": ["Oslo", "2", "2.5", "1048-01-01", "TRUE"], "parameter": [1], "pages": [2, 1], "groups": TOWNS,
    "refused": [True, True], "transaction": [2], "columns": [9], "counted": TOWNS, "summary": [3, 4], "share": [3],
    "listed": ["Bern"], "joined": [3], "explained": [True], "again": [1],
}  # fmt: skip
GO = {
    "tables": ["people", "spent", "towns", "visits"], "groups": TOWNS, "list": ["Bern", "Rome"], "others": ["Oslo"],
    "types": ["TEXT", "INT4", "FLOAT8", "DATE", "TIMESTAMP", "NUMERIC", "BOOL"], "refused": [True, True],
    "transaction": 3, "row": [2.5, "1048-01-01", True], "typed": [2**40 + 1, "é"], "batch": [True, True, True],
    "cancelled": True, "simple": [1, 2, 3], "copied": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "package", "script", "expected"),
    [
        ("perl", "libdbd-pg-perl", "perl_client.pl", PERL),
        ("ruby", "ruby-pg", "ruby_client.rb", RUBY),
        ("php", "php-pgsql", "php_client.php", PHP),
        ("Rscript", "r-cran-rpostgresql r-cran-dbplyr", "r_client.R", R),
        ("go", "golang-go golang-github-lib-pq-dev golang-github-jackc-pgx-v4-dev", "go_client.go", GO),
    ],
    ids=["DBD::Pg", "ruby-pg", "PDO and pg_*", "RPostgreSQL and dbplyr", "lib/pq and pgx"],
)
def test_what_it_saw(
    world: Proxy,
    program: Callable[[str, str], str],
    name: str,
    package: str,
    script: str,
    expected: dict[str, Any],
):
    found = program(name, package)
    command = [found, *(["run"] if name == "go" else []), str(Path(__file__).with_name(script))]
    environment = world.environment() | {"GOPATH": "/usr/share/gocode", "GO111MODULE": "off"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode and not os.environ.get("CI") and not done.stdout:
        pytest.skip(f"the driver is not installed: {package}: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT town, n, founded FROM towns ORDER BY n",
            ['Bern,"1",1191/01/01', 'Oslo,"2",1048/01/01', 'Rome,"3",'],
        ),
        ("SELECT town FROM (SELECT town, count(*) FROM people GROUP BY town) g ORDER BY town", TOWNS),
    ],
)
def test_gdal(world: Proxy, program: Callable[[str, str], str], sql: str, expected: list[str]):
    """It declares a cursor, fetches none of its rows for the columns, and then all of them."""
    command = [program("ogr2ogr", "gdal-bin"), "-f", "CSV", "/vsistdout/", "PG:dbname=main", "-sql", sql]
    done = subprocess.run(
        command, env=world.environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.rstrip(",") for line in done.stdout.splitlines()[1:]] == [
        line.rstrip(",") for line in expected
    ]
    assert "ERROR" not in done.stderr
