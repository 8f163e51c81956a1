"""``python -m tests.bench.least_widths [--small] [--write]``: half-widths beside the least of any honest interval.

Pratt (1961): let an interval hold at every truth with the probability 0.95 or more, and average its length over the
truths of a prior. That is the integral over all values g of the probability, by the prior's law of what is released,
that the interval has g (Fubini). For a truth with the value g, not to have g is a test of this truth at the level 0.05.
So the probability is at least the error of the second kind of the most powerful one, which goes by the ratio of both
densities (Neyman and Pearson). Every truth with the value g gives a valid bound; the truth nearest to the table's own
sums is a hard one to tell apart. The prior is even over such truths, to twice the distance that 95 % of the noise is
within: with the table's own truth alone an interval may be short there at the cost of all others.

Nobody has to reach the bound: no interval is known that does for several sums at once.
"""

from collections.abc import Callable, Sequence
from math import log

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from dpproxy.algebra.plan import Plan
from tests.assurance.test_coverage import DDL, POLICY
from tests.bench.results import command
from tests.golden.world import World, build, plan_of
from tests.planner.release.test_intervals import shown
from udfs.mechanisms.laplace import Laplace
from udfs.mechanisms.staircase import Staircase

Floats = NDArray[np.float64]
Mechanism = Staircase | Laplace
KINDS = ("regr_slope(y, x)", "regr_intercept(y, x)", "corr(y, x)")
CASES = [
    (kind, shape, name) for shape in ("many", "skewed") for name in ("auto", "laplace") for kind in KINDS
]
WIDTHS = (1, 500, 50, 25_000, 125_000, 1250)
"""Of the sums of 1, x, y, x y, x^2 and y^2, in steps from the middle of the columns' bounds."""
CENTRE, MIDDLES = np.array([500.0, 50.0]), (125_000.0, 1250.0)
"""Of x and y, and of their squares."""
STEPS, DRAWS = 31, 400
"""Truths on each side, and releases of each."""


def main() -> None:
    command("least-widths", lambda small: measured(CASES[:1] if small else CASES))


def measured(cases: Sequence[tuple[str, str, str]]) -> list[list[str]]:
    """A row for each case, at epsilon 1."""
    head = [
        "of",
        "table",
        "dp.mechanism",
        "95 % of the noise",
        "least half-width",
        "noise over the least",
        "mean over the least",
        "median over the least",
    ]
    world = build([*DDL, *filter(None, (each.strip() for each in POLICY.split(";")))])
    rows = []
    with duckdb.connect(config={"threads": "1"}) as data:
        for sql in DDL:
            data.execute(sql)
        for kind, shape, name in cases:
            off, least, ours = compared(world, data, kind, shape, name)
            of_least = [f"{each / least:.2f}" for each in (off, ours.mean(), np.median(ours))]
            rows.append([kind, shape, name, f"{off:.3g}", f"{least:.3g}", *of_least])
    return [head, *rows]


def compared(
    world: World, data: duckdb.DuckDBPyConnection, kind: str, shape: str, name: str
) -> tuple[float, float, Floats]:
    """What 95 % of the noise are within, the bound, and half-widths of releases from the same prior."""
    options = {"dp.intervals": "columns", "dp.epsilon": "1", "dp.mechanism": name}
    plan = plan_of(world, f"SELECT {kind} FROM {shape}", options)
    [part], source = plan.parts, np.random.default_rng(7)
    mechanism = part.mechanism
    if not isinstance(mechanism, Staircase | Laplace):
        raise TypeError(name)
    rows = data.sql(part.exact, params={"1": "00"} if part.truncated else {}).to_arrow_table()
    middle = np.array([float(column[0].as_py()) for column in rows.columns])
    order = [mechanism.widths.index(width) for width in WIDTHS if width in mechanism.widths]

    def values(sums: Floats) -> Floats:
        return value(kind, sums[:, order])

    [centre] = values(middle[None])
    off = float(np.quantile(abs(values(middle + drawn(mechanism, 10_000)) - centre), 0.95))
    scales = np.array([float(v) ** 0.5 for v in mechanism.variance()])
    sides = [
        nearest(values, middle, scales, [centre + sign * 4 * off * n / STEPS for n in range(1, STEPS + 1)])
        for sign in (-1, 1)
    ]
    path = np.vstack(
        [
            *(t for t in sides[0][::-1] if is_real(t[order])),
            middle,
            *(t for t in sides[1] if is_real(t[order])),
        ]
    )
    places = values(path)
    prior = path[abs(places - centre) <= 2 * off]
    sums = np.vstack([truth + drawn(mechanism, DRAWS) for truth in prior])

    def log_mixture(of: Floats) -> Floats:
        logs = np.stack([log_density(mechanism, of - truth) for truth in prior])
        return np.logaddexp.reduce(logs, axis=0) - log(len(prior))

    own, kept = log_mixture(sums), []
    for truth in path:
        at = truth + drawn(mechanism, 6000)
        null = log_mixture(at) - log_density(mechanism, at - truth)
        kept.append(missed(null, own - log_density(mechanism, sums - truth)))
    least = float(np.trapezoid(kept, places)) / 2
    return off, least, halves(plan, sums[source.integers(0, len(sums), 3000)])


