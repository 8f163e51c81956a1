"""The table says something of everything that the exact stage may contain."""

import pytest
from sqlglot import exp

from dpproxy.analysis.totality import CASTS, FUNCTIONS, NODES
from dpproxy.backends import postgres_dialect as table
from dpproxy.values.errors import Unsupported

QUERIES = {
    exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Where, exp.Group, exp.Qualify, exp.Subquery, exp.Star,
    exp.Join, exp.Values, exp.Tuple, exp.Distinct, exp.Union, exp.Exists, exp.Identifier, exp.Column, exp.Alias,
    exp.Paren, exp.DataType, exp.DataTypeParam, exp.Window, exp.WindowSpec, exp.Order, exp.Ordered, exp.If,
}  # fmt: skip
"""What ``transpile`` rebuilds by itself."""
BY_ANOTHER_NAME = {"ltrim", "rtrim", "row_number", "dense_rank", "bool_and", "bool_or"}
"""TRIM tells its side, ranks belong to windows, the others are node classes."""
NOT_THERE = {"make_timestamp", "TIMESTAMPTZ"}
"""They read columns with a time zone, which a server's source shows as timestamps of UTC."""


def test_everything_that_can_be_planned_has_a_line():
    assert set(NODES) - QUERIES == set(table.EXPRESSIONS) & set(NODES)
    assert set(FUNCTIONS) - BY_ANOTHER_NAME - NOT_THERE <= set(table.FUNCTIONS)
    assert set(CASTS) - NOT_THERE <= set(table.CASTS)


def test_each_line_gives_a_reason():
    lines = [*table.EXPRESSIONS.values(), *table.FUNCTIONS.values(), *table.CASTS.values()]
    assert all(len(line.reason) > 4 for line in lines)


def test_tables_are_of_one_schema():
    assert table.dialect('my "schema"').table("", "t") == '"my ""schema"""."t"'
    with pytest.raises(Unsupported):
        table.dialect("public").table("dpproxy_prepared", "t")
