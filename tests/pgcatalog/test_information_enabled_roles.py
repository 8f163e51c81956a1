from collections.abc import Callable


def test_the_caller(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT role_name FROM information_schema.enabled_roles") == [("ana",)]
