"""What is compared of two twins: everything but the values drawn."""

import pytest

from dpproxy.assurance.observed import Ask, greeting, observe, refusals, rows, seen, texts
from dpproxy.assurance.wire import Message
from tests.assurance.raw import Raw
from tests.proxies import Proxy

ROW = (2).to_bytes(2, "big") + (1).to_bytes(4, "big") + b"a" + (1).to_bytes(4, "big") + b"7"


@pytest.mark.parametrize(
    ("ask", "shown"),
    [
        (Ask(""), ("row", b"a", "noise")),
        (Ask("", exact=True), ("row", b"a", b"7")),
        (Ask("", filtered=True), None),
    ],
)
def test_what_is_masked(ask: Ask, shown: object):
    assert seen(Message("D", ROW), ask, {1}) == shown


def test_what_is_copied_shows_only_what_is_null():
    assert seen(Message("d", b"7\t\\N\n"), Ask(""), set()) == ("copied", "noise", None)
    assert seen(Message("d", b"7\n"), Ask("", exact=True), set()) == ("d", b"7\n")


def test_what_is_told_of_a_draw_is_left_out_and_nothing_else_that_is_told():
    told, other = (
        Message("N", b"SNOTICE\0C01000\0M" + text + b"\0\0")
        for text in (b"the draw contradicts the prior normal(1, 2)", b"the table has changed")
    )
    assert seen(told, Ask(""), set()) is None
    assert seen(told, Ask("", exact=True), set()) is not None
    assert seen(other, Ask(""), set()) is not None


def test_errors_keep_every_field():
    one, other = (Message("E", b"C42703\0M" + text + b"\0\0") for text in (b"no a", b"no b"))
    assert seen(one, Ask(""), set()) != seen(other, Ask(""), set())


def test_what_is_seen_of_a_statement(proxies: tuple[Proxy, Proxy]):
    for proxy in proxies:  # of both, in one test: those who come after compare what they have left
        with Raw(proxy) as connection:
            assert all(message.kind != "K" for message in greeting(connection))
            found = observe(connection, Ask("SELECT town, count(*) FROM people GROUP BY town"))
            assert rows(found) == [(b"north", "noise"), (b"south", "noise"), (b"west", "noise")]
            wrong = observe(connection, Ask("SELECT nothing FROM people"))
            assert refusals(wrong) == ["42703"]
            assert "does not exist" in texts(wrong)
