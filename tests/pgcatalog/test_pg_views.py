from collections.abc import Callable


def test_views_without_their_text(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT viewname, definition FROM pg_views") == [("Odd visits", None)]
