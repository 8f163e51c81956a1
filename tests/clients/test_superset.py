"""Apache Superset, the real one: a user connects it, makes charts and a dashboard, and is told what things cost."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from tests.clients import tools
from tests.ports import free_port
from tests.proxies import PASSWORD, Proxy

pytestmark = [pytest.mark.external, pytest.mark.clients, pytest.mark.timeout(600)]
TOWNS = ["Bern", "Oslo", "Rome"]
COUNT = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "n"}
SAMPLE = "/datasource/samples?datasource_type=table&datasource_id={}&force=true&per_page=10&page=1"
"""What Superset asks for when a dataset is opened."""
Chart = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with tools.proxy(tmp_path_factory.mktemp("superset-proxy")) as found:
        yield found


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tools.Browser]:
    """Who is logged in to a Superset of the tests' own."""
    venv, home = tools.installed(".venv-superset"), tmp_path_factory.mktemp("superset")
    shutil.copy(venv / "home" / "superset.db", home)
    port = free_port()
    environment = {
        **os.environ,
        "SUPERSET_HOME": str(home),
        "SUPERSET_CONFIG_PATH": str(Path(__file__).with_name("superset_config.py")),
    }
    command = [str(venv / "bin" / "gunicorn"), "-k", "gthread", "--threads", "4", "-t", str(tools.WAIT)]
    command += ["-b", f"127.0.0.1:{port}", "superset.app:create_app()"]
    with tools.served(command, environment, home, f"http://127.0.0.1:{port}", "/health") as browser:
        browser.form("/login/", {"username": "admin", "password": "admin"})
        assert browser.get("/api/v1/me/")["result"]["username"] == "admin"
        yield browser


@pytest.fixture(scope="module")
def database(user: tools.Browser, proxy: Proxy) -> int:
    """The proxy, registered."""
    uri = f"postgresql+psycopg2://ann:{quote(PASSWORD)}@127.0.0.1:{proxy.port}/main"
    fields = {"database_name": "proxy", "sqlalchemy_uri": uri}
    assert user.get("/api/v1/database/test_connection/", fields, "POST") == {"message": "OK"}
    return int(user.get("/api/v1/database/", {**fields, "expose_in_sqllab": True}, "POST")["id"])


@pytest.fixture(scope="module")
def datasets(user: tools.Browser, database: int) -> dict[str, int]:
    """What charts are made of: a table, a view, a protected view and a public table."""
    return {
        name: user.get(
            "/api/v1/dataset/", {"database": database, "schema": "public", "table_name": name}, "POST"
        )["id"]
        for name in ("people", "people_open", "spent", "towns")
    }


@pytest.fixture
def chart(user: tools.Browser, datasets: dict[str, int]) -> Chart:
    """The data of a chart, computed anew: Superset's own cache answers nothing."""

    def data(dataset: str, **query: object) -> tuple[int, Any]:
        status, found = user.ask("POST", "/api/v1/chart/data", context(datasets[dataset], **query))
        return status, found["result"][0]["data"] if status == 200 else found["message"]

    return data


def context(dataset: int, **query: object) -> dict[str, object]:
    return {
        "datasource": {"id": dataset, "type": "table"},
        "force": True,
        "queries": [{"columns": [], "metrics": [COUNT], "row_limit": 1000, **query}],
        "result_format": "json",
        "result_type": "full",
    }


def metric(aggregate: str, column: str) -> dict[str, object]:
    return {"expressionType": "SIMPLE", "aggregate": aggregate, "column": {"column_name": column},
            "label": f"{aggregate}({column})"}  # fmt: skip


def by_time(column: str, grain: str) -> dict[str, object]:
    """The axis of a time series."""
    return {"expressionType": "SQL", "sqlExpression": column, "label": column, "columnType": "BASE_AXIS",
            "timeGrain": grain}  # fmt: skip


def during(column: str, first: str, end: str) -> dict[str, object]:
    """A filter on a range of time, as the side bar of a dashboard sends it."""
    return {"granularity": column,
            "filters": [{"col": column, "op": "TEMPORAL_RANGE", "val": f"{first} : {end}"}]}  # fmt: skip


def remaining(proxy: Proxy) -> Decimal:
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        [[left]] = connection.execute("SHOW dp.budget_remaining").fetchall()
    return Decimal(str(left).split()[0])


