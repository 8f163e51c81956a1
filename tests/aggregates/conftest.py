from collections.abc import Callable

import pytest
from sqlglot import exp

from dpproxy.aggregates.model import Aggregate
from dpproxy.aggregates.table import AGGREGATES, averaged_arguments
from dpproxy.analysis.domains import read_column
from dpproxy.analysis.scopes import Level, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.pgtypes import BOOL, FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, TEXT, Column
from dpproxy.planner.accept import parse
from dpproxy.policy.model import Between, Domain, Members, Outside

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
Calls = Callable[[str], list[Aggregate]]


def _leaf(node: exp.Expr) -> Typed | None:
    return read_column(*COLUMNS[node.name]) if type(node) is exp.Column else None


@pytest.fixture
def calls() -> Calls:
    """The aggregates of a SELECT list over ``COLUMNS``."""

    def compiled(sql: str) -> list[Aggregate]:
        nodes = parse(f"SELECT {sql}").expressions
        scope = Scope(Level.ROW, _leaf, Parameters())
        averaged = averaged_arguments(nodes)
        return [AGGREGATES[type(n)](n, scope, averaged) for n in nodes]

    return compiled
