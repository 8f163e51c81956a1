"""node-postgres and postgres.js: a program says what it saw, and here it is compared."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import CLIENTS, SLOW
from tests.proxies import Proxy

pytestmark = [pytest.mark.external, pytest.mark.clients]
TOWNS = ["Bern", "Oslo", "Rome"]
EXPECTED: dict[str, object] = {
    "groups": TOWNS,
    "parameters": ["n", "a"],
    "named": TOWNS,
    "any": 2,
    "jsAny": 2,
    "pages": [2, 1, 0],
    "refused": {"code": "42501", "hint": True},
    "several": ["BEGIN", "SELECT", "COMMIT"],
    "row": {"n": 2, "size": 2.5, "area": "480.75", "capital": True},
    "timeout": {"code": "57014", "hint": False},
    "pool": [1, 2, 3, 1],
    "js": TOWNS,
    "jsNotice": True,
    "jsPages": [2, 1],
    "jsShape": ["town", "n"],
    "jsBlock": 1,
    "jsIn": 1,
    "jsRefused": {"code": "42P01", "hint": True},
    "jsCancelled": {"code": "57014", "hint": False},
    "jsAfter": 3,
}


@pytest.fixture(scope="module")
def seen(world: Proxy, program: Callable[[str, str], str]) -> dict[str, Any]:
    node, modules = program("node", "nodejs"), CLIENTS / "node_modules"
    if not (modules / "postgres").exists():
        assert not os.environ.get("CI"), "the clients are to be installed: make clients"
        pytest.skip("the clients are not installed: make clients")
    done = subprocess.run(
        [node, str(Path(__file__).with_name("node_clients.js")), SLOW],
        env={**world.environment(), "NODE_PATH": str(modules)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("what", EXPECTED)
def test_what_they_saw(seen: dict[str, Any], what: str):
    assert seen[what] == EXPECTED[what]


def test_they_are_told_the_price(seen: dict[str, Any]):
    message, detail = seen["notice"]
    assert "cost 1 epsilon" in message
    assert "unit" in detail
