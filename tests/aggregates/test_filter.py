import pytest

from dpproxy.aggregates.filter import both, kept, present, rows_where
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed, number
from dpproxy.values.pgtypes import INT4
from tests.aggregates.conftest import Calls, filled, measured, rows_of
from tests.empty import empty

X, C = duck.column("x"), duck.column("c")


def on_rows(sql: nodes.Expr) -> list[object]:
    with empty() as connection:
        rows = "(VALUES (1, 5, TRUE), (2, 6, FALSE), (3, 7, NULL), (4, NULL, TRUE)) AS t(i, x, c)"
        return [
            v for (v,) in connection.execute(f"SELECT {duck.text(sql)} FROM {rows} ORDER BY i").fetchall()
        ]


def test_a_value_is_kept_where_the_condition_is_true():
    found = kept(Typed(X, INT4), C)
    assert on_rows(found.sql) == [5, None, None, None]
    assert found.presence is not None
    assert on_rows(found.presence) == [5, None, None, None]
    assert found.nullable
    assert kept(Typed(X, INT4), None) == Typed(X, INT4)


def test_a_constant_is_none_any_more():
    found = kept(number(duck.Fraction(7)), C)
    assert (found.is_constant, found.constant) == (False, None)
    assert on_rows(found.sql) == [7, None, None, 7]


def test_presence():
    assert present(Typed(X, INT4, nullable=False)) is None
    held = present(Typed(duck.binary("+", X, X), INT4, presence=X))
    assert held is not None
    assert duck.text(held) == 'NOT ("x" IS NULL)'


def test_conjunction():
    assert both() is None
    assert both(None, C) is C
    found = both(C, None, X)
    assert found is not None
    assert duck.text(found) == '"c" AND "x"'
    assert on_rows(rows_where(C, None).sql) == [1, None, None, 1]


def test_a_column_is_not_clamped_twice(calls: Calls):
    plain, kept_sum = calls("sum(age), sum(age) FILTER (WHERE smokes)")
    assert isinstance(kept_sum, Sum)
    assert kept_sum.measures[0].width == plain.measures[0].width
    assert duck.text(kept_sum.measures[0].sql).count('"age" <') == 1


@pytest.mark.parametrize(
    "call",
    ["count(*)", "count(age)", "sum(age)", "avg(age)", "count(DISTINCT age)", "sum(DISTINCT age)", "stddev(age)",
     "corr(age, height)", "regr_avgx(age, small)", "bool_and(age > 3)", "count_if(age > 3)", "sum(age + 1)", "sum(7)",
     "regr_count(small, small)"],
)  # fmt: skip
@pytest.mark.parametrize("condition", ["smokes", "age > 3 OR height IS NULL", "small = 0", "NULL"])
def test_filtering_measures_the_rows_that_remain(calls: Calls, call: str, condition: str):
    """What is measured with FILTER is what is measured without it over the rows of the condition."""
    rows = rows_of(age=(None, 2, 50, 200), height=(None, 3.5), smokes=(None, True, False), small=(-3, 0))
    plain, kept_call = calls(f"{call}, {call} FILTER (WHERE {condition})")
    with filled(rows) as connection:
        assert measured(connection, kept_call.measures) == measured(connection, plain.measures, condition)
        assert [m.width for m in kept_call.measures] == [m.width for m in plain.measures]
