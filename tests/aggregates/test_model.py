"""Every aggregate keeps the promises of the protocol: its intervals and deviations, against the real mechanism."""

import math
from fractions import Fraction

import pyarrow as pa
import pytest

from tests.empty import empty
from tests.golden.world import World, build, plan_of

DRAWS = 4000
HEADER = (
    "CREATE TABLE people (id INTEGER, age INTEGER, pay DECIMAL(8,2), height DOUBLE)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN 10 AND 5000",
    "ALTER TABLE people ALTER COLUMN height SET PRIVACY DOMAIN BETWEEN -40 AND 250",
)
CALLS = (
    "count(*)",
    "count(age)",
    "sum(age)",
    "sum(pay)",
    "sum(height)",
    "avg(age)",
    "avg(pay)",
    "avg(height)",
    "count_if(age > 3)",
    "sum(pay) FILTER (WHERE age > 3)",
    "var_samp(age)",
    "stddev_pop(pay)",
    "covar_samp(age, height)",
    "corr(age, pay)",
    "regr_slope(pay, age)",
    "regr_intercept(pay, age)",
    "regr_r2(age, pay)",
)
BESIDE = {"sum(age)": "avg(age)"}
"""Asked together they share measures, so the sum is derived."""


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def answers(world: World, call: str, confidence: str, rows: int) -> list[tuple[float, float, float, float]]:
    """Value, interval and deviation of a call, for many draws around the true measures of ``rows`` people."""
    listed = f"CAST({call} AS float8), dp.ci_low({call}), dp.ci_high({call}), dp.noise_sd({call})"
    more = f", {BESIDE[call]}" if call in BESIDE else ""
    plan = plan_of(
        world, f"SELECT {listed}{more} FROM people", {"dp.epsilon": "0.5", "dp.confidence": confidence}
    )
    (part,) = plan.parts
    assert part.mechanism is not None
    exact = [rows if w == 1 else w * rows // 3 for w in part.mechanism.widths]
    drawn = part.mechanism.draw(DRAWS)
    names = [f"m{i}" for i in range(len(exact))]
    with empty() as connection:
        for table, lists in (("noisy", drawn.tolist()), ("still", [[0] * len(exact)])):
            columns = [pa.array([e + row[i] for row in lists], pa.int64()) for i, e in enumerate(exact)]
            connection.register(
                table, pa.table({"o": pa.array(range(len(lists))), **dict(zip(names, columns, strict=True))})
            )
        wide = ", ".join(f"{n}::HUGEINT AS {n}" for n in names)
        found = []
        for table in ("still", "noisy"):
            connection.execute(f"CREATE OR REPLACE TEMP TABLE r0 AS SELECT o, {wide} FROM {table}")
            found += [tuple(map(float, row[:4])) for row in connection.execute(plan.answer).fetchall()]
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("rows", [0, 2, 400])
@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
@pytest.mark.parametrize("call", CALLS)
def test_the_interval_holds_the_exact_value_as_often_as_it_says(
    world: World, call: str, confidence: str, rows: int
):
    """False-alarm rate under 1e-6 a case: 4.9 standard deviations below the stated probability."""
    (exact, *_), *drawn = answers(world, call, confidence, rows)
    held = sum(low - 1e-6 <= exact <= high + 1e-6 for _, low, high, _ in drawn)
    p = float(Fraction(confidence))
    assert held >= DRAWS * p - 4.9 * math.sqrt(DRAWS * p * (1 - p))


@pytest.mark.statistical
@pytest.mark.parametrize("call", CALLS)
def test_the_deviation_is_the_one_observed(world: World, call: str):
    """False-alarm rate about 1e-7 a case: the variance of 4,000 draws has a relative deviation of at most 3.6 %.

    Averages and what is made of them are so to first order only: with many rows and noise of a few, a tenth more is
    allowed.
    """
    (exact, *_), *drawn = answers(world, call, "0.95", 400 if "(pay, age)" not in call else 4000)
    observed = math.sqrt(sum((value - exact) ** 2 for value, *_ in drawn) / DRAWS)
    stated = math.sqrt(sum(sd**2 for *_, sd in drawn) / DRAWS)
    assert 0.85 <= observed / stated <= 1.2
