"""The table says something of everything that the exact stage may contain."""

import pytest
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.totality import AGGREGATES, CASTS, FUNCTIONS, NODES, OPERATORS
from dpproxy.backends import postgres_dialect as table
from dpproxy.values.errors import Unsupported

CLASSES = {
    nodes.Truth: exp.Boolean, nodes.Null: exp.Null, nodes.Parameter: exp.Placeholder, nodes.And: exp.And,
    nodes.Or: exp.Or, nodes.Not: exp.Not, nodes.IsNull: exp.Is, nodes.Number: exp.Literal, nodes.Text: exp.Literal,
    nodes.InList: exp.In, nodes.Case: exp.Case, nodes.Negative: exp.Neg,
}  # fmt: skip
"""What our classes are read as."""
QUERIES = {
    nodes.Select, nodes.Combined, nodes.Table, nodes.Subquery, nodes.Values, nodes.Join, nodes.Exists, nodes.InQuery,
    nodes.Scalar, nodes.Star, nodes.Column, nodes.Named, nodes.Paren, nodes.Window, nodes.Ordered,
    nodes.Binary, nodes.Call, nodes.Cast,
}  # fmt: skip
"""What ``transpile`` rebuilds by itself, or has tables of its own for."""
BY_ANOTHER_NAME = {"ltrim", "rtrim", "row_number", "dense_rank"}
"""TRIM tells its side, ranks belong to windows."""


def test_everything_that_can_be_planned_has_a_line():
    assert set(NODES) - QUERIES == set(CLASSES)
    operators = {kind for kind, sign in duck.OPERATORS.items() if sign in OPERATORS}
    aggregates = {exp.Count, exp.Sum, exp.Max, exp.Min, exp.LogicalAnd, exp.LogicalOr}
    assert {*CLASSES.values(), *operators, *aggregates} == set(table.EXPRESSIONS)
    assert len(aggregates) == len(AGGREGATES)
    assert set(FUNCTIONS) - BY_ANOTHER_NAME <= set(table.FUNCTIONS)
    assert set(CASTS) <= set(table.CASTS)


def test_each_line_gives_a_reason():
    lines = [*table.EXPRESSIONS.values(), *table.FUNCTIONS.values(), *table.CASTS.values()]
    assert all(len(line.reason) > 4 for line in lines)


def test_tables_are_of_one_schema():
    assert table.dialect('my "schema"').table("", "t") == '"my ""schema"""."t"'
    with pytest.raises(Unsupported):
        table.dialect("public").table("dpproxy_prepared", "t")
