from collections.abc import Callable

from dpproxy.pgcatalog.pg_type import BUILT_IN, BY_OID
from dpproxy.values.pgtypes import TYPES


def test_every_type_we_answer_with_is_there_with_the_same_size():
    for kind in TYPES:
        assert (BY_OID[kind.oid].name, BY_OID[kind.oid].size) == (kind.name, kind.size)


def test_no_oid_twice():
    assert len(BY_OID) == len(BUILT_IN)


def test_an_array_and_its_element_name_each_other(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT e.typname, a.typname, a.typcategory FROM pg_type e JOIN pg_type a ON a.oid = e.typarray
             WHERE a.typelem = e.oid AND e.typname = 'int4'"""
    assert ask(sql) == [("int4", "_int4", "A")]


def test_row_types(ask: Callable[..., list[tuple[object, ...]]]):
    sql = "SELECT typname, typtype FROM pg_type WHERE typrelid = 'patients'::regclass"
    assert ask(sql) == [("patients", "c")]
