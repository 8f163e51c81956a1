"""The same work done by OpenDP and diffprivlib, in an environment of their own: reads what to do, writes JSON.

    python tests/bench/peers.py < request.json

Knows nothing of this project or its environment; ``tests.bench`` and ``tests.bench.utility`` run it for ``--peers``.
"""

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np

warnings.filterwarnings("ignore")  # diffprivlib says on every call what it was not told

import diffprivlib as library  # noqa: E402
import opendp.prelude as dp  # noqa: E402

dp.enable_features("contrib")

Number = int | float


def atom(values: type) -> tuple[object, object]:
    """OpenDP's space of one number."""
    domain = dp.atom_domain(T=int) if values is int else dp.atom_domain(T=float, nan=False)
    return domain, dp.absolute_distance(T=values)


def vector(values: type) -> tuple[object, object]:
    """OpenDP's space of many numbers."""
    domain = dp.atom_domain(T=int) if values is int else dp.atom_domain(T=float, nan=False)
    return dp.vector_domain(domain), dp.l1_distance(T=values)


def laplace(space: tuple[object, object], scale: float) -> Callable[[object], object]:
    """OpenDP's Laplace noise, discrete for integers."""
    return dp.m.make_laplace(*space, scale=scale)


def gaussian(many: bool, scale: float) -> Callable[[object], object]:  # noqa: FBT001
    """OpenDP's discrete Gaussian."""
    domain = dp.atom_domain(T=int)
    if many:
        return dp.m.make_gaussian(dp.vector_domain(domain), dp.l2_distance(T=int), scale=scale)
    return dp.m.make_gaussian(domain, dp.absolute_distance(T=int), scale=scale)


def rho_half() -> library.mechanisms.GaussianDiscrete:
    """diffprivlib's discrete Gaussian, at the scale that rho = 1/2 needs; it would choose its own from a delta."""
    discrete = library.mechanisms.GaussianDiscrete(epsilon=1, delta=1e-6)
    discrete._scale = 1.0
    return discrete


