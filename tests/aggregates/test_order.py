"""Order statistics: cells of a lattice, and what a cell is shown as."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from sqlglot import exp

from dpproxy.aggregates.order import CELL_BITS, OrderStatistic
from dpproxy.aggregates.table import private
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.accept import parse
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import FLOAT8, INT4, SqlType
from tests.empty import empty


def statistic(call: str, kind: SqlType, low: int, high: int) -> OrderStatistic:
    scale = None if kind is FLOAT8 else 0
    column = Typed(duck.column("x"), kind, scale, Fraction(low), Fraction(high))
    leaf = Scope(ExpressionLevel.ROW, lambda n: column if type(n) is exp.Column else None, Parameters())
    node = parse(f"SELECT {call} FROM t").expressions[0]
    found = private(node, leaf)
    assert isinstance(found, OrderStatistic)
    return found


def run(sql: nodes.Expr, column: str, values: Sequence[object], kind: str) -> list[object]:
    with empty() as connection:
        connection.execute(f"CREATE TABLE t (n INTEGER, {column} {kind})")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(values)))
        rows = connection.execute(f"SELECT {duck.text(sql)} FROM t ORDER BY n").fetchall()
    return [value for (value,) in rows]


@pytest.mark.parametrize(
    ("kind", "name", "low", "high", "values"),
    [
        (INT4, "INTEGER", -5, 110, [-5, 0, 110, 7]),
        (INT4, "INTEGER", 0, 10**9, [0, 1, 10**9, 123456789]),
        (FLOAT8, "DOUBLE", -1, 3, [-1.0, 0.1, 3.0, 2.999999]),
        (FLOAT8, "DOUBLE", 5, 5, [5.0]),
    ],
)
def test_every_value_has_a_cell_that_is_shown_near_it(
    kind: SqlType, name: str, low: int, high: int, values: list[float]
):
    found = statistic("median(x)", kind, low, high)
    cells = [int(str(c)) for c in run(found.cell, "x", values, name)]
    assert 0 <= min(cells) <= max(cells) <= found.last < 2**CELL_BITS + 1
    shown = run(found.value([duck.column("m0")]).sql, "m0", cells, "HUGEINT")
    width = float((1 << found.shift) * found.argument.unit)
    assert all(abs(float(str(a)) - b) <= width for a, b in zip(shown, values, strict=True))
    assert all(low - width <= float(str(a)) <= high + width for a in shown)


def test_narrow_whole_numbers_are_exact():
    found = statistic("max(x)", INT4, -5, 110)
    assert (found.shift, found.last, found.type) == (0, 115, INT4)
    assert run(found.value([duck.column("m0")]).sql, "m0", [0, 115], "HUGEINT") == [-5, 110]


def test_no_argument_has_no_cell():
    found = statistic("min(x)", INT4, 0, 9)
    assert run(found.cell, "x", [None], "INTEGER") == [None]


@pytest.mark.parametrize(
    ("call", "fraction", "kind"),
    [
        ("min(x)", (0, 1), INT4),
        ("max(x)", (1, 1), INT4),
        ("median(x)", (1, 2), FLOAT8),
        ("percentile_cont(0.25) WITHIN GROUP (ORDER BY x)", (1, 4), FLOAT8),
        ("percentile_disc(0.25) WITHIN GROUP (ORDER BY x DESC)", (3, 4), INT4),
    ],
)
def test_the_quantile_and_its_type(call: str, fraction: tuple[int, int], kind: SqlType):
    found = statistic(call, INT4, 0, 100)
    assert (found.numerator, found.denominator) == fraction
    assert found.type == kind
    mechanism = found.mechanism(10**9)
    assert (mechanism.low, mechanism.high, mechanism.rows) == (0, 100, 1)
    assert bool(mechanism.inside) is (fraction in ((0, 1), (1, 1)))


@pytest.mark.parametrize(
    "call",
    ["percentile_cont(x) WITHIN GROUP (ORDER BY x)", "percentile_cont(-1) WITHIN GROUP (ORDER BY x)", "median(*)",
     "median(DISTINCT x)"],
)  # fmt: skip
def test_what_is_no_quantile_is_refused(call: str):
    with pytest.raises(Refusal):
        statistic(call, INT4, 0, 100)
