from collections.abc import Callable


def test_columns_in_order_with_their_types(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT attnum, attname, format_type(atttypid, atttypmod), attnotnull, attlen FROM pg_attribute
             WHERE attrelid = 'patients'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
    assert ask(sql) == [
        (1, "id", "bigint", True, 8),
        (2, "name", "text", False, -1),
        (3, "paid", "numeric(12,2)", False, -1),
        (4, "born", "date", False, 4),
        (5, "score", "double precision", False, 8),
    ]
