"""Failed logins of the wire and of the page are counted together, by address and by user."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpproxy.server.options import Options
from dpproxy.server.service import origin_of
from dpproxy.system.attempts import FIRST
from dpproxy.web.logins import Logins
from dpproxy.web.options import Options as PageOptions
from dpproxy.web.wire import Refused
from dpproxy.wire.messages import Startup
from tests.proxies import PASSWORD, Proxy, serving, write_home
from tests.web.pages import DDL, POLICY

KEY = Options().page_key


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with serving(write_home(tmp_path, DDL, POLICY)) as found:
        yield found


def at_page(proxy: Proxy, user: str, password: str, *addresses: str) -> float:
    """The seconds that logins from these browsers take, all at once."""

    async def run() -> None:
        own = PageOptions("127.0.0.1", 1, "127.0.0.1", proxy.port, "main", key=proxy.page_key)
        logins = Logins(own)
        found = await asyncio.gather(*(logins.begin(user, password, "main", one) for one in addresses))
        assert all(isinstance(one, Refused) == (password != PASSWORD) for one in found)
        await logins.close()

    begun = time.monotonic()
    asyncio.run(run())
    return time.monotonic() - begun


def at_wire(proxy: Proxy, user: str, password: str) -> float:
    begun = time.monotonic()
    try:
        psycopg.connect(proxy.dsn(user, password=f"'{password}'")).close()
    except psycopg.OperationalError:
        assert password != PASSWORD
    return time.monotonic() - begun


def test_failures_at_the_page_delay_the_user_at_the_wire_and_back(proxy: Proxy):
    for n in range(4):
        at_page(proxy, "ann", "wrong", f"10.0.0.{n}")
    assert at_wire(proxy, "ann", PASSWORD) > 4 * FIRST
    assert at_page(proxy, "ann", PASSWORD, "10.0.0.9") > 4 * FIRST
    for _ in range(3):
        at_wire(proxy, "bob", "wrong")
    assert at_page(proxy, "bob", PASSWORD, "10.0.0.10") > 2 * FIRST


def test_failures_of_one_browser_delay_no_other(proxy: Proxy):
    for n in range(4):
        at_page(proxy, f"nobody{n}", "wrong", "10.0.0.1")
    assert at_page(proxy, "eve", "wrong", "10.0.0.1") > 4 * FIRST
    assert at_page(proxy, "bob", PASSWORD, "10.0.0.2") < 4 * FIRST
    assert at_wire(proxy, "root", PASSWORD) < 4 * FIRST


def test_attempts_at_the_page_side_by_side_delay_each_other(proxy: Proxy):
    assert at_page(proxy, "ann", "wrong", *["10.0.0.1"] * 4) > 4 * FIRST * 0.9


def test_the_record_has_the_address_of_the_browser(proxy: Proxy, caplog: pytest.LogCaptureFixture):
    at_page(proxy, "ann", "wrong", "2001:db8::7")
    assert "login failed: user 'ann', database 'main', from 2001:db8::7" in caplog.text
    assert proxy.page_key not in caplog.text


def startup(options: str) -> Startup:
    return Startup({"user": "ann", "options": options}, 2)


def test_an_address_is_believed_with_the_key_alone():
    own = startup(f"-c dp.epsilon=1 -c dpproxy.origin={KEY}/10.0.0.1")
    found, address = origin_of(own, KEY)
    assert (found.parameters["options"].strip(), found.minor, address) == ("-c dp.epsilon=1", 2, "10.0.0.1")
    for other in (f"-c dpproxy.origin={'0' * 64}/10.0.0.1", f"-c dpproxy.origin={KEY}/", "", "-c a.b=1"):
        assert origin_of(startup(other), KEY) == (startup(other), None)
    assert origin_of(Startup({"user": "ann"}), KEY)[1] is None


def test_who_guesses_a_key_moves_no_address(proxy: Proxy, caplog: pytest.LogCaptureFixture):
    guess = f"options='-c dpproxy.origin={'0' * 64}/10.9.9.9'"
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(proxy.dsn("ann", password="wrong") + f" {guess}")
    assert "from 127.0.0.1" in caplog.text
    assert "10.9.9.9" not in caplog.text