def test_it_lists_what_there_is(user: tools.Browser, database: int):
    own = f"/api/v1/database/{database}"
    assert sorted(user.get(f"{own}/schemas/")["result"]) == ["dp", "information_schema", "public"]
    tables = user.get(f"{own}/tables/?q=(force:!t,schema_name:public)")["result"]
    assert [(t["value"], t["type"]) for t in tables] == [
        ("people", "table"), ("people_open", "view"), ("spent", "view"), ("towns", "table"), ("visits", "table"),
    ]  # fmt: skip
    people = user.get(f"{own}/table_metadata/?name=people&schema=public")
    assert "privacy unit" in people["comment"]
    columns = {c["name"]: c for c in people["columns"]}
    assert columns["paid"]["longType"] == "NUMERIC(10, 2)"
    assert columns["age"]["comment"].startswith("DOMAIN BETWEEN 0 AND 110")


def test_a_dataset_knows_its_columns(user: tools.Browser, datasets: dict[str, int]):
    found = user.get(f"/api/v1/dataset/{datasets['people']}")["result"]
    assert found["main_dttm_col"] == "born"
    assert {c["column_name"] for c in found["columns"] if c["is_dttm"]} == {"born", "seen"}


def test_groups_metrics_filters_and_a_limit(chart: Chart):
    asked = [COUNT, metric("SUM", "age"), metric("AVG", "income")]
    where = [{"col": "town", "op": "IN", "val": ["Bern", "Oslo"]}, {"col": "age", "op": ">=", "val": 30}]
    status, rows = chart("people", columns=["town"], metrics=asked, filters=where, orderby=[[COUNT, False]])
    assert status == 200
    assert sorted(row["town"] for row in rows) == ["Bern", "Oslo"]
    assert all(200 < row["n"] < 270 and row["SUM(age)"] > 10_000 for row in rows)
    _, rows = chart("people", columns=["town"], row_limit=2)
    assert len(rows) == 2


@pytest.mark.parametrize(("grain", "points"), [("P1Y", 2), ("P1M", 24), ("P1W", 105)])
def test_a_time_series_inside_a_range_of_time(chart: Chart, grain: str, points: int):
    """The world has one birth a day from 1950 on."""
    axis = by_time("born", grain)
    status, rows = chart("people", columns=[axis], **during("born", "1951-01-01", "1953-01-01"))
    assert (status, len(rows)) == (200, points)
    assert sum(row["n"] for row in rows) == pytest.approx(731, abs=300)


def test_a_range_of_timestamps(chart: Chart):
    status, rows = chart("people", columns=["town"], **during("seen", "2019-12-01", "2020-06-01"))
    assert (status, sorted(row["town"] for row in rows)) == (200, TOWNS)
    status, rows = chart(
        "towns", columns=[by_time("seen", "PT1H")], **during("seen", "2020-01-01", "2020-01-03")
    )
    assert (status, len(rows)) == (200, 2)


def test_computed_columns_and_metrics(chart: Chart):
    who = {
        "expressionType": "SQL",
        "sqlExpression": "CASE WHEN age < 50 THEN 'young' ELSE 'old' END",
        "label": "who",
    }
    rate = {"expressionType": "SQL", "sqlExpression": "SUM(income) / COUNT(*)", "label": "rate"}
    status, rows = chart(
        "people", columns=[who], metrics=[rate], extras={"having": "COUNT(*) > 10", "where": "age > 1"}
    )
    assert (status, {row["who"] for row in rows}) == (200, {"young", "old"})


def test_a_protected_view_is_charted_and_shown_for_nothing(
    user: tools.Browser, chart: Chart, proxy: Proxy, datasets: dict[str, int]
):
    before = remaining(proxy)
    status, rows = chart("people_open", columns=["town"], metrics=[COUNT, metric("AVG", "age")])
    assert (status, sorted(row["town"] for row in rows)) == (200, TOWNS)
    status, rows = chart("people_open", columns=["town", "age"], metrics=None, row_limit=5)
    assert (status, len(rows)) == (200, 5)
    sample = SAMPLE.format(datasets["people_open"])
    assert user.get(sample, {}, "POST")["result"]["rowcount"] == 10
    assert remaining(proxy) == before


