from collections.abc import Callable


def test_comments(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask(
        "SELECT description FROM pg_description WHERE objoid = 'patients'::regclass AND objsubid = 0"
    ) == [("people",)]
    assert ask("SELECT obj_description('patients'::regclass, 'pg_class')") == [("people",)]
    assert ask(
        "SELECT col_description(attrelid, attnum), attname FROM pg_attribute "
        "WHERE attrelid = 'patients'::regclass AND attnum IN (2, 4)"
    ) == [
        ("DOMAIN IN ('a', 'b')", "name"),
        ("DOMAIN DISCOVERED", "born"),
    ]
