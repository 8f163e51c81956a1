from collections.abc import Callable


def test_text_columns_have_the_default_collation(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT collname FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
             WHERE a.attname = 'name' AND a.attrelid = 'patients'::regclass"""
    assert ask(sql) == [("default",)]
