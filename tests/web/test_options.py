"""Which addresses a page answers to."""

import pytest

from dpproxy.web.options import Options, is_loopback

LOCAL = Options("127.0.0.1", 8080, "0.0.0.0", 6432, "main")


def test_options_survive_a_command_line():
    assert Options.read(LOCAL.text()) == LOCAL


def test_the_names_of_this_machine_are_its_origins():
    assert LOCAL.origins == ("http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080")
    assert Options("::1", 1, "::", 2).origins[0] == "http://[::1]:1"
    assert not LOCAL.is_secure


def test_an_address_that_people_open_is_the_only_origin():
    front = Options("127.0.0.1", 8080, "::", 6432, url="https://ask.example.org")
    assert (front.origins, front.is_secure) == (("https://ask.example.org",), True)


def test_an_own_certificate_makes_it_secure():
    assert Options("10.0.0.1", 443, "", 1, tls_certificate="c").origins == ("https://10.0.0.1:443",)


@pytest.mark.parametrize(
    ("listened", "reached"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("10.0.0.1", "10.0.0.1")]
)
def test_a_proxy_on_all_addresses_is_reached_on_this_machine(listened: str, reached: str):
    assert Options("127.0.0.1", 1, listened, 2).reaches == reached


def test_loopback():
    assert [is_loopback(h) for h in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")] == [
        True, True, True, False, False,
    ]  # fmt: skip
