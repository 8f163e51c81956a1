"""The client that shows every byte."""

import pytest
from scramp import ScramException

from dpproxy.assurance.wire import Message, Wire
from tests.assurance.raw import Raw
from tests.proxies import Proxy


def test_messages_are_taken_apart():
    assert Message("E", b"SERROR\0C42703\0Mno\0\0").fields() == {"S": "ERROR", "C": "42703", "M": "no"}
    row = (2).to_bytes(2, "big") + b"\xff\xff\xff\xff" + (1).to_bytes(4, "big") + b"7"
    assert Message("D", row).values() == [None, b"7"]
    field = b"n\0" + bytes(6) + (20).to_bytes(4, "big") + bytes(8)
    [(name, kind, rest)] = Message("T", (1).to_bytes(2, "big") + field).columns()
    assert (name, kind, len(rest)) == ("n", 20, 18)


def test_it_logs_in_and_asks_both_ways(proxies: tuple[Proxy, Proxy]):
    with Raw(proxies[0]) as connection:
        assert connection.value("SHOW server_version").startswith("15")
        told = connection.extended("SELECT count(*) FROM people WHERE id = $1", ["7"], run=False)
        assert [message.kind for message in told] == ["1", "t", "T", "Z"]


def test_a_wrong_password_is_an_error(proxies: tuple[Proxy, Proxy]):
    with pytest.raises(ScramException, match="other-error"):
        Wire(("127.0.0.1", proxies[0].port), "ann", "wrong")
