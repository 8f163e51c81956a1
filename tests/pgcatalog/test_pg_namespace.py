from collections.abc import Callable


def test_schemas(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT nspname FROM pg_namespace ORDER BY 1") == [
        ("dp",),
        ("information_schema",),
        ("pg_catalog",),
        ("public",),
    ]
