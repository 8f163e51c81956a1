"""Many sums of one expression are one sum and one count."""

import pytest

from dpproxy.values.errors import TooComplex
from tests.golden.world import World, plan_of
from tests.planner.answers import answered
from tests.planner.clinic import one_part


@pytest.mark.parametrize(
    ("listed", "measures"),
    [
        ("sum(hours + 1), sum(hours + 2), sum(3 + hours)", 2),
        ("sum(hours - 1), sum(hours - 2.5), sum(hours + 4) * 2, sum(hours)", 2),
        ("sum(hours + 1), sum(hours + 2)", 2),
        ("sum(hours + 1), sum(hours + 2), sum(1 - hours)", 3),
        ("sum(hours + 1), sum(hours + 2), sum(hours + hours)", 3),
    ],
)
def test_so_many_figures_are_released(clinic: World, listed: str, measures: int):
    assert one_part(clinic, f"SELECT {listed} FROM visits").measures == measures


def test_what_is_shown_has_its_value_name_and_type(clinic: World):
    sql = "SELECT sum(hours + 1), sum(hours - 2) AS less, sum(hours + 0.5), -sum(2 + hours) FROM visits"
    outputs = plan_of(clinic, sql).outputs
    assert [(o.column.name, o.column.type.name) for o in outputs] == [
        ("sum", "int8"),
        ("less", "int8"),
        ("sum", "numeric"),
        ("?column?", "int8"),
    ]
    assert [tuple(map(float, row)) for row in answered(clinic, sql)] == [(10, 1, 8.5, -13)]  # type: ignore[arg-type]


def test_ninety_sums_are_no_ninety_figures(clinic: World):
    many = ", ".join(f"sum(hours + {n})" for n in range(1, 91))
    assert one_part(clinic, f"SELECT {many} FROM visits").measures == 2
    with pytest.raises(TooComplex):
        plan_of(clinic, f"SELECT {many.replace('+', '*')} FROM visits")