def noisy_max() -> Callable[[object], object]:
    """OpenDP's choice of the best of ten: the exponential mechanism for scores of sensitivity 1 at epsilon 1."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    return dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2.0)


# --- speed ------------------------------------------------------------------------------------------


def each(call: Callable[[], object]) -> Callable[[int], int]:
    """A library without batches."""

    def run(count: int) -> int:
        for _ in range(count):
            call()
        return count

    return run


def batches(count: int) -> dict[str, dict[str, Callable[[int], int]]]:
    """What draws ``count`` values or so; each gives how many it drew."""
    one, three = laplace(vector(int), 1.0), laplace(vector(int), 3.0)
    geometric = library.mechanisms.Geometric(epsilon=1)
    third = library.mechanisms.Geometric(epsilon=1 / 3)
    discrete, scores = rho_half(), list(range(10))
    normal = gaussian(many=True, scale=1.0)
    best = library.mechanisms.Exponential(epsilon=1, sensitivity=1, utility=scores)
    chooser = noisy_max()
    real, float_laplace = laplace(vector(float), 1.5), library.mechanisms.Laplace(epsilon=1, sensitivity=1.5)
    zeros = [0] * count

    def all_at_once(measurement: Callable[[object], object]) -> Callable[[int], int]:
        numbers = [0.0] * count if measurement is real else zeros
        return lambda _: len(measurement(numbers))

    return {
        "one": {"OpenDP": all_at_once(one), "diffprivlib": each(lambda: geometric.randomise(0))},
        "double": {"OpenDP": all_at_once(real), "diffprivlib": each(lambda: float_laplace.randomise(0.0))},
        "three": {"OpenDP": all_at_once(three), "diffprivlib": each(lambda: third.randomise(0))},
        "laplace": {"OpenDP": all_at_once(one), "diffprivlib": each(lambda: geometric.randomise(0))},
        "gaussian": {"OpenDP": all_at_once(normal), "diffprivlib": each(lambda: discrete.randomise(0))},
        "exponential": {"OpenDP": each(lambda: chooser(scores)), "diffprivlib": each(best.randomise)},
    }


def singles() -> dict[str, dict[str, Callable[[], object]]]:
    """One release by one call."""
    one, geometric = laplace(atom(int), 1.0), library.mechanisms.Geometric(epsilon=1)
    three, third = laplace(vector(int), 3.0), library.mechanisms.Geometric(epsilon=1 / 3)
    discrete, scores = rho_half(), list(range(10))
    normal = gaussian(many=False, scale=1.0)
    best, chooser = library.mechanisms.Exponential(epsilon=1, sensitivity=1, utility=scores), noisy_max()
    number, float_laplace = laplace(atom(float), 1.5), library.mechanisms.Laplace(epsilon=1, sensitivity=1.5)
    return {
        "one": {"OpenDP": lambda: one(0), "diffprivlib": lambda: geometric.randomise(0)},
        "double": {"OpenDP": lambda: number(0.0), "diffprivlib": lambda: float_laplace.randomise(0.0)},
        "three": {
            "OpenDP": lambda: three([0, 0, 0]),
            "diffprivlib": lambda: [third.randomise(0) for _ in range(3)],
        },
        "laplace": {"OpenDP": lambda: one(0), "diffprivlib": lambda: geometric.randomise(0)},
        "gaussian": {"OpenDP": lambda: normal(0), "diffprivlib": lambda: discrete.randomise(0)},
        "exponential": {"OpenDP": lambda: chooser(scores), "diffprivlib": best.randomise},
    }


def speed(count: int, calls: int) -> dict[str, object]:
    """Values per second in a batch, and the median microseconds of a single release."""
    rates = {
        work: {name: _rate(run, count if name == "OpenDP" else calls) for name, run in runs.items()}
        for work, runs in batches(count).items()
    }
    times = {
        work: {name: _median(call, calls) for name, call in runs.items()} for work, runs in singles().items()
    }
    return {"rates": rates, "microseconds": times}


def _rate(run: Callable[[int], int], count: int) -> float:
    begun = time.process_time()
    drawn = run(count)
    return drawn / (time.process_time() - begun)


def _median(call: Callable[[], object], calls: int) -> float:
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return 1e6 * float(np.median(times))


def spearman(calls: int) -> dict[str, float]:
    """Rank correlation of the time of a single release and the size of its noise."""
    from scipy.stats import spearmanr  # noqa: PLC0415

    found = {}
    wide, narrow = 1000.0, library.mechanisms.Geometric(epsilon=1 / 1000)
    for name, call in (("OpenDP", laplace(atom(int), wide)), ("diffprivlib", narrow.randomise)):
        times, sizes = [], []
        for _ in range(calls):
            begun = time.perf_counter()
            drawn = call(0)
            times.append(time.perf_counter() - begun)
            sizes.append(abs(drawn))
        found[name] = float(spearmanr(times, sizes).statistic)
    return found


# --- errors -----------------------------------------------------------------------------------------


def errors(groups: Sequence[Sequence[int]], runs: int, top: int) -> dict[str, dict[str, list[float]]]:
    """Root mean square errors at epsilon 1 of each answer of each question; numbers from 0 to ``top``.

    OpenDP: Laplace noise with epsilon split evenly over the measures, an average from a centred sum and a count.
    diffprivlib: its own tools with epsilon split evenly over the answers; its mean takes the number of rows as known.
    """
    data = np.array(groups)
    truth = {"count": np.full(len(data), data.shape[1]), "sum": data.sum(axis=1), "avg": data.mean(axis=1)}
    return {
        "OpenDP": _opendp_errors(truth, runs, top),
        "diffprivlib": _diffprivlib_errors(data, truth, max(runs // 5, 1), top),
    }


def _opendp_errors(truth: dict[str, np.ndarray], runs: int, top: int) -> dict[str, list[float]]:
    def noise(width: float, epsilon: float) -> np.ndarray:
        drawn = laplace(vector(int), width / epsilon)([0] * (runs * len(truth["count"])))
        return np.array(drawn).reshape(runs, -1)

    middle = top // 2
    found = {"count": [_rms(noise(1, 1))], "sum": [_rms(noise(top, 1))]}
    total, count = noise(middle, 0.5), noise(1, 0.5)
    average = _average(truth, total, count, top) - truth["avg"]
    found["avg"] = [_rms(average)]
    found["count, sum, avg"] = [_rms(count), _rms(total + middle * count), _rms(average)]
    return found | {f"{d} sums": [_rms(noise(top, 1 / d))] for d in (2, 4, 10)}


def _average(truth: dict[str, np.ndarray], total: np.ndarray, count: np.ndarray, top: int) -> np.ndarray:
    middle = top // 2
    centred = truth["sum"] - middle * truth["count"] + total
    return np.clip(middle + centred / np.maximum(truth["count"] + count, 1), 0, top)


def _diffprivlib_errors(
    data: np.ndarray, truth: dict[str, np.ndarray], runs: int, top: int
) -> dict[str, list[float]]:
    tools, bounds = library.tools, (0, top)

    def error(kind: str, epsilon: float) -> float:
        calls = {
            "count": lambda x: tools.count_nonzero(np.arange(2 * len(x)) < len(x), epsilon=epsilon),
            "sum": lambda x: tools.sum(x, epsilon=epsilon, bounds=bounds),
            "avg": lambda x: tools.mean(x, epsilon=epsilon, bounds=bounds),
        }
        return _rms(np.array([[calls[kind](row) for row in data] for _ in range(runs)]) - truth[kind])

    found = {kind: [error(kind, 1)] for kind in ("count", "sum", "avg")}
    found["count, sum, avg"] = [error(kind, 1 / 3) for kind in ("count", "sum", "avg")]
    return found | {f"{d} sums": [error("sum", 1 / d)] for d in (2, 4, 10)}


def _rms(values: np.ndarray) -> float:
    return math.sqrt(float(np.mean(np.square(values.astype(float)))))


def main() -> None:
    """Answer the request on standard input."""
    asked = json.load(sys.stdin)
    answer: dict[str, object] = {}
    if "speed" in asked:
        answer |= speed(**asked["speed"]) | {"spearman": spearman(asked["speed"]["calls"])}
    if "errors" in asked:
        answer["errors"] = errors(**asked["errors"])
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
