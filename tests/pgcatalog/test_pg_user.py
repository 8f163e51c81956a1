from collections.abc import Callable


def test_the_caller(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT usename, usesuper FROM pg_user") == [("ana", False)]
