from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import pytest
from msgspec.structs import replace

from dpproxy.aggregates.model import Aggregate, Noise
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.release.scope import DP_FUNCTIONS, AggregateCall
from dpproxy.values.errors import NotGranted, Refusal, UndefinedColumn, UndefinedFunction, Unsupported
from tests.golden.world import World, plan_of


@pytest.mark.parametrize("name", DP_FUNCTIONS)
def test_functions_over_an_aggregate_are_doubles(world: World, name: str):
    plan = plan_of(world, f"SELECT dp.{name}(avg(age)), DP.{name.upper()}(count(*)) FROM people")
    assert [(o.column.name, o.column.type.name) for o in plan.outputs] == [(name, "float8")] * 2


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("dp.ci_low()", UndefinedFunction),
        ("dp.ci_low(count(*), 1)", UndefinedFunction),
        ("dp.ci_low(count(*) + 1)", UndefinedFunction),
        ("dp.ci_low(age)", UndefinedFunction),
        ("pd.ci_low(count(*))", UndefinedFunction),
        ("dp.count(*)", UndefinedFunction),
        ("ci_low(count(*))", UndefinedFunction),
        ("list(age)", Unsupported),
        ("age", NotGranted),
        ("nothing", UndefinedColumn),
        ("id", NotGranted),
    ],
)
def test_refused(world: World, expression: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_of(world, f"SELECT {expression} FROM people")


def test_an_aggregate_is_named_as_it_was_typed(world: World):
    with pytest.raises(Unsupported, match=r"^string_agg\(\) is not answered"):
        plan_of(world, "SELECT string_agg(name, ',') FROM people")


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("age", "SELECT age, count(*) FROM people GROUP BY age;"),
        ("city", "SELECT city, count(*) FROM people GROUP BY city;"),
        ("height", "SELECT avg(height) FROM people;"),
        ("pay", "SELECT avg(pay) FROM people;"),
    ],
)
def test_the_hint_for_a_raw_column_passes(world: World, column: str, hint: str):
    with pytest.raises(NotGranted) as error:
        plan_of(world, f"SELECT {column} FROM people")
    assert error.value.hint == hint
    assert accept(parse(hint))
    plan_of(world, hint)


def test_a_key_keeps_its_type(world: World):
    plan = plan_of(
        world, "SELECT city, city || '!' AS loud, age, age * 2 AS twice FROM people GROUP BY city, age"
    )
    assert [o.column.type.name for o in plan.outputs] == ["text", "text", "int4", "int4"]


class Counted:
    """An aggregate that notes of which noise its interval is asked."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def interval(
        self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction
    ) -> tuple[nodes.Expr, nodes.Expr]:
        del confidence
        self.asked += noise.sd
        return duck.double(noise.sd[0]), columns[0]


def test_an_interval_is_made_once_of_the_same_columns():
    one, other = (Noise((sd,), lambda _: (1,)) for sd in (1.0, 2.0))
    m, c, law = (duck.column(name) for name in ("m0", "c4", "law"))
    counted = Counted()
    call = AggregateCall(cast("Aggregate", counted), (m,), replace(one, laws=(one, other)), law)
    by_law = nodes.Binary("=", law, duck.integer(0))
    half, third = Fraction(1, 2), Fraction(1, 3)
    ends = tuple(duck.case([(by_law, a)], b) for a, b in ((duck.double(1.0), duck.double(2.0)), (m, m)))
    assert [call.interval(half) for _ in range(2)] == [ends] * 2
    assert counted.asked == [1.0, 2.0]
    assert replace(call, columns=(c,)).interval(half)[1] == duck.case([(by_law, c)], c)
    assert replace(call, law=None).interval(half) == (duck.double(1.0), m)
    call.interval(third)
    assert counted.asked == [1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 2.0]
