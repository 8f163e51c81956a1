from collections.abc import Callable

from dpproxy.pgcatalog.tables.types import built_in, class_of_type
from dpproxy.values.pgtypes import (
    ARRAYS,
    INET,
    INT2VECTOR,
    INT4,
    OBJECTS,
    OIDVECTOR,
    RECORD,
    TEXT,
    TYPES,
    VARCHAR,
    VECTORS,
    XID,
    array_of,
)


def test_every_type_we_answer_with_is_there_with_the_same_size():
    for kind in (*TYPES, *OBJECTS, INET, RECORD, INT2VECTOR, OIDVECTOR):
        fact = built_in()[kind.oid]
        assert (fact["typname"], fact["typlen"], fact["display"]) == (kind.name, kind.size, kind.shown)


def test_every_array_we_answer_with_is_there_with_its_elements():
    for oid, element in ARRAYS.items():
        assert (built_in()[oid]["typelem"], built_in()[element.oid]["typarray"]) == (element.oid, oid)
    for oid, element in VECTORS.items():
        assert built_in()[oid]["typelem"] == element.oid


def test_an_array_and_its_element_name_each_other(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT e.typname, a.typname, a.typcategory FROM pg_type e JOIN pg_type a ON a.oid = e.typarray
             WHERE a.typelem = e.oid AND e.typname = 'int4'"""
    assert ask(sql) == [("int4", "_int4", "A")]


def test_row_types(ask: Callable[..., list[tuple[object, ...]]]):
    sql = "SELECT typname, typtype FROM pg_type WHERE typrelid = 'patients'::regclass"
    assert ask(sql) == [("patients", "c")]


def test_classes_of_types():
    assert class_of_type(INT4.oid, is_array=False) == 1978
    assert class_of_type(VARCHAR.oid, is_array=False) == class_of_type(TEXT.oid, is_array=False) == 3126
    assert class_of_type(array_of(INT4).oid, is_array=True) == 10000
    assert class_of_type(XID.oid, is_array=False) == 0
