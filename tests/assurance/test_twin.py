"""The harness itself: it must see what it is there to see."""

import pytest

from tests.assurance.raw import Message, Raw
from tests.assurance.twin import Ask, Twin, refusals, rows, seen, texts
from tests.proxies import Proxy


def test_two_users_of_one_proxy_are_no_twins(proxies: tuple[Proxy, Proxy]):
    with Raw(proxies[0], "ann") as left, Raw(proxies[0], "eve") as right, Twin(*proxies) as twin:
        twin.sides = {"without": left, "with": right}
        with pytest.raises(AssertionError):
            twin.same("EXPLAIN (PRIVACY) SELECT count(*) FROM visits")


def test_a_difference_of_one_key_row_or_text_is_seen(twin: Twin):
    ask = Ask("")
    row = (2).to_bytes(2, "big") + (1).to_bytes(4, "big") + b"a" + (1).to_bytes(4, "big") + b"7"
    null = row[:-5] + b"\xff\xff\xff\xff"
    assert seen(Message("D", row), ask, {1}) == ("row", b"a", "noise")
    assert seen(Message("D", null), ask, {1}) == ("row", b"a", None)
    assert seen(Message("D", row), Ask("", exact=True), {1}) == ("row", b"a", b"7")
    assert seen(Message("C", b"SELECT 1\0"), ask, set()) != seen(Message("C", b"SELECT 2\0"), ask, set())
    found = twin.same("SELECT town, count(*) FROM people GROUP BY town", "SELECT nothing FROM people")
    assert rows(found) == [(b"north", "noise"), (b"south", "noise"), (b"west", "noise")]
    assert refusals(found) == ["42703"]
    assert "cost" in texts(found)
    assert "does not exist" in texts(found)
