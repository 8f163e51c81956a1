"""The ten tasks of an analyst in Superset, which shows no notices: bounds reach its users as columns of each answer."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import pandas as pd
import psycopg
import pytest

from tests.clients import tools
from tests.clients.test_superset import COUNT, context, lab, metric, user  # noqa: F401 - a fixture
from tests.clients.test_tasks import TASKS, UNKNOWN, Ask, first, hospital, settings  # noqa: F401 - a fixture
from tests.proxies import PASSWORD, Proxy

pytestmark = [pytest.mark.external, pytest.mark.clients, pytest.mark.timeout(600)]
CALM, NOISY = "1", "0.002"
"""At the second counts are known to 7,000 or so."""


@pytest.fixture(scope="module")
def databases(user: tools.Browser, hospital: Proxy) -> dict[str, int]:  # noqa: F811
    """The proxy as it is registered for each epsilon, with bounds as the default of the analysts' role."""
    with psycopg.connect(hospital.dsn("root"), autocommit=True) as connection:
        connection.execute("ALTER ROLE analyst SET dp.intervals = 'columns'")
    found = {}
    for epsilon in (CALM, NOISY):
        asked = [each.removeprefix("SET ").replace(" = ", "=").replace("'", "") for each in settings(epsilon)]
        given = urlencode(
            {"options": " ".join(f"-c {one}" for one in asked if "dp.intervals" not in one)}, quote_via=quote
        )
        uri = f"postgresql+psycopg2://ann:{quote(PASSWORD)}@127.0.0.1:{hospital.port}/main?{given}"
        fields = {"database_name": f"hospital at {epsilon}", "sqlalchemy_uri": uri, "expose_in_sqllab": True}
        found[epsilon] = int(user.get("/api/v1/database/", fields, "POST")["id"])
    return found


@pytest.fixture
def ask(user: tools.Browser, databases: dict[str, int]) -> Ask:  # noqa: F811
    """A statement's rows in SQL Lab, at an epsilon."""

    def run(sql: str, epsilon: str) -> pd.DataFrame:
        status, found = lab(user, databases[epsilon], sql)
        assert status == 200, found
        return pd.DataFrame(found["data"], columns=[c["column_name"] for c in found["columns"]])

    return run


@pytest.fixture
def chart(user: tools.Browser, databases: dict[str, int]) -> Callable[..., pd.DataFrame]:  # noqa: F811
    """The data of a chart at an epsilon."""
    made: dict[str, int] = {}

    def data(epsilon: str, **query: Any) -> pd.DataFrame:  # noqa: ANN401 - JSON
        if epsilon not in made:
            fields = {"database": databases[epsilon], "schema": "public", "table_name": "visits"}
            made[epsilon] = user.get("/api/v1/dataset/", fields, "POST")["id"]
        found = user.get("/api/v1/chart/data", context(made[epsilon], **query), "POST")
        return pd.DataFrame(found["result"][0]["data"])

    yield data  # type: ignore[misc]
    for each in made.values():
        user.get(f"/api/v1/dataset/{each}", method="DELETE")


@pytest.mark.parametrize("task", TASKS)
def test_the_right_conclusion_is_drawn(ask: Ask, task: str):
    sql, conclude, right = TASKS[task]
    assert conclude(ask(sql, CALM)) == right


def test_where_noise_decides_nothing_is_concluded(ask: Ask):
    found = {task: conclude(ask(sql, NOISY)) for task, (sql, conclude, _) in TASKS.items()}
    assert all(said in (UNKNOWN, TASKS[task][2]) for task, said in found.items()), found
    assert sum(said == UNKNOWN for said in found.values()) >= 8, found


def bound(function: str, aggregate: str) -> dict[str, object]:
    """A metric of its own, as a user writes it."""
    call = f"dp.{function}({aggregate})"
    return {"expressionType": "SQL", "sqlExpression": call, "label": f"v_{function}"}


@pytest.mark.parametrize(("epsilon", "right"), [(CALM, "ER"), (NOISY, UNKNOWN)])
def test_bounds_are_metrics_of_a_chart(chart: Callable[..., pd.DataFrame], epsilon: str, right: str):
    """A chart keeps the columns alone that it asked for: here costs by ward, and what they are between."""
    where = [{"col": "ward", "op": "IN", "val": ["ER", "north", "south", "west"]}]
    metrics = [metric("SUM", "cost"), COUNT, bound("ci_low", "sum(cost)"), bound("ci_high", "sum(cost)")]
    frame = chart(epsilon, columns=["ward"], metrics=metrics, filters=where)
    assert set(frame.columns) == {"ward", "SUM(cost)", "n", "v_ci_low", "v_ci_high"}
    assert first(frame.rename(columns={"ward": "key"})) == right
