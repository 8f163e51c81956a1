"""pgbench with a script of its own: one question, in each form of the protocol, by several clients."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proxies import Proxy

pytestmark = pytest.mark.external


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_a_script(world: Proxy, program: Callable[[str, str], str], tmp_path: Path, protocol: str):
    script = tmp_path / "script.sql"
    script.write_text(
        "\\set least random(1, 3)\n"
        "SELECT count(*) FROM people WHERE age > :least;\n"
        "BEGIN;\nSELECT town FROM towns WHERE n = :least;\nEND;\n"
    )
    done = subprocess.run(
        [program("pgbench", "postgresql"), "-n", "-f", str(script), "-M", protocol, "-c", "3", "-t", "20"],
        env={**world.environment(), "PGOPTIONS": "-c dp.notices=off"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"number of transactions actually processed: 60/60", done.stdout), done.stdout
    assert re.search(r"number of failed transactions: 0 ", done.stdout)
