import pytest
from sqlglot import exp

from dpproxy.pgcatalog.kind_rules import added, arithmetic, common, kind_of, subtracted, told
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
    assert added(DATE, INT4) == added(INT4, DATE) == DATE
    assert added(DATE, INTERVAL) == added(INTERVAL, DATE) == TIMESTAMP
    assert subtracted(DATE, DATE) == INT4
    assert subtracted(TIMESTAMP, DATE) == INTERVAL
    assert subtracted(TIMESTAMP, INTERVAL) == TIMESTAMP


def test_a_type_is_noted_on_its_node():
    node = exp.Literal.number(1)
    assert kind_of(node) is None
    told(node, None)
    assert kind_of(node) is None
    told(node, INT4)
    assert kind_of(node.copy()) == INT4
