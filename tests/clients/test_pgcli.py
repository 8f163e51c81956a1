"""pgcli: its completer reads the catalogue when it starts, then it runs what is typed."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.conftest import CLIENTS
from tests.proxies import Proxy

pytestmark = [pytest.mark.external, pytest.mark.clients]

COMPLETES = """
import sys
from pgcli.pgexecute import PGExecute
executor = PGExecute("main", "ann", sys.argv[2], "127.0.0.1", sys.argv[1])
print("tables", sorted(name for schema, name in executor.tables() if schema == "public"))
print("views", sorted(executor.views()))
print("columns", sorted((c[1], c[2], c[3]) for c in executor.table_columns() if c[0] == "public"))
print("functions", len(list(executor.functions())), "types", len(list(executor.datatypes())) >= 0)
print("keys", len(list(executor.foreignkeys())), "schemata", sorted(executor.schemata()))
print("databases", executor.databases(), "path", executor.search_path())
"""


def test_what_it_completes(world: Proxy, program: Callable[[str, str], str]):
    program("pgcli", "make clients")
    done = subprocess.run(
        [str(CLIENTS / "bin" / "python"), "-c", COMPLETES, str(world.port), world.environment()["PGPASSWORD"]],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tables ['people', 'towns', 'visits']" in done.stdout
    assert "('public', 'spent')" in done.stdout
    assert "('visits', 'cost', 'integer')" in done.stdout
    assert "databases ['main']" in done.stdout
    assert "salaries" not in done.stdout


def test_commands_typed(world: Proxy, program: Callable[[str, str], str], tmp_path: Path):
    done = subprocess.run(
        [program("pgcli", "make clients"), "--pgclirc", str(tmp_path / "config"), "-h", "127.0.0.1",
         "-p", str(world.port), "-U", "ann", "-d", "main", "--less-chatty"],
        input="\\dt\n\\d visits\nSELECT town, count(*) FROM people GROUP BY town;\nSELECT age FROM people;\n\\q\n",
        env={**world.environment(), "HOME": str(tmp_path), "PAGER": "cat"},
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    shown = done.stdout + done.stderr
    assert re.search(r"public +\| people +\| table", shown), shown
    assert re.search(r"cost +\| integer", shown), shown
    assert re.search(r"Bern +\| \d+", shown), shown
    assert "rows are not shown" in shown
