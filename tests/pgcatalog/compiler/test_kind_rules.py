import pytest
from sqlglot import exp

from dpproxy.pgcatalog.compiler.kind_rules import (
    BY_NAME,
    arithmetic,
    common,
    difference_kind,
    kind_of,
    note_kind,
    sum_kind,
)
from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.tables.types import built_in
from dpproxy.values.pgtypes import (
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    NAME,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    UNKNOWN,
    SqlType,
)


@pytest.mark.parametrize(
    ("kinds", "one"),
    [
        ([UNKNOWN, UNKNOWN], TEXT),
        ([INT2, INT8, INT4], INT8),
        ([INT4, NUMERIC.with_precision(5, 2)], NUMERIC),
        ([NUMERIC, FLOAT4], FLOAT4),
        ([NAME, UNKNOWN], NAME),
        ([NAME, TEXT], TEXT),
        ([DATE, TIMESTAMP], TIMESTAMP),
        ([INT4, TEXT], None),
        ([INT4, None], None),
    ],
)
def test_one_type_for_several(kinds: list[SqlType | None], one: SqlType | None):
    assert common(kinds) == one


def test_numbers():
    assert arithmetic(INT2, INT2) == INT2
    assert arithmetic(INT2, INT4) == INT4
    assert arithmetic(FLOAT4, FLOAT4) == FLOAT4
    assert arithmetic(FLOAT4, INT4) == arithmetic(NUMERIC, FLOAT8) == FLOAT8
    assert arithmetic(UNKNOWN, NUMERIC) == NUMERIC
    assert arithmetic(TEXT, INT4) is None


def test_moments():
    assert sum_kind(DATE, INT4) == sum_kind(INT4, DATE) == DATE
    assert sum_kind(DATE, INTERVAL) == sum_kind(INTERVAL, DATE) == TIMESTAMP
    assert difference_kind(DATE, DATE) == INT4
    assert difference_kind(TIMESTAMP, DATE) == INTERVAL
    assert difference_kind(TIMESTAMP, INTERVAL) == TIMESTAMP


def test_a_type_is_noted_on_its_node():
    node = exp.Literal.number(1)
    assert kind_of(node) is None
    note_kind(node, None)
    assert kind_of(node) is None
    note_kind(node, INT4)
    assert kind_of(node.copy()) == INT4


def test_types_by_name():
    assert BY_NAME["array_length"] == INT4
    assert BY_NAME["quote_ident"] == TEXT
    assert all(name == name.lower() for name in BY_NAME)


def test_types_are_those_of_a_function_of_the_name():
    listed = [(row["proname"], built_in()[row["prorettype"]]["typname"]) for row in facts("pg_proc")]
    known = {name for name, _ in listed} & set(BY_NAME)
    assert len(known) > len(BY_NAME) / 2
    assert {(name, BY_NAME[name].name) for name in known} <= set(listed)
