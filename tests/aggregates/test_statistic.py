"""What all functions of moments have in common: values, intervals and deviations, for each of them."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import cache

import duckdb
import pytest

from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.statistic import Statistic
from dpproxy.analysis import duck
from dpproxy.values.pgtypes import FLOAT8, NUMERIC
from tests.aggregates.conftest import Calls, Row, evaluate, evaluated, filled, measured, names, rows_of

ONE = ["var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev"]
TWO = ["covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2"]
CALLS = [
    *(f"{n}({a})" for n in ONE for a in ("age", "height * 3 + pay")),
    "corr(small, small)",
    "regr_slope(odd, age + pay)",
    *(f"{n}({a})" for n in TWO for a in ("age, height", "pay, small")),
]


People = Callable[[int, int], duckdb.DuckDBPyConnection]


def table(count: int, seed: int) -> list[Row]:
    """People whose columns hang together, all inside their domains, a few of them with NULLs."""
    source = random.Random(seed)
    rows = []
    for _ in range(count):
        age = source.randint(0, 100)
        small = source.randint(-3, 4)
        height = min(max(age * 1.5 + source.gauss(60, 20), 0), 256)
        cells = {"small": small, "age": age, "pay": round(age * 40 + source.random() * 900, 2), "height": height,
                 "odd": source.choice([-1.0, 0.5, 2.25]) }  # fmt: skip
        gone = source.choice([None, None, None, "age", "pay", "height", "odd"])
        rows += rows_of(**{n: (None,) if n == gone else (v,) for n, v in cells.items()})
    return rows


FAR = 10**38 - 1
EXTREMES = (
    (0,) * 6, (FAR,) * 6, (-FAR,) * 6, (-5, FAR, -FAR, FAR, -FAR, FAR), (1, 0, 0, FAR, -FAR, 3), (3, -1, 2, -9, 0, 4),
)  # fmt: skip


def statistic(calls: Calls, text: str) -> Statistic:
    (call,) = calls(text)
    assert isinstance(call, Statistic)
    return call


def limits(call: Statistic) -> tuple[float, float]:
    """The range of the call's values."""
    unit = float(call.function.unit(call.sides))
    low, high = call.function.limits(call.sides)
    return low * unit, high * unit


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    """Databases of so many of them, which no test changes."""
    with ExitStack() as stack:
        yield cache(lambda count, seed: stack.enter_context(filled(table(count, seed))))


def exact_of(call: Statistic, connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    (found,) = measured(connection, call.measures)
    return {f"m{i}": value for i, value in enumerate(found)}


@pytest.mark.parametrize("text", CALLS)
@pytest.mark.parametrize("count", [2, 7, 300])
def test_without_noise_it_is_the_engines_own_answer(calls: Calls, people: People, text: str, count: int):
    call = statistic(calls, text)
    exact = exact_of(call, people(count, count))
    if exact["m0"] < 2:
        return
    theirs = people(count, count).execute(f"SELECT {text} FROM t").fetchone()
    (ours,) = evaluate([call.value(names(call)).sql], exact)
    assert theirs is not None
    assert ours == pytest.approx(theirs[0], rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("text", CALLS)
def test_an_interval_holds_the_value_before_noise(calls: Calls, people: People, text: str):
    call = statistic(calls, text)
    source = random.Random(5)
    halves = tuple(m.width * 2 for m in call.measures)
    interval = call.interval(names(call), Noise(tuple(map(float, halves)), lambda _: halves), Fraction(9, 10))
    exact, moved = [], []
    for count in (0, 1, 2, 50, 400):
        found = exact_of(call, people(count, count))
        for _ in range(8):
            exact.append(found)
            moved.append(
                {
                    n: v + source.choice([-1, 1, 0]) * h
                    for (n, v), h in zip(found.items(), halves, strict=True)
                }
            )
    low, high = limits(call)
    slack = 1e-9 * (high - low)
    truths = evaluated([call.value(names(call)).sql], exact)
    for (truth,), ends in zip(truths, evaluated(interval, moved), strict=True):
        assert low - slack <= ends[0] - slack <= truth <= ends[1] + slack <= high + 2 * slack


@pytest.mark.parametrize("text", [c for c in CALLS if not c.endswith("(small, small)")])
def test_the_deviation_is_the_derivative_by_every_measure(calls: Calls, people: People, text: str):
    """Not where both sides are one sum: its noise cannot be moved for one side alone.

    The factor n / (n - 1) is taken as known, which is off by less than 1 in n.
    """
    call = statistic(calls, text)
    exact = exact_of(call, people(300, 11))
    steps = [m.width * 1e-3 for m in call.measures]
    rows = [
        {n: float(v) + d * (n == f"m{i}") for n, v in exact.items()}
        for i, step in enumerate(steps) for d in (step, -step)
    ]  # fmt: skip
    ends = [end for (end,) in evaluated([call.value(names(call)).sql], rows)]
    changes = [abs(up - down) / 2e-3 for up, down in zip(ends[::2], ends[1::2], strict=True)]
    only = [tuple(float(m.width) * (i == j) for j, m in enumerate(call.measures)) for i in range(len(steps))]
    stated = evaluate([call.noise_sd(names(call), Noise(sd, lambda _: ())) for sd in only], exact)
    assert stated == pytest.approx(changes, rel=0.02, abs=1e-6 + 5e-3 * max(changes))


@pytest.mark.parametrize("text", CALLS)
def test_it_is_never_null_and_never_out_of_range(calls: Calls, text: str):
    call = statistic(calls, text)
    noise = Noise(tuple(1.0 for _ in call.measures), lambda _: tuple(1 for _ in call.measures))
    wanted = [call.value(names(call)).sql, call.noise_sd(names(call), noise),
              *call.interval(names(call), noise, Fraction(1, 2))]  # fmt: skip
    low, high = limits(call)
    columns = [
        {f"m{i}": level for i, level in zip(range(len(call.measures)), levels, strict=False)}
        for levels in EXTREMES
    ]
    for value, sd, *ends in evaluated(wanted, columns):
        assert low <= value <= high
        assert 0 <= sd <= (high - low) / 2
        assert low <= ends[0] <= high
        assert low <= ends[1] <= high


def test_types_and_errors(calls: Calls):
    found = calls("stddev(age), var_pop(height), corr(age, pay)")
    assert [a.type for a in found] == [NUMERIC, FLOAT8, FLOAT8]
    assert not any(a.value(names(a)).nullable for a in found)
    error = found[0].error(Noise((1.0, 1.0, 1.0), lambda _: (4, 60, 2000), rows=3), Fraction(9, 10))
    assert (error.sensitivity, error.noise_sd, error.half_width) == ("(3, 150, 3750)", None, None)
    # 2000 for squares, 2 * 50 for each of 60, and 50^2 with half of it for each of 4
    assert error.formula == "about 23000 / (2 * stddev * count)"


def test_the_union_bound_is_over_all_sums(calls: Calls):
    asked: list[Fraction] = []

    def half_width(confidence: Fraction) -> tuple[int, ...]:
        asked.append(confidence)
        return (1,) * 6

    (call,) = calls("corr(age, pay)")
    call.interval(names(call), Noise((1.0,) * 6, half_width), Fraction(94, 100))
    assert asked == [Fraction(99, 100)]
    assert duck.text(call.value(names(call)).sql).count("m5") > 0
