from collections.abc import Callable


def test_there_is_no_language_to_write_functions_in(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT lanname FROM pg_language WHERE lanispl OR lanname = 'c'") == []
    assert ask("SELECT lanname FROM pg_language ORDER BY 1") == [("internal",), ("sql",)]
