"""Web tools of a BI team as their users drive them: JSON over HTTP, with a cookie."""

import http.cookiejar
import json
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import WORLD, WORLD_POLICY
from tests.proxies import ROOT, Proxy, spawned, write_home

OPEN = """
CREATE PROTECTED VIEW people_open WITH (method = dp_kdtree, epsilon = 5) AS SELECT age, town, income FROM people;
GRANT SELECT ON people_open TO analyst;
"""
WAIT = 120
"""Seconds for a tool to start, and for one of its answers."""


@contextmanager
def proxy(folder: Path) -> Iterator[Proxy]:
    """The small world of all clients, with a protected view in it."""
    with spawned(write_home(folder, WORLD, WORLD_POLICY + OPEN)) as found:
        yield found


def installed(name: str) -> Path:
    """The environment that `make clients` builds for a tool; skips where it has not, unless this is CI."""
    folder = ROOT / name
    if not (folder / "ready").exists():
        assert not os.environ.get("CI"), f"{name} is to be built: make clients"
        pytest.skip(f"{name} is not built: make clients")
    return folder


class Browser:
    """One user of a tool at an address, logged in or not."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.headers: dict[str, str] = {}
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(jar)

    def page(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> tuple[int, str]:
        """The status and text of an answer."""
        headers = {**self.headers, **({"Content-Type": kind} if kind else {})}
        asked = urllib.request.Request(self.address + path, body, headers, method=method)
        try:
            with self._opener.open(asked, timeout=WAIT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def form(self, path: str, fields: Mapping[str, str]) -> tuple[int, str]:
        """The answer to a form that is sent."""
        body = urllib.parse.urlencode(fields).encode()
        return self.page("POST", path, body, "application/x-www-form-urlencoded")

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The status and JSON of an answer."""
        if body is None:
            status, text = self.page(method, path)
        else:
            status, text = self.page(method, path, json.dumps(body).encode(), "application/json")
        return status, json.loads(text)

    def get(self, path: str, body: object = None, method: str = "GET") -> Any:  # noqa: ANN401 - JSON
        """The JSON of an answer that must be good."""
        status, found = self.ask(method, path, body)
        assert 200 <= status < 300, found
        return found


@contextmanager
def served(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, address: str, ready: str
) -> Iterator[Browser]:
    """A tool that runs, and its user."""
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(command, env=dict(environment), cwd=folder, stdout=out, stderr=out)
    browser, last = Browser(address), time.monotonic() + WAIT
    try:
        while True:
            try:
                browser.page("GET", ready)
                break
            except OSError:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < last, log.read_text()
                time.sleep(0.2)
        yield browser
    finally:
        process.terminate()
        process.wait(30)
