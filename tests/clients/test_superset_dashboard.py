"""The dashboard of the compose file in Superset, the real one: opened, filtered and drilled into, and nobody pays.

With WEB_PICTURES=docs/pictures its picture in the documentation is made anew.
"""

import json
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import sync_playwright

from tests.clients import tools
from tests.clients.test_superset import (  # noqa: F401 - a fixture
    by_time,
    context,
    during,
    remaining,
    user,
)
from tests.proxies import PASSWORD, ROOT, Proxy, spawned, write_home
from tests.web.test_browser import CHROMIUM, SWITCHES

pytestmark = [pytest.mark.external, pytest.mark.clients, pytest.mark.timeout(600)]
POLICY = (ROOT / "docker" / "policy" / "10_clinic.sql").read_text()
WORLD = (
    (
        "CREATE TABLE patients AS SELECT CAST(n AS INTEGER) AS patient, CAST(1930 + n * 7 % 85 AS INTEGER) AS born, "
        "['north', 'south', 'east'][1 + n % 3] AS ward FROM range(1, 4001) AS s(n)"
    ),
    (
        "CREATE TABLE visits AS SELECT CAST(n AS INTEGER) AS visit, CAST(1 + n * 13 % 4000 AS INTEGER) AS patient, "
        "['north', 'south', 'east'][1 + n * n % 7 % 3] AS ward, "
        "DATE '2024-01-01' + CAST(n * 37 % 731 AS INTEGER) AS day, "
        "['check', 'injury', 'fever', 'other'][1 + n * 5 % 4] AS reason, CAST(n * 37 % 400 AS INTEGER) AS cost "
        "FROM range(1, 12001) AS s(n)"
    ),
    *(f"ALTER TABLE visits ALTER {name} SET NOT NULL" for name in ("ward", "day", "reason", "cost")),
)
VISITS = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "visits"}
COST = {"expressionType": "SQL", "sqlExpression": "SUM(cost)", "label": "cost"}
MEAN = {"expressionType": "SQL", "sqlExpression": "AVG(cost)", "label": "mean cost"}
CHARTS: dict[str, dict[str, Any]] = {
    "Visits": {"viz_type": "big_number_total", "metric": VISITS},
    "Mean cost": {"viz_type": "big_number_total", "metric": MEAN},
    "Visits by month": {"viz_type": "echarts_timeseries_line", "x_axis": "day", "metrics": [VISITS]},
    "Cost by ward": {"viz_type": "echarts_timeseries_bar", "x_axis": "ward", "metrics": [COST]},
    "Reasons": {"viz_type": "pie", "groupby": ["reason"], "metric": VISITS},
    "Wards and reasons": {
        "viz_type": "table",
        "query_mode": "aggregate",
        "groupby": ["ward", "reason"],
        "metrics": [VISITS, MEAN],
    },
}
QUERIES: tuple[dict[str, object], ...] = (
    {"metrics": [VISITS]},
    {"metrics": [MEAN]},
    {"columns": [by_time("day", "P1M")], "metrics": [VISITS]},
    {"columns": ["ward"], "metrics": [COST]},
    {"columns": ["reason"], "metrics": [VISITS], "orderby": [[VISITS, False]], "row_limit": 3},
    {"columns": ["ward", "reason"], "metrics": [VISITS, MEAN]},
)
"""What the six charts ask."""


def among(column: str, *values: str) -> dict[str, object]:
    return {"col": column, "op": "IN", "val": list(values)}


CLICKS: tuple[dict[str, Any], ...] = (
    during("day", "2024-01-01", "2025-01-01"),
    during("day", "2024-04-01", "2024-07-01"),
    during("day", "2025-03-01", "2025-04-01"),
    {"filters": [among("ward", "north")]},
    {"filters": [among("ward", "north", "east")]},
    {"filters": [among("reason", "fever")]},
    {"filters": [among("reason", "fever", "injury"), among("ward", "south")]},
    {"filters": [{"col": "reason", "op": "NOT IN", "val": ["check"]}]},
    {
        "granularity": "day",
        "filters": [*during("day", "2024-10-01", "2025-10-01")["filters"], among("ward", "east")],
    },
    {
        "granularity": "day",
        "filters": [*during("day", "2024-01-01", "2026-01-01")["filters"], among("reason", "check")],
    },
)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with spawned(write_home(tmp_path_factory.mktemp("dashboard-proxy"), WORLD, POLICY)) as found:
        yield found


@pytest.fixture(scope="module")
def dataset(user: tools.Browser, proxy: Proxy) -> int:  # noqa: F811
    """The table of the charts."""
    uri = f"postgresql+psycopg2://ann:{quote(PASSWORD)}@127.0.0.1:{proxy.port}/main"
    fields = {"database_name": "clinic", "sqlalchemy_uri": uri}
    database = user.get("/api/v1/database/", fields, "POST")["id"]
    named = {"database": database, "schema": "public", "table_name": "visits"}
    return int(user.get("/api/v1/dataset/", named, "POST")["id"])


