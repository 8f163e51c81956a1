"""The table of aggregates, and for every one of them: one row moves each measure by at most its width, some by that."""

import pytest
from sqlglot import exp

from dpproxy.aggregates.table import AGGREGATES, PRIVATE, averaged_arguments, is_call
from dpproxy.planner.accept import NODES, parse
from dpproxy.values.errors import InvalidText, Refusal, UndefinedFunction, Unsupported
from tests.aggregates.conftest import Calls, filled, measured, rows_of

ONE = ["count", "sum", "avg", "variance", "var_pop", "stddev", "stddev_samp", "stddev_pop"]
TWO = ["covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_count", "regr_avgx",
       "regr_avgy"]  # fmt: skip
LOGICAL = ["bool_and", "bool_or", "every", "count_if"]
OWN = [name for name in AGGREGATES if isinstance(name, str)]


def test_every_aggregate_is_accepted_by_the_planner():
    assert {kind for kind in (*AGGREGATES, *PRIVATE) if not isinstance(kind, str)} <= set(NODES)


def test_every_aggregate_is_tried_below():
    tried = [f"{n}(x)" for n in ONE + LOGICAL + OWN] + [f"{n}(y, x)" for n in TWO]
    nodes = parse(f"SELECT {', '.join(tried)}").expressions
    chosen = {exp.Min, exp.Max, exp.Median, exp.WithinGroup}  # they have no sums
    assert {type(n) for n in nodes} == set(PRIVATE) - chosen - {exp.Filter}


WIDTHS = [
    *(f"{n}({a})" for n in ONE for a in ("age", "small", "pay - 2000", "height", "odd", "big * 3")),
    *(f"{n}({a})" for n in TWO for a in ("age, height", "pay, small", "big, odd")),
    *(f"{n}({a})" for n in LOGICAL for a in ("smokes", "age > 50", "small < height")),
    "count(*)",
    "sum(age) FILTER (WHERE smokes)",
    "corr(age, height) FILTER (WHERE small > 0)",
    "stddev(height) FILTER (WHERE age IS NOT NULL)",
    "count(DISTINCT age)",
    "avg(DISTINCT height)",
]
EDGES = {
    "small": (-3, 0, 4), "age": (None, -1, 0, 51, 100, 2**31 - 1), "big": (None, 0, 2**39, 2**40, 2**40 + 1),
    "pay": (None, -1, 0, 2500, 5000, 999_999), "height": (None, -1e308, 0, 127.9, 256.0, float("nan"), float("inf")),
    "odd": (None, -1.0, 0.1, 3.0, float("-inf")), "smokes": (None, True, False),
}  # fmt: skip


@pytest.mark.parametrize("text", WIDTHS)
def test_one_row_moves_each_measure_by_at_most_its_width(calls: Calls, text: str):
    """A sum moves by what the row adds to an empty table; ``test_operands`` adds rows to others, for DISTINCT."""
    (call,) = calls(text)
    rows = rows_of(**{n: values for n, values in EDGES.items() if n in text})
    with filled(rows) as connection:
        moves = measured(connection, call.measures, by="rowid")
    furthest = [max(map(abs, column)) for column in zip(*moves, strict=True)]
    assert furthest == [m.width for m in call.measures]


def test_a_filter_and_the_call_inside_are_one_call():
    (node,) = parse("SELECT 1 + sum(x) FILTER (WHERE y > 2)").expressions
    assert [type(n) for n in node.walk() if is_call(n)] == [exp.Filter]
    (nested,) = parse("SELECT count(*) FILTER (WHERE sum(x) > avg(y))").expressions
    assert [type(n) for n in nested.walk() if is_call(n)] == [exp.Filter, exp.Sum, exp.Avg]
    (other,) = parse("SELECT abs(x) FILTER (WHERE y)").expressions
    assert is_call(other)
    assert not is_call(other.this)


def test_arguments_are_compared_as_they_are_written():
    nodes = parse("SELECT avg(a + 1), sum(a), count(*), stddev(b), avg(c) FILTER (WHERE d)").expressions
    condition = nodes[4].expression.this
    assert averaged_arguments(nodes) == {
        (nodes[0].this, None),
        (nodes[3].this, None),
        (nodes[4].this.this, condition),
    }
    assert (parse("SELECT A+1").expressions[0], None) in averaged_arguments(nodes)


def test_a_sum_shares_the_measures_of_an_average_under_the_same_condition(calls: Calls):
    total, mean, other = calls(
        "sum(age) FILTER (WHERE smokes), avg(age) FILTER (WHERE smokes), sum(age) FILTER (WHERE NOT smokes)"
    )
    assert total.measures == mean.measures
    assert len(other.measures) == 1


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("count()", UndefinedFunction, "count() takes an argument"),
        ("count() FILTER (WHERE smokes)", UndefinedFunction, "count() takes an argument"),
        ("avg('x')", InvalidText, "invalid input syntax for type numeric"),
        ("abs(age) FILTER (WHERE smokes)", Unsupported, "FILTER stands after an aggregate that is answered"),
        (
            "string_agg(city, ',') FILTER (WHERE smokes)",
            Unsupported,
            "FILTER stands after an aggregate that is answered",
        ),
    ],
)
def test_refused(calls: Calls, text: str, error: type[Refusal], message: str):
    with pytest.raises(error) as refused:
        calls(text)
    assert refused.value.message == message
