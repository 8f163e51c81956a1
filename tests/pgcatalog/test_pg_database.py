from collections.abc import Callable


def test_one_database(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT datname, pg_encoding_to_char(encoding), datallowconn FROM pg_database") == [
        ("main", "UTF8", True)
    ]
