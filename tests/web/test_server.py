"""Clients that never finish a request."""

import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dpproxy.web import server
from tests.web.pages import Site, site


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "])
def test_a_head_that_does_not_come_is_not_waited_for(
    shared: Site, monkeypatch: pytest.MonkeyPatch, begun: bytes
):
    monkeypatch.setattr(server, "HEAD", 0.2)
    with socket.create_connection(("127.0.0.1", shared.port)) as raw:
        raw.settimeout(10)
        if begun:
            raw.sendall(begun)
        assert raw.recv(1) == b""


def test_a_long_head_is_refused(shared: Site):
    with socket.create_connection(("127.0.0.1", shared.port)) as raw:
        raw.settimeout(10)
        raw.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 40_000)
        assert raw.recv(1000)[:12] in (b"HTTP/1.1 400", b"")


def test_the_head_of_a_later_request_is_not_waited_for_either(shared: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "HEAD", 0.3)
    with socket.create_connection(("127.0.0.1", shared.port)) as raw:
        raw.settimeout(10)
        raw.sendall(f"GET /login HTTP/1.1\r\nHost: 127.0.0.1:{shared.port}\r\n\r\n".encode())
        assert b" 200 " in raw.recv(100_000)
        raw.sendall(b"GET /login HT")
        while raw.recv(100_000):
            pass


def test_one_address_leaves_room_for_others(shared: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "MOST_OF_ADDRESS", 1)
    monkeypatch.setattr(server, "is_loopback", lambda _address: False)
    with socket.create_connection(("127.0.0.1", shared.port)) as first:
        first.sendall(b"GET /login HTTP/1.1\r\n")
        with socket.create_connection(("127.0.0.1", shared.port)) as second:
            second.settimeout(10)
            assert second.recv(1) == b""
        first.settimeout(10)
        first.sendall(f"Host: 127.0.0.1:{shared.port}\r\n\r\n".encode())
        assert b" 200 " in first.recv(100_000)


def test_an_answer_that_is_not_read_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "IDLE", 0.2)
    with site(tmp_path) as found:
        browser = found.browser("ann")
        wide = f"SELECT '{'x' * 700}' AS x FROM wards a" + "".join(
            f" CROSS JOIN wards t{n}" for n in range(8)
        )
        assert "5000 or more rows" in browser.ask(wide).words
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        head = f"GET /answers/1.csv HTTP/1.1\r\nHost: 127.0.0.1:{found.port}\r\nCookie: {cookies}\r\n\r\n"
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.connect(("127.0.0.1", found.port))
            raw.sendall(head.encode())
            for is_open in (True, False):
                until = time.monotonic() + 60
                while bool(server.Protocol._addresses) != is_open:
                    assert time.monotonic() < until
                    time.sleep(0.01)
            raw.settimeout(10)
            taken = 0
            with suppress(ConnectionResetError):
                while part := raw.recv(1_000_000):
                    taken += len(part)
            assert taken < 3_500_000
