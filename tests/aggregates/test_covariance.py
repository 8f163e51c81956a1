from fractions import Fraction

import pytest

from dpproxy.aggregates.model import Noise
from dpproxy.values.pgtypes import FLOAT8, INT8
from tests.aggregates.conftest import Calls, Row, evaluate, filled, measured, names, rows_of

POINTS = [(20, 60.0), (40, 90.0), (50, 110.5), (90, 200.0)]
"""Ages and heights."""
ALL = ["covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_avgx", "regr_avgy"]


def shown(calls: Calls, text: str, rows: list[Row]) -> float:
    (call,) = calls(text)
    with filled(rows) as connection:
        (exact,) = measured(connection, call.measures)
    return float(evaluate([call.value(names(call)).sql], {f"m{i}": v for i, v in enumerate(exact)})[0])


def people(points: list[tuple[int | None, float | None]]) -> list[Row]:
    return [row for age, height in points for row in rows_of(age=(age,), height=(height,))]


@pytest.mark.parametrize("name", ALL)
def test_rows_without_either_argument_are_left_out(calls: Calls, name: str):
    whole = people([*POINTS])
    more = people([*POINTS, (None, 7.0), (80, None), (None, None)])
    text = f"{name}(height, age)"
    assert shown(calls, text, more) == shown(calls, text, whole)
    with filled(more) as connection:
        theirs = connection.execute(f"SELECT {text} FROM t").fetchone()
    assert theirs is not None
    assert shown(calls, text, more) == pytest.approx(theirs[0], rel=1e-6)


@pytest.mark.parametrize("name", ["covar_pop", "covar_samp", "corr", "regr_r2", "regr_count"])
def test_the_order_of_the_arguments_changes_no_measure(calls: Calls, name: str):
    for more in ("", " FILTER (WHERE smokes)"):
        one, other = calls(f"{name}(age, small){more}, {name}(small, age){more}")
        assert set(one.measures) == set(other.measures)


def test_how_many_sums_each_needs(calls: Calls):
    sizes = {n: len(calls(f"{n}(pay, age)")[0].measures) for n in [*ALL, "regr_count"]}
    assert sizes == {
        "covar_pop": 4, "covar_samp": 4, "corr": 6, "regr_slope": 5, "regr_intercept": 5, "regr_r2": 6, "regr_avgx": 2,
        "regr_avgy": 2, "regr_count": 1,
    }  # fmt: skip


def test_all_over_one_pair_share_six_sums_beside_the_averages(calls: Calls):
    found = calls(", ".join(f"{n}(pay, age)" for n in [*ALL, "regr_count"]))
    assert len({m for call in found for m in call.measures}) == 6


def test_without_spread(calls: Calls):
    flat = people([(40, 10.0), (40, 30.0)])
    assert shown(calls, "corr(age, height)", flat) == 0
    assert shown(calls, "regr_r2(age, height)", flat) == 0
    assert shown(calls, "regr_slope(height, age)", flat) == 0
    assert shown(calls, "regr_intercept(height, age)", flat) == 20.0


def test_the_steepest_slope(calls: Calls):
    """One year apart, from the bottom to the top: 2 r / u."""
    assert shown(calls, "regr_slope(height, age)", people([(40, 0.0), (41, 256.0)])) == pytest.approx(256)
    (call,) = calls("regr_slope(height, age)")
    columns = dict(zip(("m0", "m1", "m2", "m3", "m4"), (2, 0, 0, 10**20, -2500), strict=True))
    assert evaluate([call.value(names(call)).sql], columns) == (256.0,)


def test_types(calls: Calls):
    assert {a.type for a in calls(", ".join(f"{n}(pay, age)" for n in ALL))} == {FLOAT8}
    assert calls("regr_count(pay, age)")[0].type == INT8


def test_words(calls: Calls):
    def words(text: str) -> str | None:
        (call,) = calls(text)
        size = len(call.measures)
        return call.error(Noise((1.0,) * size, lambda _: (1,) * size), Fraction(1, 2)).formula

    # 1 + 50 + 50 + 50 * 50, and half as much again for squares, from their middle
    assert words("covar_pop(age, age)") == "about 2601 / count"
    assert words("corr(age, age)") == (
        "about (2601 / (sx * sy) + 3851 / (2 * sx^2) + 3851 / (2 * sy^2)) / count, sx and sy the standard deviations"
    )
    assert words("regr_slope(age, age)") == (
        "about (2601 + |slope| * 3851) / (sx^2 * count), sx the standard deviation"
    )
    assert words("regr_intercept(age, age)") == (
        "about (51 + |slope| * 51 + |mean x| * (2601 + |slope| * 3851) / sx^2) / count, sx the standard deviation"
    )
    assert str(words("regr_r2(age, age)")).endswith("sx and sy the standard deviations, times 2")
