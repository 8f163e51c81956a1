"""How values are read; the messages are those of `tests/config/test_configuration.py`."""

import pytest

from dpproxy.config import values as read


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("10ms", 0.01), ("1.5s", 1.5), ("2m", 120.0), ("2min", 120.0), ("1h", 3600.0), ("0s", 0.0)],
)
def test_durations(given: str, seconds: float):
    assert read.duration(given) == seconds


@pytest.mark.parametrize("given", ["", "1", "1 day", "-1s", "61m", 5, None, "1e3s"])
def test_what_is_no_duration(given: object):
    with pytest.raises(read.Wrong):
        read.duration(given)


def test_numbers_words_and_lists():
    assert read.whole(1, 9)("7") == 7
    assert read.one_of("text", "json")("json") == "json"
    assert read.patterns("a.sql, b.sql") == ("a.sql", "b.sql")
    assert read.address("[::1]:5432") == ("::1", 5432)
    for wrong in (
        lambda: read.whole(1, 9)("ten"),
        lambda: read.one_of("text")("xml"),
        lambda: read.size("4 bytes"),
    ):
        with pytest.raises(read.Wrong):
            wrong()


def test_a_server_is_no_path_and_is_not_quoted():
    with pytest.raises(read.Wrong) as caught:
        read.path("postgresql://ann:secret@db/clinic")
    assert "secret" not in str(caught.value)
    assert read.path("a: b//c.duckdb") == "a: b//c.duckdb"
