import pytest

from dpproxy.values.errors import Refusal, TooComplex, UndefinedFunction, Unsupported
from tests.golden.world import World, plan_any
from tests.planner.answers import answered, shape

V = "(VALUES (1, 'a', true, 0.5), (2, 'b', false, 1.5), (2, 'a', NULL, 4.0), (NULL, NULL, true, 0.0)) AS v (x, k, b, y)"


@pytest.mark.parametrize(
    ("call", "kind", "value"),
    [
        ("string_agg(k, ', ' ORDER BY k DESC)", "text", "b, a, a"),
        ("string_agg(DISTINCT k, '' ORDER BY k)", "text", "ab"),
        ("string_agg(k, ',' || ' '::text ORDER BY k)", "text", "a, a, b"),
        ("string_agg(k, NULL ORDER BY k)", "text", "aab"),
        ("array_agg(k ORDER BY k DESC, x)", "_text", [None, "b", "a", "a"]),
        ("array_agg(DISTINCT x ORDER BY x) FILTER (WHERE x > 0)", "_int4", [1, 2]),
        ("json_agg(k ORDER BY k)", "json", '["a", "a", "b", null]'),
    ],
)
def test_type_and_value(world: World, call: str, kind: str, value: object):
    sql = f"SELECT {call} FROM {V}"
    assert [kind for _, kind in shape(world, sql)] == [kind]
    assert answered(world, sql) == [(value,)]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("string_agg(x, ',')", UndefinedFunction),
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
