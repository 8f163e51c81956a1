"""Logging in and out, and what belongs to whom."""

import http.client
import re
import shutil
import ssl
from pathlib import Path

import pytest

from dpproxy import web
from dpproxy.web.site import marked
from tests.proxies import PASSWORD
from tests.server.test_listener import certificate
from tests.web.pages import BY_WARD, Site, site

PATHS = ("/", "/tables", "/history", "/answers/1", "/answers/1.csv")


def test_nothing_is_shown_before_a_login(shared: Site):
    browser = shared.browser()
    for path in PATHS:
        answer = browser.send("GET", path)
        assert (answer.status, answer.headers["location"]) == (303, "/login")
    for path in ("/ask", "/draft", "/take", "/logout"):
        assert browser.send("POST", path, "statement=SELECT+1").headers["location"] == "/login"


def test_a_wrong_password_says_so_and_gives_no_cookie(shared: Site):
    browser = shared.browser()
    answer = browser.log_in("ann", "wrong")
    assert answer.status == 401
    assert 'password authentication failed for user "ann"' in answer.words
    assert browser.cookies == {}
    assert "wrong" not in answer.text


def test_the_cookie_is_for_this_site_alone_and_no_script_reads_it(shared: Site):
    browser = shared.browser()
    answer = browser.send("POST", "/login", "user=ann&password=correct+horse")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"dpproxy-{shared.port}=")
    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {
        "httponly",
        "path=/",
        "samesite=strict",
    }


def test_a_cookie_over_tls_is_bound_to_the_host(tmp_path: Path):
    with site(tmp_path, url="https://ask.example.org") as found:
        own = {"Host": "ask.example.org", "Origin": "https://ask.example.org"}
        assert found.browser().send("GET", "/login").status == 403
        answer = found.browser().send("POST", "/login", "user=ann&password=correct+horse", own)
        assert answer.headers["set-cookie"].startswith("__Host-dpproxy=")
        assert "; secure" in answer.headers["set-cookie"].lower()
        assert answer.headers["strict-transport-security"]


def test_a_login_has_a_secret_that_the_browser_did_not_choose(shared: Site):
    browser, name = shared.browser(), f"dpproxy-{shared.port}"
    browser.cookies[name] = "fixed"
    browser.log_in("ann")
    first = browser.cookies[name]
    assert first != "fixed"
    browser.submit("/login", user="ann", password="correct horse")
    second = browser.cookies[name]
    assert second != first
    thief = shared.browser()
    for stolen in ("fixed", first):
        thief.cookies[name] = stolen
        assert thief.open("/").words.startswith("Log in")


def test_after_logging_out_the_cookie_opens_nothing(shared: Site):
    browser = shared.browser("ann")
    before = dict(browser.cookies)
    assert "Log in" in browser.submit("/logout").words
    assert browser.open("/").words.startswith("Log in")
    browser.cookies = before
    assert browser.open("/").words.startswith("Log in")


def test_nobody_sees_what_others_ask(shared: Site):
    ann, bob = shared.browser("ann"), shared.browser("bob")
    ann.ask(BY_WARD)
    assert ann.at == "/answers/1"
    for path in ("/answers/1", "/answers/1.csv"):
        assert bob.send("GET", path).status == 404
    theirs = bob.open("/history").words
    assert "Nothing was asked yet" in theirs
    assert "Earlier sessions" not in theirs
    again = shared.browser("ann")
    assert again.send("GET", "/answers/1").status == 404


def test_a_session_that_the_proxy_ends_asks_for_a_login(shared: Site):
    browser, root = shared.browser("ann"), shared.browser("root")
    process = re.search(r"<td[^>]*>(\d+)</td>", browser.ask("SELECT pg_backend_pid()").text)
    assert process is not None
    root.ask(f"SELECT pg_terminate_backend({process[1]})")
    answer = browser.open("/")
    for _ in range(50):
        if browser.at != "/":
            break
        answer = browser.open("/")
    assert browser.at == "/login?ended"
    assert "Your session has ended" in answer.words


def test_unknown_addresses_and_methods(shared: Site):
    browser = shared.browser("ann")
    assert browser.send("GET", "/nothing").status == 404
    assert browser.send("GET", "/static/../site.py").status == 404
    assert browser.send("GET", "/static/nothing.js").status == 404
    assert browser.send("PUT", "/ask", "", {"Origin": f"http://127.0.0.1:{shared.port}"}).status == 405


@pytest.mark.parametrize(
    ("position", "parts"),
    [
        (7, ("SELECT ", "a1", " + é")),
        (10, ("SELECT a1 ", "+", " é")),
        (13, ("SELECT a1 + é", "⏎", "")),
        (99, ("SELECT a1 + é", "⏎", "")),
    ],
)
def test_the_place_of_a_refusal(position: int, parts: tuple[str, str, str]):
    assert marked("SELECT a1 + é", position) == parts


def test_where_there_are_several_sources_a_login_names_one(tmp_path: Path):
    with site(tmp_path, database=None) as found:
        browser = found.browser()
        assert 'name="database"' in browser.open("/login").text
        assert (
            'database "nothing"'
            in browser.submit("/login", user="ann", password=PASSWORD, database="nothing").words
        )
        browser.submit("/login", user="ann", password=PASSWORD, database="main")
        assert browser.at == "/"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_the_page_over_tls(tmp_path: Path):
    file, key = certificate(tmp_path)
    url = "https://ask.example.org"
    with site(tmp_path / "home", url=url, tls_certificate=str(file), tls_key=str(key)) as found:
        trusting = ssl.create_default_context(cafile=str(file))
        trusting.check_hostname = False
        connection = http.client.HTTPSConnection("127.0.0.1", found.port, context=trusting, timeout=30)
        connection.request("GET", "/login", headers={"Host": "ask.example.org"})
        response = connection.getresponse()
        assert (response.status, response.getheader("strict-transport-security")) == (200, "max-age=31536000")
        connection.close()


def test_templates_escape_everything_but_our_own_style():
    texts = {
        path.name: path.read_text(encoding="utf-8")
        for path in (Path(web.__file__).parent / "templates").iterdir()
    }
    assert [name for name, text in texts.items() if "| safe" in text or "autoescape" in text] == ["file.html"]
    assert texts["file.html"].count("| safe") == 1
    for name, text in texts.items():
        assert not re.search(r"\s[\w-]+=\{\{|<script>|javascript:| on\w+=| style=", text), name


def test_hostile_names_of_the_policy_are_never_markup(tmp_path: Path):
    with site(tmp_path) as found:
        root = found.browser("root")
        script = "<script>alert(1)</script>"
        root.open("/policy")
        for statement in (
            f'CREATE PRIVACY BUDGET "{script}" LIMIT EPSILON 1',
            f'GRANT SELECT ON visits TO "{script}" WITH PRIVACY BUDGET "{script}"',
        ):
            assert script not in root.submit("/policy", statement=statement).text
            assert script not in root.submit("/policy", statement=statement, apply="1").text
        root.submit("/reset", budget=script, user="", reason=script)
        for path in (
            "/budgets",
            "/spending",
            "/policy",
            "/policy?table=visits",
            "/views",
            "/audit",
            "/report",
            "/report?file=1",
        ):
            answer = root.send("GET", path)
            assert answer.status == 200, path
            assert "<script>" not in answer.text, path
        assert script in root.open("/budgets").words
