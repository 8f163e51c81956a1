from collections.abc import Callable


def test_the_database_lies_in_it(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT spcname FROM pg_tablespace t JOIN pg_database d ON d.dattablespace = t.oid") == [
        ("pg_default",)
    ]
