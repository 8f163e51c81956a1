from collections.abc import Callable


def test_tables_without_views(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT schemaname, tablename, tableowner FROM pg_tables ORDER BY 1") == [
        ("dp", "ledger", "admin"),
        ("public", "patients", "admin"),
    ]
