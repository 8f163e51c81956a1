"""The drivers of Perl, Ruby and PHP: a program of each says what it saw, and here it is compared."""

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


@pytest.mark.parametrize(
    ("name", "package", "script", "expected"),
    [
        ("perl", "libdbd-pg-perl", "perl_client.pl", PERL),
        ("ruby", "ruby-pg", "ruby_client.rb", RUBY),
        ("php", "php-pgsql", "php_client.php", PHP),
    ],
    ids=["DBD::Pg", "ruby-pg", "PDO and pg_*"],
)
def test_what_it_saw(
    world: Proxy,
    program: Callable[[str, str], str],
    name: str,
    package: str,
    script: str,
    expected: dict[str, Any],
):
    command = [program(name, package), str(Path(__file__).with_name(script))]
    done = subprocess.run(
        command, env=world.environment(), capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode and not os.environ.get("CI") and not done.stdout:
        pytest.skip(f"the driver is not installed: {package}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