def test_rows_are_refused_in_our_words(user: tools.Browser, chart: Chart, datasets: dict[str, int]):
    status, told = chart("people", columns=["age", "town"], metrics=None)
    assert status == 400
    assert "rows are not shown" in told
    assert "HINT:  Protected view people_open answers it" in told
    sample = SAMPLE.format(datasets["people"])
    status, found = user.ask("POST", sample, {})
    assert status == 422
    assert "HINT:  SELECT count(*) FROM people;" in found["error"]


def test_values_of_a_filter(user: tools.Browser, datasets: dict[str, int]):
    """The keys follow from the policy: nothing is asked of the data."""
    assert user.get(f"/api/v1/datasource/table/{datasets['people']}/column/town/values/")["result"] == TOWNS


def lab(user: tools.Browser, database: int, sql: str) -> tuple[int, Any]:
    fields = {
        "database_id": database,
        "sql": sql,
        "schema": "public",
        "runAsync": False,
        "queryLimit": 100,
        "tab": "x",
    }
    return user.ask("POST", "/api/v1/sqllab/execute/", fields)


def test_sql_lab(user: tools.Browser, database: int):
    status, found = lab(user, database, "SELECT town, count(*) AS n, avg(age) FROM people GROUP BY town")
    assert status == 200
    assert [row["town"] for row in found["data"]] == TOWNS
    assert [c["type"] for c in found["columns"]] == ["STRING", "LONGINTEGER", "DECIMAL"]
    status, found = lab(
        user, database, "SET dp.epsilon = 0.5; SELECT town, count(*) FROM people WHERE age > 3 GROUP BY 1"
    )
    assert (status, len(found["data"])) == (200, 3)
    status, found = lab(user, database, "SELECT budget, remaining FROM dp.budgets")
    assert (status, found["data"][0]["budget"]) == (200, "research")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT * FROM people", "rows of a protected table are not shown"),
        ("SELECT * FROM salaries", "salaries"),
        ("SELECT count(nothing) FROM people", "nothing"),
        ("EXPLAIN ANALYZE SELECT count(*) FROM people", "EXPLAIN (PRIVACY)"),
    ],
)
def test_sql_lab_tells_errors(user: tools.Browser, database: int, sql: str, told: str):
    status, found = lab(user, database, sql)
    assert status >= 400
    assert told in json.dumps(found)


def test_what_a_query_would_cost(user: tools.Browser, database: int, proxy: Proxy):
    before = remaining(proxy)
    asked = {
        "database_id": database,
        "sql": "SELECT count(*) FROM people WHERE age > 41",
        "schema": "public",
        "template_params": {},
    }
    assert "result" in user.get("/api/v1/sqllab/estimate/", asked, "POST")
    status, found = lab(user, database, "EXPLAIN (PRIVACY) SELECT count(*) FROM people WHERE age > 41")
    assert (status, found["data"][0]["QUERY PLAN"]) == (200, "Price: epsilon 1")
    assert remaining(proxy) == before


def test_a_dashboard_is_refreshed_for_nothing(user: tools.Browser, datasets: dict[str, int], proxy: Proxy):
    board = user.get("/api/v1/dashboard/", {"dashboard_title": "People"}, "POST")["id"]
    queries = {
        "By town": context(datasets["people"], columns=["town"], metrics=[COUNT, metric("AVG", "age")]),
        "Total": context(datasets["people"], metrics=[metric("SUM", "income")]),
        "Births": context(
            datasets["people"], columns=[by_time("born", "P1Y")], **during("born", "1950-01-01", "1953-01-01")
        ),
        "Members": context(
            datasets["people"], columns=["member"], filters=[{"col": "age", "op": ">", "val": 60}]
        ),
    }
    for name, query in queries.items():
        fields = {
            "slice_name": name,
            "viz_type": "table",
            "datasource_type": "table",
            "datasource_id": datasets["people"],
            "params": "{}",
            "query_context": json.dumps(query),
            "dashboards": [board],
        }
        user.get("/api/v1/chart/", fields, "POST")
    charts = user.get(f"/api/v1/dashboard/{board}/charts")["result"]
    assert sorted(c["slice_name"] for c in charts) == sorted(queries)

    def refresh() -> list[object]:
        return [user.get(f"/api/v1/chart/{c['id']}/data/?force=true")["result"][0]["data"] for c in charts]

    before = remaining(proxy)
    first = refresh()
    paid = remaining(proxy)
    assert before - paid >= 2
    assert refresh() == first
    assert remaining(proxy) == paid
