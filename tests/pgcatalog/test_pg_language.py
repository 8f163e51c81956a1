from collections.abc import Callable


def test_sql_alone(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT lanname FROM pg_language") == [("sql",)]
