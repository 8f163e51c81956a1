from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.function_kinds import BY_NAME
from dpproxy.pgcatalog.pg_type import built_in
from dpproxy.values.pgtypes import INT4, TEXT


def test_types_by_name():
    assert BY_NAME["array_length"] == INT4
    assert BY_NAME["quote_ident"] == TEXT
    assert all(name == name.lower() for name in BY_NAME)


def test_types_are_those_of_a_function_of_the_name():
    listed = [(row["proname"], built_in()[row["prorettype"]]["typname"]) for row in facts("pg_proc")]
    known = {name for name, _ in listed} & set(BY_NAME)
    assert len(known) > len(BY_NAME) / 2
    assert {(name, BY_NAME[name].name) for name in known} <= set(listed)
