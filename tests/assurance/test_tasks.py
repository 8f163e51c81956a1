"""Ten questions of an analyst, decided by what is answered: the right conclusion, or that nobody can tell.

Whoever reads the bounds beside the values draws a wrong one in 5 % of the draws at most. What is large is told at
epsilon 1, and what is not there is told by nobody.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec import Struct
from scipy.stats import binom

from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from tests.proxies import started, write_home

pytestmark = [pytest.mark.statistical, pytest.mark.whole]
ANN = Caller("ann", frozenset({"analyst"}), "tasks")
DRAWS = 25
WRONG = int(binom.isf(1e-7, DRAWS, 0.05))
"""Of so many draws are wrong less than once in 10**7 times, where 5 % are."""
COLUMNS = """
i AS patient, i // 2 AS j,
CASE WHEN j % 10 < 5 THEN 'surgery' WHEN j % 10 < 8 THEN 'heart' ELSE 'eyes' END AS ward,
CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
(hash(j + 4) % 1000 + CASE WHEN j % 10 < 5 THEN 900 ELSE 0 END)::INTEGER AS cost,
(20 + cost // 40 + hash(i + 1) % 20)::INTEGER AS age,
2023 + (hash(i + 2) % 5 > 1)::INTEGER AS year,
(1 + i % 12)::INTEGER AS month,
hash(i + 5) % 10 < 4 AS urgent,
CASE WHEN hash(i + 6) % 4 = 0 THEN 7 ELSE (hash(i + 7) % 2000)::INTEGER END AS code,
(hash(i + 8) % 20 + CASE WHEN j % 10 < 5 THEN 8 ELSE 0 END)::INTEGER AS days
"""
"""Both sexes cost the same, and all months have as many stays."""
DDL = (f"CREATE TABLE stays AS SELECT {COLUMNS} FROM range(12000) AS r(i)",)
POLICY = """
ALTER TABLE stays SET PRIVACY KEY (patient);
ALTER TABLE stays SET PRIVACY CEILING EPSILON 100000;
ALTER TABLE stays ALTER COLUMN ward SET PRIVACY DOMAIN IN ('surgery', 'heart', 'eyes', 'burns');
ALTER TABLE stays ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE stays ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110;
ALTER TABLE stays ALTER COLUMN year SET PRIVACY DOMAIN IN (2023, 2024);
ALTER TABLE stays ALTER COLUMN month SET PRIVACY DOMAIN BETWEEN 1 AND 12;
ALTER TABLE stays ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 2000;
ALTER TABLE stays ALTER COLUMN urgent SET PRIVACY DOMAIN IN (true, false);
ALTER TABLE stays ALTER COLUMN code SET PRIVACY DOMAIN BETWEEN 0 AND 1999;
ALTER TABLE stays ALTER COLUMN days SET PRIVACY DOMAIN BETWEEN 0 AND 30;
CREATE PRIVACY BUDGET b LIMIT EPSILON 100000;
GRANT SELECT ON stays TO analyst WITH PRIVACY BUDGET b;
"""
Rows = Sequence[Sequence[object]]
CANNOT_TELL = "cannot tell"


def number(value: object) -> float:
    return float(str(value))


def largest(rows: Rows) -> str:
    """The key, of rows of a key, a value and its bounds, whose value is larger than all others."""
    found = [
        key
        for key, _, low, _ in rows
        if all(number(low) > number(high) for other, _, _, high in rows if other != key)
    ]
    return str(found[0]) if found else CANNOT_TELL


def beyond(mark: float) -> Callable[[Rows], str]:
    """Whether a value with its bounds is above or below a mark."""

    def read(rows: Rows) -> str:
        [[_, low, high]] = rows
        if low is None or high is None:
            return CANNOT_TELL
        return "above" if number(low) > mark else "below" if number(high) < mark else CANNOT_TELL

    return read


def any_row(rows: Rows) -> str:
    return "there" if rows else CANNOT_TELL


class Task(Struct, frozen=True):
    """A question, how its answer is read, what is true, and whether that is told at epsilon 1."""

    sql: str
    read: Callable[[Rows], str]
    truth: str
    told: bool = True


TASKS = {
    "which ward costs most?": Task(
        "SELECT ward, sum(cost) AS v FROM stays GROUP BY ward", largest, "surgery"
    ),
    "did it grow?": Task(
        "SELECT count(*) FILTER (WHERE year = 2024) - count(*) FILTER (WHERE year = 2023) AS v FROM stays",
        beyond(0),
        "above",
    ),
    "is the difference between sexes real?": Task(
        "SELECT sex, avg(cost) AS v FROM stays GROUP BY sex", largest, CANNOT_TELL, told=False
    ),
    "are more than 30 % urgent?": Task(
        "SELECT 100.0 * count_if(urgent) / count(*) AS v FROM stays", beyond(30), "above"
    ),
    "which month has most stays?": Task(
        "SELECT month, count(*) AS v FROM stays GROUP BY month", largest, CANNOT_TELL, told=False
    ),
    "are there more than 500 older than 65?": Task(
        "SELECT count(*) AS v FROM stays WHERE age > 65", beyond(500), "above"
    ),
    "does surgery keep people longer?": Task(
        "SELECT ward, median(days) AS v FROM stays WHERE ward IN ('surgery', 'heart') GROUP BY ward",
        largest,
        "surgery",
    ),
    "do the old cost more?": Task("SELECT corr(cost, age) AS v FROM stays", beyond(0), "above"),
    "which code is most frequent?": Task(
        "SELECT code, count(*) AS v FROM stays GROUP BY code ORDER BY v DESC LIMIT 2",
        largest,
        "7",
        told=False,
    ),
    "was anybody burnt?": Task(
        "SELECT ward, count(*) AS v FROM stays WHERE ward = 'burns' GROUP BY ward HAVING dp.ci_low(count(*)) > 0",
        any_row,
        CANNOT_TELL,
        told=False,
    ),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home: Path = tmp_path_factory.mktemp("tasks")
    with started(write_home(home, DDL, POLICY)) as found:
        found.open(ANN)
        yield found


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("question", TASKS)
def test_conclusions_are_right_or_nobody_can_tell(engine: Engine, question: str, epsilon: str):
    task = TASKS[question]
    chosen = {**DEFAULTS, "dp.epsilon": epsilon, "dp.intervals": "columns", "dp.reuse": "never"}
    prepared = engine.prepare(ANN, task.sql, (), chosen)
    drawn = [task.read(engine.run(Request(ANN, prepared, (), chosen)).rows) for _ in range(DRAWS)]
    wrong = [each for each in drawn if each not in (task.truth, CANNOT_TELL)]
    assert len(wrong) <= WRONG, (question, wrong)
    if task.told and epsilon == "1":
        assert drawn.count(task.truth) >= DRAWS - WRONG, (question, drawn)
