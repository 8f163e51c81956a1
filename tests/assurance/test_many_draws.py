"""Attack: many draws of one question, from both sides, and the best event that tells them apart.

A table of many declared groups that all hold the same rows gives that many independent draws in one statement. On
the other side every group holds one more row, the worst one. The lower bound of ``udfs.audit`` must stay below the
statement's epsilon.

False alarm: 1 in 1,000 audits, or 1 in 1,000,000 as a test asks anew when it fails. Power: the bound of a count is
above 0.8 (15,000 draws a side), so a mechanism that spent 1.25 times what it says would fail.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.assurance.raw import Raw
from tests.proxies import Proxy, serving, write_home
from udfs.audit import Finding, audit

GROUPS = 5000
ROWS = 40
RUNS = 3
POLICY = f"""
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 1000;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN BETWEEN 1 AND {GROUPS};
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 1;
CREATE PRIVACY BUDGET b LIMIT EPSILON 1000 DEFAULT EPSILON 1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
Sample = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Proxy]]:
    folder = tmp_path_factory.mktemp("audit")
    with (
        serving(home(folder / "without", more=False)) as left,
        serving(home(folder / "with", more=True)) as right,
    ):
        yield left, right


def home(folder: Path, *, more: bool) -> Path:
    ddl = [
        "CREATE TABLE t (k INTEGER, x INTEGER, y DOUBLE)",
        f"INSERT INTO t SELECT 1 + i % {GROUPS}, 50, 0.5 FROM range({GROUPS * ROWS}) AS r(i)",
        *([f"INSERT INTO t SELECT 1 + i, 100, 1.0 FROM range({GROUPS}) AS r(i)"] if more else []),
    ]
    return write_home(folder, ddl, POLICY)


def sample(proxy: Proxy, aggregates: str, run: int) -> Sample:
    return np.concatenate([draws(proxy, aggregates, RUNS * run + n) for n in range(RUNS)])


def draws(proxy: Proxy, aggregates: str, run: int) -> Sample:
    """One row for each group, one column for each aggregate; each run is another question."""
    where = f"WHERE k > {-run}"
    with Raw(proxy, "ann") as connection:
        connection.query("SET dp.clamp = off")
        told = connection.query(f"SELECT {aggregates} FROM t {where} GROUP BY k")
    return np.array([[float(v or b"nan") for v in m.values()] for m in told if m.kind == "D"])


QUESTIONS = {"count(*)": 1, "count(*), sum(x)": 2, "count(*), sum(y), sum(x)": 3, "avg(x)": 1}


def worst(sides: tuple[Proxy, Proxy], aggregates: str, run: int) -> Finding:
    left, right = (sample(side, aggregates, run) for side in sides)
    assert left.shape == right.shape == (RUNS * GROUPS, QUESTIONS[aggregates])
    assert not np.isnan(left).any()
    return max(audit(left, right), key=lambda found: found.bound)


@pytest.mark.statistical
@pytest.mark.parametrize("aggregates", QUESTIONS)
def test_no_event_tells_the_sides_apart_by_more_than_epsilon(sides: tuple[Proxy, Proxy], aggregates: str):
    first = worst(sides, aggregates, 1)
    assert first.bound <= 1 or worst(sides, aggregates, 2).bound <= 1, first


@pytest.mark.statistical
def test_the_audit_would_find_a_quarter_too_much(sides: tuple[Proxy, Proxy]):
    """False alarm: of 100 runs the mean was 0.90, the deviation 0.02: below 1e-6."""
    assert worst(sides, "count(*)", 4).bound > 0.8
