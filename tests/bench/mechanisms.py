"""The mechanisms of ``udfs``: noise values per second from SQL, single releases from Python, other libraries beside."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from scipy.stats import spearmanr

import udfs
from tests.bench.report import number
from tests.bench.timing import timed
from udfs.functions.joint import Joint
from udfs.mechanisms import Gaussian, Laplace, Staircase
from udfs.mechanisms.exponential import Exponential
from udfs.mechanisms.refinement import Refinement
from udfs.mechanisms.selection import Selection
from udfs.pool import Pool
from udfs.priors import uniform
from udfs.privacy import NANO
from udfs.release import release

LEAST_RATE = 1e6
MOST_MICROSECONDS = 100.0
PEERS = ("OpenDP", "diffprivlib")
COUNT, THREE = Staircase.best((1,), NANO), Staircase.best((1, 10, 100), NANO)


@dataclass(frozen=True, slots=True)
class Work:
    """A mechanism at epsilon 1, or rho 1/2: its name, what it is among the peers', and how it is asked for."""

    name: str
    key: str
    call: str
    """In SQL, of a number ``i``; a list gives its first element."""
    values: int
    """Drawn for each row."""
    once: Callable[[], object]
    """One release in Python."""

    def sql(self, rows: int) -> str:
        """Draw for so many rows, and look at every draw."""
        return f"SELECT count(a) FROM (SELECT {self.call} AS a FROM range({rows}) AS t(i)) WHERE hash(a) <> 0"


def released(mechanism: Joint) -> Callable[[], object]:
    zeros = [0] * len(mechanism.widths)
    return lambda: release(zeros, mechanism)


