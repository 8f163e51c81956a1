import math
from fractions import Fraction

import pytest

from dpproxy.aggregates.model import Noise
from dpproxy.values.errors import BoundsMissing
from dpproxy.values.pgtypes import FLOAT8
from tests.aggregates.conftest import Calls, evaluate, filled, measured, names, rows_of

NOISE = Noise((3e6, 2.0), lambda _: (6_000_000, 4), rows=1)


@pytest.mark.parametrize("heights", [[2.0, 8.0], [1.0, 10.0, 100.0, None], [0.5], [7.0] * 5])
def test_values(calls: Calls, heights: list[float | None]):
    (call,) = calls("geometric_mean(height + 0.5)")
    with filled(rows_of(height=heights)) as connection:
        (exact,) = measured(connection, call.measures)
        (theirs,) = connection.execute("SELECT exp(avg(ln(height + 0.5))) FROM t").fetchone() or (None,)
    (ours,) = evaluate([call.value(names(call)).sql], {f"m{i}": n for i, n in enumerate(exact)})
    assert math.isclose(ours, theirs, rel_tol=1e-6)
    assert call.type == FLOAT8
    assert not call.value(names(call)).nullable


@pytest.mark.parametrize("argument", ["age + 1", "height + 0.5", "small + 4"])
def test_one_row_moves_each_measure_by_at_most_its_width(calls: Calls, argument: str):
    (call,) = calls(f"geometric_mean({argument})")
    extremes = {
        "small": (-3, 0, 4),
        "age": (None, -1, 0, 2**31 - 1),
        "height": (None, -1e308, 0, 256.0, float("nan")),
    }
    with filled(rows_of(**{n: v for n, v in extremes.items() if n in argument})) as connection:
        moves = measured(connection, call.measures, by="rowid")
    (furthest, rows), (width, one) = (
        (max(map(abs, c)) for c in zip(*moves, strict=True)),
        (m.width for m in call.measures),
    )
    assert width - 1 <= furthest <= width
    assert rows == one == 1


def test_it_is_inside_the_bounds_whatever_was_released(calls: Calls):
    (call,) = calls("geometric_mean(age + 1)")
    for released in ({"m0": 10**15, "m1": 1}, {"m0": -(10**15), "m1": 1}, {"m0": 0, "m1": -5}):
        (found,) = evaluate([call.value(names(call)).sql], released)
        assert 1 - 1e-9 <= found <= 101 + 1e-9


def test_it_has_less_noise_than_what_people_write(calls: Calls):
    own, written = calls("geometric_mean(age + 1), avg(ln(age + 1))")
    assert own.measures[0].width < written.measures[0].width
    assert own.measures[1] == written.measures[1]


def test_the_interval_holds_every_mean_that_the_draw_can_be_of(calls: Calls):
    (call,) = calls("geometric_mean(age + 1)")
    low, high = evaluate(call.interval(names(call), NOISE, Fraction(9, 10)), {"m0": 10**9, "m1": 50})
    columns = names(call)
    for total in (10**9 - 6_000_000, 10**9, 10**9 + 6_000_000):
        for count in (46, 50, 54):
            (found,) = evaluate([call.value(columns).sql], {"m0": total, "m1": count})
            assert low * (1 - 1e-12) <= found <= high * (1 + 1e-12)


def test_errors(calls: Calls):
    (call,) = calls("geometric_mean(age + 1)")
    released = {"m0": 0, "m1": 100}
    value, deviation = evaluate([call.value(names(call)).sql, call.noise_sd(names(call), NOISE)], released)
    (own,) = evaluate([call.logarithms.noise_sd(names(call), NOISE)], released)  # type: ignore[attr-defined]
    assert math.isclose(deviation, value * own)
    error = call.error(NOISE, Fraction(9, 10))
    assert (error.noise_sd, error.half_width) == (None, None)
    assert error.formula is not None
    assert error.formula.endswith(" / count of the value")


@pytest.mark.parametrize("argument", ["age", "height", "odd", "pay - 1", "ln(height)"])
def test_an_argument_that_may_be_zero_is_refused(calls: Calls, argument: str):
    with pytest.raises(BoundsMissing, match="may be zero or less"):
        calls(f"geometric_mean({argument})")
