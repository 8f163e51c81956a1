from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from dpproxy.aggregates.model import Aggregate, Measure
from dpproxy.aggregates.table import averaged_arguments, private
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.domains import read_column
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.accept import parse
from dpproxy.policy.model import Between, Domain, Members, Outside
from dpproxy.values.pgtypes import BOOL, FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, TEXT, Column
from tests.empty import empty
from tests.planner.conftest import world  # noqa: F401 - a fixture

COLUMNS: dict[str, tuple[Column, Domain]] = {
    "small": (Column("small", INT2, not_null=True), Between(-3, 4)),
    "age": (Column("age", INT4), Between(0, 100)),
    "big": (Column("big", INT8), Between(0, 2**40, Outside.NULL)),
    "pay": (Column("pay", NUMERIC.with_precision(8, 2)), Between(0, 5000)),
    "height": (Column("height", FLOAT8), Between(0, 256)),
    "odd": (Column("odd", FLOAT4), Between(-1, 3)),
    "grade": (Column("grade", INT4), Members((1, 2, 5))),
    "city": (Column("city", TEXT), Members(("a", "b"))),
    "smokes": (Column("smokes", BOOL), Members((True, False))),
}
DDL = (
    "CREATE TABLE t (small SMALLINT NOT NULL, age INTEGER, big BIGINT, pay DECIMAL(8,2), height DOUBLE, odd REAL, "
    "grade INTEGER, city VARCHAR, smokes BOOLEAN)"
)
Calls = Callable[[str], list[Aggregate]]
Row = tuple[object, ...]


def _leaf(node: exp.Expr) -> Typed | None:
    return read_column(*COLUMNS[node.name]) if type(node) is exp.Column else None


@pytest.fixture
def calls() -> Calls:
    """The aggregates of a SELECT list over ``COLUMNS``."""

    def compiled(sql: str) -> list[Aggregate]:
        nodes = parse(f"SELECT {sql}").expressions
        scope = Scope(ExpressionLevel.ROW, _leaf, Parameters())
        averaged = averaged_arguments(nodes)
        return [private(n, scope, averaged) for n in nodes]

    return compiled


def rows_of(**values: Sequence[object]) -> list[Row]:
    """All combinations of the named columns' values; the others hold one value each."""
    plain: dict[str, Sequence[object]] = dict.fromkeys(COLUMNS, (None,)) | {"small": (0,)}
    return list(product(*(plain | values).values()))


@contextmanager
def filled(rows: Sequence[Row]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with these rows in ``t``; ``rowid`` tells them apart."""
    with empty() as connection:
        connection.execute(DDL)
        if rows:
            marks = ", ".join(f"({', '.join('?' * len(COLUMNS))})" for _ in rows)
            connection.execute(f"INSERT INTO t VALUES {marks}", [v for row in rows for v in row])
        yield connection


def measured(
    connection: duckdb.DuckDBPyConnection, measures: Sequence[Measure], where: str = "TRUE", by: str = ""
) -> list[tuple[int, ...]]:
    """The exact measures, for each group where ``by`` names one; 0 over no rows."""
    parts = ", ".join(f"CAST({duck.text(m.sql)} AS HUGEINT)" for m in measures)
    group = f"GROUP BY {by}" if by else ""
    rows = connection.execute(f"SELECT {parts} FROM t WHERE {where} {group}").fetchall()
    return [tuple(int(m or 0) for m in row) for row in rows]


def evaluated(
    expressions: Sequence[nodes.Expr], rows: Sequence[Mapping[str, float]]
) -> list[tuple[Any, ...]]:
    """What SQL over released measures gives, for rows of them."""
    kinds = ", ".join(f"{n} {'HUGEINT' if isinstance(v, int) else 'DOUBLE'}" for n, v in rows[0].items())
    marks = ", ".join(f"({', '.join('?' * len(row))})" for row in rows)
    with empty() as connection:
        connection.execute(f"CREATE TABLE r ({kinds})")
        connection.execute(f"INSERT INTO r VALUES {marks}", [v for row in rows for v in row.values()])
        listed = ", ".join(map(duck.text, expressions))
        return connection.execute(f"SELECT {listed} FROM r ORDER BY rowid").fetchall()


def evaluate(expressions: Sequence[nodes.Expr], row: Mapping[str, float]) -> tuple[Any, ...]:
    """The same for one row."""
    return evaluated(expressions, [row])[0]


def names(aggregate: Aggregate) -> list[nodes.Expr]:
    """Columns named after the place of their measure."""
    return [duck.column(f"m{i}") for i in range(len(aggregate.measures))]
