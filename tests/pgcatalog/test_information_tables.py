from collections.abc import Callable


def test_tables_and_views(ask: Callable[..., list[tuple[object, ...]]]):
    sql = "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY table_name"
    assert ask(sql) == [
        ("public", "Odd visits", "VIEW"),
        ("dp", "ledger", "BASE TABLE"),
        ("public", "patients", "BASE TABLE"),
    ]