@pytest.fixture(scope="module")
def board(user: tools.Browser, dataset: int) -> int:  # noqa: F811
    """The dashboard: three charts in a row."""
    made = int(user.get("/api/v1/dashboard/", {"dashboard_title": "Visits of the clinic"}, "POST")["id"])
    places: dict[str, Any] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": ["ROW-0", "ROW-1"], "parents": ["ROOT_ID"]},
    }
    for number, (name, own) in enumerate(CHARTS.items()):
        given = {
            "datasource": f"{dataset}__table", "time_grain_sqla": "P1M", "row_limit": 1000, "adhoc_filters": [], **own,
        }  # fmt: skip
        fields = {
            "slice_name": name,
            "viz_type": own["viz_type"],
            "datasource_type": "table",
            "datasource_id": dataset,
            "params": json.dumps(given),
            "dashboards": [made],
        }
        chart = user.get("/api/v1/chart/", fields, "POST")["id"]
        row = f"ROW-{number // 3}"
        held = places.setdefault(
            row,
            {
                "type": "ROW", "id": row, "children": [], "parents": ["ROOT_ID", "GRID_ID"],
                "meta": {"background": "BACKGROUND_TRANSPARENT"},
            },
        )  # fmt: skip
        key = f"CHART-{number}"
        held["children"].append(key)
        places[key] = {
            "type": "CHART", "id": key, "children": [], "parents": ["ROOT_ID", "GRID_ID", row],
            "meta": {"chartId": chart, "width": 4, "height": 50, "sliceName": name},
        }  # fmt: skip
    user.get(f"/api/v1/dashboard/{made}", {"position_json": json.dumps(places), "published": True}, "PUT")
    return made


@pytest.fixture
def free(proxy: Proxy) -> Iterator[None]:
    """Nothing is paid by the test."""
    before: Decimal = remaining(proxy)
    yield
    assert remaining(proxy) == before


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize("click", [{}, *CLICKS], ids=str)
def test_a_click_on_a_filter_asks_all_charts_for_nothing(
    user: tools.Browser,  # noqa: F811
    dataset: int,
    click: dict[str, Any],
):
    for query in QUERIES:
        found = user.get("/api/v1/chart/data", context(dataset, **query, **click), "POST")["result"][0]
        assert found["error"] is None
        assert found["data"]


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize(("grain", "points"), [("P1M", 12), ("P3M", 4), ("P1Y", 1)])
def test_another_time_grain(user: tools.Browser, dataset: int, grain: str, points: int):  # noqa: F811
    asked = {
        "columns": [by_time("day", grain)],
        "metrics": [VISITS],
        **during("day", "2024-01-01", "2025-01-01"),
    }
    found = user.get("/api/v1/chart/data", context(dataset, **asked), "POST")["result"][0]
    assert len(found["data"]) == points


@pytest.mark.usefixtures("free")
def test_drilling_down(user: tools.Browser, dataset: int):  # noqa: F811
    """From a month to its wards, and from a ward to its reasons."""
    month = during("day", "2024-03-01", "2024-04-01")
    for columns, filters in ((["ward"], []), (["reason"], [among("ward", "north")])):
        click = {**month, "filters": [*month["filters"], *filters]}
        asked = context(dataset, columns=columns, metrics=[VISITS], **click)
        assert user.get("/api/v1/chart/data", asked, "POST")["result"][0]["rowcount"] == len(columns) * (
            4 if filters else 3
        )


@pytest.mark.usefixtures("free")
def test_it_is_opened_in_a_browser(user: tools.Browser, board: int):  # noqa: F811
    if not CHROMIUM.exists():
        assert not os.environ.get("CI"), "Chromium is to be installed: apt-get install chromium"
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        tab = browser.new_context(viewport={"width": 1240, "height": 900}, base_url=user.address).new_page()
        tab.set_default_timeout(120_000)
        tab.goto("/login/")
        tab.fill("#username", "admin")
        tab.fill("#password", "admin")
        tab.keyboard.press("Enter")
        tab.wait_for_url("**/superset/welcome/**")
        tab.goto(f"/superset/dashboard/{board}/?standalone=1")
        for name in CHARTS:
            tab.wait_for_selector(f"text={name} >> nth=0")
        tab.wait_for_function(
            "document.querySelectorAll('[data-test=\"loading-indicator\"], .loading').length === 0"
        )
        tab.wait_for_timeout(3000)  # charts are drawn with a movement
        assert tab.locator("canvas").count() >= 3
        assert tab.locator("text=Unexpected error").count() == 0
        shown = os.environ.get("WEB_PICTURES")
        place = Path(shown or os.devnull).resolve() / "superset_cube.png"
        if shown:
            tab.screenshot(path=place)
            with Image.open(place) as picture:
                picture.convert("RGB").quantize(96).save(place, optimize=True)
        browser.close()
