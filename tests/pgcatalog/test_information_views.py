from collections.abc import Callable


def test_views_without_their_text(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT table_name, view_definition FROM information_schema.views") == [("Odd visits", None)]
