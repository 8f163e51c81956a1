"""The table says something of everything that the exact stage may contain."""

import pytest

from dpproxy.algebra import nodes
from dpproxy.analysis.totality import AGGREGATES, CASTS, FUNCTIONS, NODES, OPERATORS
from dpproxy.backends.postgres import dialect as table
from dpproxy.values.errors import Unsupported
from tests.backends.statements import OF_DUCKDB_ALONE

TABLES = (table.EXPRESSIONS, table.OPERATORS, table.FUNCTIONS, table.CASTS)
REBUILT = {
    nodes.Select, nodes.Combined, nodes.Table, nodes.Subquery, nodes.Values, nodes.Join, nodes.Exists, nodes.InQuery,
    nodes.Scalar, nodes.Star, nodes.ColumnRef, nodes.Named, nodes.Paren, nodes.Window, nodes.Ordered, nodes.Parameter,
    nodes.Binary, nodes.Call, nodes.Cast, nodes.Hole,
}  # fmt: skip
"""What the printer knows by itself, or has tables of its own for; a hole is a number before a statement is run."""
RANKS = {"row_number", "dense_rank"}


def test_everything_that_can_be_planned_has_a_line():
    assert set(NODES) - REBUILT | {nodes.Formula} == set(table.EXPRESSIONS)  # of fields of documents
    assert set(OPERATORS) == set(table.OPERATORS)
    assert (set(FUNCTIONS) - RANKS - OF_DUCKDB_ALONE) | set(AGGREGATES) == set(table.FUNCTIONS) - {
        "timezone"
    }  # of public tables
    assert set(CASTS) | {"BOOLEAN"} == set(table.CASTS)  # of NULL


def test_each_line_gives_a_reason():
    assert all(len(line.reason) > 4 for rows in TABLES for line in rows.values())


def test_tables_are_of_one_schema():
    assert table.dialect('my "schema"').table("", "t") == '"my ""schema"""."t"'
    with pytest.raises(Unsupported):
        table.dialect("public").table("dpproxy_prepared", "t")
