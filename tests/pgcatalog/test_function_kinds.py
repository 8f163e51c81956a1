from dpproxy.pgcatalog.function_kinds import BY_NAME
from dpproxy.values.pgtypes import INT4, TEXT


def test_types_by_name():
    assert BY_NAME["array_length"] == INT4
    assert BY_NAME["quote_ident"] == TEXT
    assert all(name == name.lower() for name in BY_NAME)
