from collections.abc import Callable


def test_columns(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT column_name, ordinal_position, is_nullable, data_type, udt_name, numeric_precision, numeric_scale,
                    datetime_precision
             FROM information_schema.columns WHERE table_name = 'patients' ORDER BY ordinal_position"""
    assert ask(sql) == [
        ("id", 1, "NO", "bigint", "int8", 64, 0, None),
        ("name", 2, "YES", "text", "text", None, None, None),
        ("paid", 3, "YES", "numeric", "numeric", 12, 2, None),
        ("born", 4, "YES", "date", "date", None, None, 0),
        ("score", 5, "YES", "double precision", "float8", 53, None, None),
    ]
