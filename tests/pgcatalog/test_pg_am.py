from collections.abc import Callable


def test_tables_are_heaps(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask(
        "SELECT am.amname FROM pg_class c JOIN pg_am am ON am.oid = c.relam WHERE relname = 'patients'"
    ) == [("heap",)]