TEN = (1,) * 10
SCORES = list(range(10))
CHOICE, SELECTION = Exponential.of(1, NANO), Selection(1, NANO, Fraction(1, 10**6))
PRIOR = Refinement.statistical(uniform(0, 1), NANO)
WORKS = (
    Work("staircase, one number", "one", "dp_sum(i, 1, 1)", 1, released(COUNT)),
    Work("staircase, one DOUBLE", "double", "dp_sum(i::DOUBLE, 1.5::DOUBLE, 1)", 1, released(COUNT)),
    Work("staircase, 3 jointly", "three", "dp_release([i, i, i], [1, 10, 100], 1)[1]", 3, released(THREE)),
    Work(
        "staircase, 10 jointly",
        "ten",
        "dp_release([i, i, i, i, i, i, i, i, i, i], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 1)[1]",
        10,
        released(Staircase.best(TEN, NANO)),
    ),
    Work("Laplace", "laplace", "dp_laplace(i, 1, 1)", 1, released(Laplace.best((1,), NANO))),
    Work("Gaussian", "gaussian", "dp_gaussian(i, 1, 0.5)", 1, released(Gaussian.best((1,), NANO // 2))),
    Work(
        "refinement of a uniform prior",
        "refinement",
        "dp_refine(i / 1e6, 'uniform(0, 1)', 1, 'statistical')",
        1,
        lambda: PRIOR.release(0.5),
    ),
    Work(
        "exponential, one of 10",
        "exponential",
        "dp_choose([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 10, 1, 1)",
        1,
        lambda: CHOICE.choose(SCORES),
    ),
    Work(
        "selection of a group", "selection", "dp_select(i % 40, 1, 1, 1e-6)", 1, lambda: SELECTION.keep([20])
    ),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement of all libraries; None where a library has no such thing or was not asked."""

    what: str
    unit: str
    ours: float
    peers: tuple[float | None, ...]
    target: str = ""
    met: bool = True


def rates(peers: dict[str, dict[str, float]], *, small: bool) -> Iterator[Measured]:
    """The fastest of some runs, by the processor time of all threads: what else runs on the machine does not count."""
    rows = 20_000 if small else 1_000_000
    with duckdb.connect() as connection:
        udfs.register(connection, Pool())
        for work in WORKS:
            sql = work.sql(rows // work.values)
            fastest = min(processor(connection, sql) for _ in range(2 if small else 5))
            rate = rows // work.values * work.values / fastest
            others = tuple(peers.get(work.key, {}).get(name) for name in PEERS)
            met = rate >= LEAST_RATE
            yield Measured(
                f"{work.name}, from SQL", "values/s", rate, others, f">= {shown(LEAST_RATE, 'values/s')}", met
            )


def processor(connection: duckdb.DuckDBPyConnection, sql: str) -> float:
    """Seconds of processor time of a statement."""
    begun = time.process_time()
    connection.sql(sql).fetchall()
    return time.process_time() - begun


def singles(peers: dict[str, dict[str, float]], *, small: bool) -> Iterator[Measured]:
    """Medians of single releases in Python."""
    for work in WORKS:
        yield single(f"{work.name}, one release", work.once, peers.get(work.key, {}), small=small)
    yield single(
        "staircase, one number, not drawn ahead", lambda: COUNT.draw(1), peers.get("one", {}), small=small
    )


def single(what: str, call: Callable[[], object], peers: dict[str, float], *, small: bool) -> Measured:
    call()
    median = float(np.median([timed(call) for _ in range(100 if small else 5000)])) * 1000
    others = tuple(peers.get(name) for name in PEERS)
    return Measured(what, "us", median, others, f"<= {MOST_MICROSECONDS:g} us", median <= MOST_MICROSECONDS)


def correlation(draw: Callable[[], object], calls: int) -> float:
    """Spearman's rank correlation of the time of a draw and the size of its noise."""
    times, sizes = [], []
    for _ in range(calls):
        begun = time.perf_counter()
        drawn = draw()
        times.append(time.perf_counter() - begun)
        sizes.append(abs(int(np.asarray(drawn).ravel()[0])))
    return float(spearmanr(times, sizes).statistic)


def correlations(peers: dict[str, float], *, small: bool) -> Iterator[Measured]:
    """Noise of scale 1000; no correlation at all stays within 5 / sqrt(calls) but for 1 run in 1.7 million."""
    mechanism, pool = Staircase.best((1000,), NANO), Pool()
    calls = 500 if small else 20_000
    others = tuple(peers.get(name) for name in PEERS)
    most = 5 / calls**0.5
    for what, beside, draw in (
        ("one release", others, lambda: release([0], mechanism, pool)),
        ("not drawn ahead", others, lambda: mechanism.draw(1)),
    ):
        found = correlation(draw, calls)
        name = f"time and size of the noise, {what}"
        yield Measured(name, "Spearman", found, beside, f"within {most:.3f}", abs(found) <= most)
    pool.close()


def asked(python: Path | None, request: dict[str, object]) -> dict[str, dict[str, dict[str, float]]]:
    """What the peers answer; nothing where there is no environment with them."""
    if python is None:
        return {}
    script = Path(__file__).with_name("peers.py")
    done = subprocess.run(
        [str(python), str(script)], input=json.dumps(request), capture_output=True, text=True, check=True
    )
    answer: dict[str, dict[str, dict[str, float]]] = json.loads(done.stdout)
    return answer


def measure(python: Path | None, *, small: bool) -> Iterator[Measured]:
    """Every line of the section."""
    size = {"count": 2000, "calls": 100} if small else {"count": 200_000, "calls": 5000}
    peers = asked(python, {"speed": size})
    yield from rates(peers.get("rates", {}), small=small)
    yield from singles(peers.get("microseconds", {}), small=small)
    yield from correlations(peers.get("spearman", {}), small=small)


def rows(measured: Sequence[Measured]) -> list[list[str]]:
    """Cells of a table, its head first."""
    head = ["", "udfs", *PEERS, "target"]
    return [
        head,
        *([m.what, *(shown(x, m.unit) for x in (m.ours, *m.peers)), target(m)] for m in measured),
    ]


def shown(value: float | None, unit: str) -> str:
    """With its unit; rates in thousands."""
    if value is None:
        return ""
    match unit:
        case "values/s":
            return f"{value / 1000:,.0f} k/s"
        case "Spearman":
            return f"{value:+.3f}"
        case _:
            return f"{number(value)} {unit}"


def target(measured: Measured) -> str:
    """What was to be reached, and whether it was missed."""
    return measured.target + ("" if measured.met else ", missed")


def as_json(measured: Sequence[Measured]) -> list[dict[str, object]]:
    """For a file that later runs are compared with."""
    return [asdict(m) for m in measured]
