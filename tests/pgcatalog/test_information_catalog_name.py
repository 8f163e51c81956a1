from collections.abc import Callable


def test_the_data_source(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT catalog_name FROM information_schema.information_schema_catalog_name") == [("main",)]
