"""A call over rows that nothing is private in: the engine's own, exact, with PostgreSQL's types."""

from decimal import Decimal

import pytest

from dpproxy.aggregates.calls import name_of
from dpproxy.planner.accept import parse
from dpproxy.values.errors import (
    GroupingError,
    InvalidParameter,
    Refusal,
    TypeMismatch,
    UndefinedFunction,
    Unsupported,
)
from tests.golden.world import World, plan_any
from tests.planner.answers import answered, shape

V = "(VALUES (1, 'a', true, 0.5), (2, 'b', false, 1.5), (2, 'a', NULL, 4.0), (NULL, NULL, true, 0.0)) AS v (x, k, b, y)"


@pytest.mark.parametrize(
    ("call", "kind", "value"),
    [
        ("count(*)", "int8", 4),
        ("count(x)", "int8", 3),
        ("count(DISTINCT x)", "int8", 2),
        ("count(*) FILTER (WHERE x = 2)", "int8", 2),
        ("sum(x)", "int8", 5),
        ("sum(DISTINCT x)", "int8", 3),
        ("sum(y)", "numeric", Decimal(6)),
        ("sum(CAST(x AS bigint))", "numeric", Decimal(5)),
        ("sum(CAST(x AS double precision))", "float8", 5.0),
        ("avg(x)", "numeric", Decimal("1.66666666666667")),
        ("min(k)", "text", "a"),
        ("max(y)", "numeric", Decimal(4)),
        ("stddev(x)", "numeric", Decimal("0.577350269189626")),
        ("var_pop(x)", "numeric", Decimal("0.222222222222222")),
        ("bool_and(b)", "bool", False),
        ("bool_or(b)", "bool", True),
        ("every(x > 0)", "bool", True),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY y)", "float8", 1.0),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY y DESC)", "numeric", Decimal("1.5")),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY k)", "text", "a"),
        ("mode() WITHIN GROUP (ORDER BY k)", "text", "a"),
        ("mode() WITHIN GROUP (ORDER BY y DESC)", "numeric", Decimal(4)),
        ("percentile_disc(ARRAY[0, 1]) WITHIN GROUP (ORDER BY k)", "_text", ["a", "b"]),
        ("percentile_cont(ARRAY[0.5, 0.5]) WITHIN GROUP (ORDER BY x) FILTER (WHERE x > 9)", "_float8", None),
        ("regr_count(x, y)", "int8", 3),
        ("covar_pop(x, x)", "float8", 2 / 9),
        ("corr(x, 1)", "float8", None),
    ],
)
def test_type_and_value(world: World, call: str, kind: str, value: object):
    sql = f"SELECT {call} FROM {V}"
    assert [kind for _, kind in shape(world, sql)] == [kind]
    [[found]] = answered(world, sql)
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("sum(k)", TypeMismatch),
        ("avg(b)", TypeMismatch),
        ("max(b)", UndefinedFunction),
        ("sum(*)", UndefinedFunction),
        ("sum(count(*))", GroupingError),
        ("percentile_cont(1.5) WITHIN GROUP (ORDER BY x)", InvalidParameter),
        ("percentile_cont(x) WITHIN GROUP (ORDER BY x)", Unsupported),
        ("count(DISTINCT x) OVER ()", Unsupported),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY x) OVER ()", Unsupported),
        ("rank()", Unsupported),
    ],
)
def test_refused(world: World, call: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(world, f"SELECT {call} FROM {V}")


def test_a_function_is_called_what_it_was_written_as():
    nodes = parse("SELECT Var_Samp(x), variance(x), EVERY(x), bool_and(x), stddev(x)").expressions
    assert [name_of(n) for n in nodes] == ["var_samp", "variance", "every", "bool_and", "stddev"]
