"""Ten tasks of an analyst, with pandas and with psql: is the right conclusion drawn, and none where noise decides?"""

import io
import subprocess
from collections.abc import Callable, Iterator

import pandas as pd
import psycopg
import pytest
import sqlalchemy

from tests.proxies import Proxy, serving, write_home

pytestmark = [pytest.mark.external, pytest.mark.statistical, pytest.mark.whole]
DDL = (
    """CREATE TABLE visits AS SELECT i AS id,
       CASE WHEN i < 6000 THEN 'ER' WHEN i < 14000 THEN 'north' WHEN i < 22003 THEN 'south' ELSE 'west' END AS ward,
       CASE WHEN i < 6000 THEN 300 + i % 400 WHEN i < 22003 THEN 100 + i % 200 ELSE 50 + i % 100 END AS cost,
       (1 + floor(12 * sqrt((i % 6000) / 6000)))::INTEGER AS month, (i % 100)::INTEGER AS age
       FROM range(30000) AS r (i)""",
)
POLICY = """
ALTER TABLE visits SET PRIVACY KEY (id);
ALTER TABLE visits SET PRIVACY CEILING EPSILON 1000;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('ER', 'north', 'south', 'west', 'closed');
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE visits ALTER COLUMN month SET PRIVACY DOMAIN BETWEEN 1 AND 12;
ALTER TABLE visits ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110;
CREATE PRIVACY BUDGET b LIMIT EPSILON 1000;
GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET b;
"""
UNKNOWN = "cannot tell"
Frame = pd.DataFrame
Ask = Callable[[str, str], Frame]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with serving(write_home(tmp_path_factory.mktemp("tasks"), DDL, POLICY)) as found:
        yield found


def settings(epsilon: str) -> list[str]:
    """Intervals so wide that a wrong conclusion is drawn in one run of 10,000 at most."""
    wanted = {
        "dp.epsilon": epsilon,
        "dp.intervals": "columns",
        "dp.confidence": "0.999999",
        "dp.reuse": "never",
    }
    return [f"SET {name} = '{value}'" for name, value in wanted.items()]


@pytest.fixture(params=["pandas", "psql"])
def ask(hospital: Proxy, program: Callable[[str, str], str], request: pytest.FixtureRequest) -> Ask:
    """A statement's rows at an epsilon."""

    def with_pandas(sql: str, epsilon: str) -> Frame:
        engine = sqlalchemy.create_engine(
            "postgresql+psycopg://",
            creator=lambda: psycopg.connect(hospital.dsn(), autocommit=True),
            poolclass=sqlalchemy.NullPool,
        )
        with engine.connect() as connection:
            for each in settings(epsilon):
                connection.exec_driver_sql(each)
            return pd.read_sql(sqlalchemy.text(sql), connection)

    def with_psql(sql: str, epsilon: str) -> Frame:
        commands = [word for each in (*settings(epsilon), sql) for word in ("-c", each)]
        done = subprocess.run(
            [program("psql", "postgresql-client"), "-X", "-q", "--csv", hospital.dsn(), *commands],
            capture_output=True,
            text=True,
            check=True,
        )
        return pd.read_csv(io.StringIO(done.stdout))

    return with_psql if request.param == "psql" else with_pandas


def first(frame: Frame) -> str:
    """Whose value is the largest, if it is beyond all other intervals."""
    if frame.empty or frame[["v_ci_low", "v_ci_high"]].isna().any(axis=None):
        return UNKNOWN
    top = frame.loc[frame["v_ci_low"].astype(float).idxmax()]
    others = frame[frame["key"] != top["key"]]
    return (
        str(top["key"]).removesuffix(".0")
        if float(top["v_ci_low"]) > others["v_ci_high"].astype(float).max()
        else UNKNOWN
    )


def beyond(limit: float) -> Callable[[Frame], str]:
    """On which side of a limit each value is, if no interval has it inside."""

    def judged(frame: Frame) -> str:
        if frame.empty or frame[["v_ci_low", "v_ci_high"]].isna().any(axis=None):
            return UNKNOWN
        above, below = frame["v_ci_low"].astype(float) > limit, frame["v_ci_high"].astype(float) < limit
        return ", ".join(["less", "more"][a] for a in above) if (above | below).all() else UNKNOWN

    return judged


BY_WARD = "FROM visits WHERE ward <> 'closed' GROUP BY ward"
TASKS: dict[str, tuple[str, Callable[[Frame], str], str]] = {
    "which ward costs most": (f"SELECT ward AS key, sum(cost) AS v {BY_WARD}", first, "ER"),
    "which ward costs most for a visit": (f"SELECT ward AS key, avg(cost) AS v {BY_WARD}", first, "ER"),
    "which of two wards that are alike has more visits": (
        "SELECT ward AS key, count(*) AS v FROM visits WHERE ward IN ('north', 'south') GROUP BY ward", first, UNKNOWN,
    ),
    "which of two wards that are alike costs more for a visit": (
        "SELECT ward AS key, avg(cost) AS v FROM visits WHERE ward IN ('north', 'south') GROUP BY ward", first, UNKNOWN,
    ),
    "has the ER more than 5,000 visits": (
        "SELECT count(*) AS v FROM visits WHERE ward = 'ER'", beyond(5000), "more",
    ),
    "is a ward closed": ("SELECT count(*) AS v FROM visits WHERE ward = 'closed'", beyond(200), "less"),
    "which wards have more than 7,000 visits": (
        "SELECT ward AS key, count(*) AS v FROM visits GROUP BY ward HAVING count(*) > 7000", beyond(7000),
        "more, more, more",
    ),
    "which month has most visits to the ER": (
        "SELECT month AS key, count(*) AS v FROM visits WHERE ward = 'ER' GROUP BY month ORDER BY 2 DESC LIMIT 2",
        first, "12",
    ),
    "are more than 30 % of the ER's patients over 60": (
        "SELECT 100.0 * count_if(age > 60) / count(*) AS v FROM visits WHERE ward = 'ER'", beyond(30), "more",
    ),
    "did a ward cost more than a million": (
        "SELECT sum(cost) AS v FROM visits WHERE ward = 'west'", beyond(1_000_000), "less",
    ),
}  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_the_right_conclusion_is_drawn(ask: Ask, task: str):
    sql, conclude, right = TASKS[task]
    assert conclude(ask(sql, "1")) == right


def test_where_noise_decides_nothing_is_concluded(ask: Ask):
    """At epsilon 0.002 counts are known to 7,000 or so: nearly nothing can be told, and nothing wrong is."""
    found = {task: conclude(ask(sql, "0.002")) for task, (sql, conclude, _) in TASKS.items()}
    assert all(said in (UNKNOWN, TASKS[task][2]) for task, said in found.items()), found
    assert sum(said == UNKNOWN for said in found.values()) >= 8, found