def drawn(mechanism: Mechanism, many: int) -> Floats:
    return np.array(mechanism.draw(many).tolist(), dtype=np.float64)


def halves(plan: Plan, sums: Floats) -> Floats:
    """The half-widths that are stated."""
    found = shown(plan, np.rint(sums).astype(object).tolist())
    return np.array([(float(str(high)) - float(str(low))) / 2 for _, low, high, *_ in found])


def value(kind: str, sums: Floats) -> Floats:
    """Of sums in the order of ``WIDTHS``."""
    n = np.maximum(sums[:, 0], 1.0)
    x, y = sums[:, 1] / n, sums[:, 2] / n
    c, v = sums[:, 3] / n - x * y, np.maximum(sums[:, 4] / n + MIDDLES[0] - x * x, 1e-9)
    if kind.startswith("regr_slope"):
        return c / v
    if kind.startswith("regr_intercept"):
        return y + CENTRE[1] - c / v * (x + CENTRE[0])
    w = np.maximum(sums[:, 5] / n + MIDDLES[1] - y * y, 1e-9)
    return np.clip(c / np.sqrt(v * w), -1.0, 1.0)


def nearest(
    values: Callable[[Floats], Floats], middle: Floats, scales: Floats, targets: Sequence[float]
) -> list[Floats]:
    """For each target the sums with that value that are nearest to the middle, about, as long as some are found."""
    found, at, count = list[Floats](), middle.copy(), len(middle)
    moves = np.diag(0.01 * scales)
    for target in targets:
        for _ in range(60):
            moved = values(np.vstack([at[None], at + moves, at - moves]))
            slope = (moved[1 : count + 1] - moved[count + 1 :]) / 0.02
            if not slope.any():
                return found
            back = (at - middle) / scales
            step = slope * (target - moved[0] + slope @ back) / (slope @ slope) - back
            size = float(np.hypot.reduce(step))
            if size < 1e-4:
                break
            at = at + step * min(1.0, 0.5 / size) * scales
        if abs(values(at[None])[0] - target) > 0.02 * abs(targets[-1] - targets[0]):
            return found
        found.append(at.copy())
    return found


def is_real(truth: Floats) -> bool:
    """Whether rows within the bounds, with weights, have these sums."""
    x, y = (each.ravel() for each in np.meshgrid(np.arange(-500.0, 501, 25), np.arange(-50.0, 51, 5)))
    of_rows = np.stack([np.ones_like(x), x, y, x * y, x * x - MIDDLES[0], y * y - MIDDLES[1]])[: len(truth)]
    scales = abs(of_rows).max(axis=1)
    found = linprog(np.zeros(len(x)), A_eq=of_rows / scales[:, None], b_eq=truth / scales, bounds=(0, None))
    return bool(found.status == 0)


def log_density(mechanism: Mechanism, noise: Floats) -> Floats:
    """But for a constant."""
    sizes = abs(noise)
    if isinstance(mechanism, Laplace):
        falls = [log(float(ratio.fraction)) for ratio in mechanism.ratios]
        return np.asarray(sizes @ np.array(falls))
    levels = np.ceil((sizes - np.array(mechanism.radii)) / np.array(mechanism.widths))
    return np.asarray((log(mechanism.ratio) - 64 * log(2)) * np.maximum(levels.max(axis=1), 0.0))


def missed(null: Floats, other: Floats) -> float:
    """How often the test of the level 0.05 by large ratios, drawn by lot where they are alike, keeps the null."""
    null, other = np.round(null, 9), np.round(other, 9)
    border = np.quantile(null, 0.95, method="higher")
    share = (0.05 - np.mean(null > border)) / np.mean(null == border)
    return float(np.mean(other < border) + (1 - share) * np.mean(other == border))


if __name__ == "__main__":
    main()
