"""What other sites, other names of the host, and long or slow forms get: nothing."""

import socket
import time

import pytest

from dpproxy.web import guard
from dpproxy.web.guard import HEADERS, LONGEST_BODY
from tests.web.pages import Site


def test_every_answer_has_the_headers(shared: Site):
    browser = shared.browser("ann")
    for path in ("/", "/login", "/nothing", "/static/page.css", "/answers/99"):
        answer = browser.send("GET", path)
        assert HEADERS.items() <= answer.headers.items(), path
        assert "content-encoding" not in answer.headers
        assert "server" not in answer.headers


def test_pages_are_not_stored_and_hold_no_script_of_their_own(shared: Site):
    answer = shared.browser("ann").open("/")
    assert answer.headers["cache-control"] == "no-store"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.text.count("<script") == answer.text.count('<script src="/static/') == 1
    assert " style=" not in answer.text
    assert " on" + "click" not in answer.text
    assert "//" not in answer.text.replace("http://www.w3.org", "")  # nothing is loaded from elsewhere


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", ""])
def test_another_host_is_refused(shared: Site, host: str):
    if host:
        assert shared.browser().send("GET", "/login", headers={"Host": host}).status == 403
    else:
        with socket.create_connection(("127.0.0.1", shared.port)) as raw:
            raw.sendall(b"GET /login HTTP/1.0\r\n\r\n")
            assert b" 403 " in raw.recv(1000)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "https://127.0.0.1"])
def test_a_form_of_another_site_is_refused(shared: Site, origin: str):
    browser = shared.browser("ann")
    answer = browser.send("POST", "/ask", f"token={browser.token}&statement=SELECT+1", {"Origin": origin})
    assert answer.status == 403
    assert "Nothing was asked yet" in browser.open("/history").words


def test_a_form_without_the_token_of_its_session_is_refused(shared: Site):
    ann, bob = shared.browser("ann"), shared.browser("bob")
    for token in ("", "x", bob.token, "é"):
        ann.open("/")
        ann.token = token
        assert ann.ask("SELECT 1").status == 403
    assert "Nothing was asked yet" in ann.open("/history").words


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("a" * (LONGEST_BODY + 1), "application/x-www-form-urlencoded", 413),
        ("statement=%ff", "application/x-www-form-urlencoded", 400),
        ("&".join(f"a{n}=1" for n in range(30)), "application/x-www-form-urlencoded", 400),
        ("statement=1", "text/plain", 415),
        ("statement=1", "multipart/form-data; boundary=x", 415),
    ],
)
def test_forms_that_are_no_forms(shared: Site, body: str, kind: str, status: int):
    assert shared.browser("ann").send("POST", "/ask", body, {"Content-Type": kind}).status == status


def test_a_body_that_does_not_come_is_not_waited_for(shared: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guard, "PATIENCE", 0.3)
    with socket.create_connection(("127.0.0.1", shared.port)) as raw:
        host = f"127.0.0.1:{shared.port}"
        raw.sendall(
            f"POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: 9\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n\r\na".encode()
        )
        begun = time.monotonic()
        raw.settimeout(10)
        assert b" 408 " in raw.recv(1000)
        assert time.monotonic() - begun < 5
