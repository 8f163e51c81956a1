"""``dpproxy serve`` with a page."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpproxy.cli import page as pages
from dpproxy.cli import policy
from dpproxy.cli.page import page
from dpproxy.config.configuration import load_config
from dpproxy.values.errors import StartupError
from tests.proxies import write_home

POLICY = "ALTER TABLE t SET PRIVACY PUBLIC;"


def home(folder: Path, port: int = 0) -> Path:
    file = write_home(folder, ["CREATE TABLE t AS SELECT 1 AS x"], POLICY)
    file.write_text(f'{file.read_text()}[web]\nlisten = "127.0.0.1:{port}"\n')
    return file


def status(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/login")
        return connection.getresponse().status
    finally:
        connection.close()


def child() -> int:
    """The process of the page, a child of this one."""
    tasks = Path(f"/proc/{os.getpid()}/task").iterdir()
    numbers = [number for task in tasks for number in (task / "children").read_text().split()]
    [found] = [n for n in numbers if b"dpproxy.web" in Path(f"/proc/{n}/cmdline").read_bytes()]
    return int(found)


def test_serve_shows_the_page_and_stops_it(tmp_path: Path):
    command = [sys.executable, "-m", "dpproxy", "serve", "--config", str(home(tmp_path))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "the page is on" in line)
        found = re.search(r"http://127\.0\.0\.1:(\d+)$", line.strip())
        assert found is not None
        assert status(int(found[1])) == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    with pytest.raises(OSError, match="refused"):
        status(int(found[1]))


def test_a_page_that_ends_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages, "AGAIN", 0.1)
    monkeypatch.setenv("PGPASSWORD", "secret")
    lines: list[str] = []
    with page(load_config(home(tmp_path)), "k" * 64, lines.append) as show:
        show(1)
        port = int(lines[0].rpartition(":")[2])
        assert status(port) == 200
        assert b"PGPASSWORD" not in Path(f"/proc/{child()}/environ").read_bytes()
        assert b"kkkk" not in Path(f"/proc/{child()}/cmdline").read_bytes()
        os.kill(child(), signal.SIGKILL)
        until = time.monotonic() + 30
        while len(lines) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        assert status(port) == 200
    assert "the page has ended with status -9" in lines[1]


def test_an_address_that_is_taken_is_said_at_once(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = load_config(home(tmp_path, taken.getsockname()[1]))
        with pytest.raises(StartupError, match=r"web\.listen: cannot listen on"), page(config, "", print):
            pass


def test_without_its_packages_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages, "find_spec", lambda _name: None)
    with pytest.raises(StartupError, match=r"dpproxy\[web\]"), page(load_config(home(tmp_path)), "", print):
        pass
    with pytest.raises(StartupError, match=r"dpproxy\[web\]"):
        policy._check_config(load_config(home(tmp_path / "again")))


def test_without_an_address_there_is_no_page(tmp_path: Path):
    file = write_home(tmp_path, ["CREATE TABLE t AS SELECT 1 AS x"], POLICY)
    with page(load_config(file), "", print) as show:
        show(1)
