"""What is written over released rows: what it is within, and where nothing is proved."""

import numpy as np
import pytest

from dpproxy.algebra.plan import Accuracy, Plan
from tests.golden.world import World, build, plan_of

GROUPS = 12
INNER = "SELECT g, count(*) AS n, sum(age) AS s FROM people GROUP BY g"
HEADER = (
    "CREATE TABLE people (id INTEGER, g INTEGER, age INTEGER)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    f"ALTER TABLE people ALTER COLUMN g SET PRIVACY DOMAIN BETWEEN 0 AND {GROUPS - 1}",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def planned(world: World, listed: str, rest: str = "", inner: str = INNER) -> Plan:
    return plan_of(world, f"SELECT {listed} FROM ({inner}) AS q {rest}", {"dp.epsilon": "0.5"})


def accuracy(world: World, listed: str, rest: str = "", inner: str = INNER) -> Accuracy:
    [output] = planned(world, listed, rest, inner).outputs
    assert output.accuracy is not None
    return output.accuracy


def half(world: World, listed: str) -> float:
    found = accuracy(world, listed).half
    assert found is not None
    return found


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("listed", "factor"),
    [("sum(n)", 1), ("3 - 2 * sum(n)", 2), ("sum(n) OVER ()", 1), ("-sum(n) / 4.0", 0.25)],
)
def test_a_total_is_as_far_off_as_that_many_draws(world: World, listed: str, factor: float):
    """The best: the 95 % quantile of 20,000 sums of the noise, of which the standard deviation is 0.9 %."""
    plan = planned(world, listed)
    [part] = plan.parts
    assert part.mechanism is not None
    sums = part.mechanism.draw(20_000 * GROUPS)[:, 0].reshape(-1, GROUPS).sum(axis=1)
    best = factor * float(np.quantile(np.abs(sums), 0.95))
    assert best / 1.05 <= half(world, listed) <= 1.2 * best


def test_totals_of_several_columns_hold_together(world: World):
    alone, beside = (planned(world, listed).outputs[0].accuracy for listed in ("sum(n)", "sum(n), sum(s)"))
    assert alone is not None
    assert beside is not None
    assert (beside.half or 0) > (alone.half or 0) > 0
    assert half(world, "sum(n) - sum(s)") > half(world, "sum(s)")


def test_columns_of_one_row_and_of_rows_that_keys_name_are_within_theirs_together(world: World):
    n, s = half(world, "n"), half(world, "s")
    assert half(world, "5 - n") == n
    assert half(world, "2 * n + s / 4.0") == 2 * n + s / 4
    assert half(world, "n - lag(n) OVER (ORDER BY g)") == 2 * n
    assert half(world, "n + n - (n)") == n
    assert half(world, "sum(n) OVER (ORDER BY g)") > half(world, "sum(n) OVER ()")


@pytest.mark.parametrize(
    ("listed", "rest"),
    [
        ("n * g", ""),
        ("n * s", ""),
        ("n / 2", ""),
        ("sum(n) OVER () - n", ""),
        ("sum(n + s)", ""),
        ("sum(n) OVER (ORDER BY n)", ""),
        ("sum(n) OVER (PARTITION BY s > 3)", ""),
        ("sum(n) FILTER (WHERE g > 3)", ""),
        ("sum(n)", "GROUP BY g"),
        ("sum(n)", "WHERE s > 3"),
        ("sum(n)", f"WHERE g IN (SELECT r.g FROM ({INNER}) AS r WHERE r.n > 3)"),
        ("sum(q.n)", f"JOIN ({INNER}) AS r ON q.g <> r.g"),
    ],
)
def test_of_others_nothing_is_proved(world: World, listed: str, rest: str):
    assert accuracy(world, listed, rest).words == "no interval is proved for it"


def test_of_rows_of_several_releases_no_total_is_proved(world: World):
    rollup = INNER.replace("GROUP BY g", "GROUP BY ROLLUP (g)")
    for inner in (
        rollup,
        f"{INNER} UNION ALL {INNER}",
        f"{INNER} HAVING count(*) > 3",
        f"{INNER} ORDER BY n LIMIT 3",
    ):
        assert accuracy(world, "sum(n)", inner=inner).words == "no interval is proved for it"
