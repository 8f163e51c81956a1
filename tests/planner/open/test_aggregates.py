from decimal import Decimal

import pytest

from dpproxy.values.errors import (
    GroupingError,
    InvalidParameter,
    Refusal,
    TooComplex,
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
        ("string_agg(k, ', ' ORDER BY k DESC)", "text", "b, a, a"),
        ("string_agg(DISTINCT k, '' ORDER BY k)", "text", "ab"),
        ("string_agg(k, ',' || ' '::text ORDER BY k)", "text", "a, a, b"),
        ("string_agg(k, NULL ORDER BY k)", "text", "aab"),
        ("array_agg(k ORDER BY k DESC, x)", "_text", [None, "b", "a", "a"]),
        ("array_agg(DISTINCT x ORDER BY x) FILTER (WHERE x > 0)", "_int4", [1, 2]),
        ("json_agg(k ORDER BY k)", "json", '["a", "a", "b", null]'),
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
        ("string_agg(x, ',')", UndefinedFunction),
        ("sum(*)", UndefinedFunction),
        ("sum(count(*))", GroupingError),
        ("percentile_cont(1.5) WITHIN GROUP (ORDER BY x)", InvalidParameter),
        ("percentile_cont(x) WITHIN GROUP (ORDER BY x)", Unsupported),
        ("count(DISTINCT x) OVER ()", Unsupported),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY x) OVER ()", Unsupported),
        ("rank()", Unsupported),
        ("array_agg(y)", Unsupported),
        ("array_agg(x) OVER ()", Unsupported),
        ("string_agg(k, ',') OVER ()", Unsupported),
        (f"string_agg(k, '{'-' * 3000}')", TooComplex),
        ("array_agg(DISTINCT x ORDER BY k)", Unsupported),
        ("json_agg(DISTINCT x)", Unsupported),
    ],
)
def test_refused(world: World, call: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(world, f"SELECT {call} FROM {V}")


@pytest.mark.parametrize(
    ("call", "place"),
    [
        ("string_agg(k, k)", "k)"),
        ("string_agg(k, k || ',' ORDER BY x)", "k ||"),
        ("string_agg(k, k) FILTER (WHERE x > 0)", "k)"),
        ("string_agg(k, (SELECT ', '))", "', '"),
    ],
)
def test_a_separator_is_a_constant(world: World, call: str, place: str):
    sql = f"SELECT {call} FROM {V}"
    with pytest.raises(Unsupported, match="separator of string_agg is a constant") as error:
        plan_any(world, sql)
    assert error.value.position == sql.index(place)
    assert error.value.hint


def test_a_separator_is_a_constant_over_released_values(world: World):
    with pytest.raises(Unsupported, match="separator of string_agg is a constant"):
        plan_any(
            world,
            "SELECT string_agg(city, t) FROM (SELECT city, count(*), 'x' AS t FROM people GROUP BY city) AS q",
        )
