from collections.abc import Callable


def test_tables_without_keys_have_none(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT count(*) FROM pg_index") == [(0,)]
    assert ask("SELECT indexname FROM pg_indexes") == []
    assert ask("SELECT pg_get_indexdef(1)") == [(None,)]
