"""The dashboard of the compose file: six charts over a table whose cube is built, and nobody pays for a click."""

# ruff: noqa: E501 - statements as Superset writes them

from collections.abc import Iterator
from itertools import product

import psycopg
import pytest

from dpproxy.cli.serve import options
from dpproxy.config.configuration import load_config
from dpproxy.config.users import UsersFile, add_user
from dpproxy.engine.databases import open_databases
from dpproxy.server.listener import Server
from tests.postgres import Server as Postgres
from tests.proxies import ROOT

DOCKER = ROOT / "docker"
DAY = "day >= TO_DATE('{}', 'YYYY-MM-DD') AND day < TO_DATE('{}', 'YYYY-MM-DD')"
CHARTS = (
    'SELECT COUNT(*) AS "visits" FROM public.visits {where} LIMIT 50000',
    'SELECT AVG(cost) AS "mean", SUM(cost) AS "cost" FROM public.visits {where} LIMIT 50000',
    """SELECT DATE_TRUNC('{grain}', day) AS day, COUNT(*) AS "visits" FROM public.visits {where} GROUP BY DATE_TRUNC('{grain}', day) ORDER BY "visits" DESC LIMIT 10000""",
    'SELECT ward AS ward, SUM(cost) AS "cost" FROM public.visits {where} GROUP BY ward ORDER BY "cost" DESC LIMIT 100',
    'SELECT reason AS reason, COUNT(*) AS "visits" FROM public.visits {where} GROUP BY reason ORDER BY "visits" DESC LIMIT 2',
    """SELECT DATE_TRUNC('{grain}', day) AS day, ward AS ward, AVG(cost) AS "mean" FROM public.visits {where} GROUP BY DATE_TRUNC('{grain}', day), ward HAVING ((COUNT(*) > 10)) ORDER BY "mean" DESC LIMIT 10000""",
)
RANGES = (
    DAY.format("2024-01-01", "2025-01-01"),
    DAY.format("2024-04-01", "2024-07-01"),
    DAY.format("2025-02-01", "2025-03-01"),
    DAY.format("2024-10-01", "2025-10-01"),
)
CLICKS = (
    "",
    *RANGES,
    "ward = 'north'",
    "ward IN ('north', 'east')",
    f"reason IN ('fever', 'injury') AND {RANGES[0]}",
    f"ward = 'south' AND reason != 'check' AND {RANGES[3]}",
    f"({RANGES[1]}) AND ward IN ('south')",
)
GRAINS = ("month", "quarter", "year")


@pytest.fixture(scope="module")
def dashboards(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection]:
    """As the compose file sets it up: its database, its policy, the role of its Superset."""
    folder, name = tmp_path_factory.mktemp("dashboard"), postgres.database(name="clinic")
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        made = (DOCKER / "postgres" / "10_clinic.sql").read_bytes()
        connection.execute(made.replace(b"dpproxy_reader", b"dashboard_reader"))
    users = folder / "users.toml"
    add_user(users, "dashboards", ["analyst"], "a-long-secret")
    given = {
        "DPPROXY_SERVER_LISTEN": "127.0.0.1:0",
        "DPPROXY_STATE_DIRECTORY": str(folder / "state"),
        "DPPROXY_USERS_FILE": str(users),
        "DPPROXY_DATA_CLINIC_URL": postgres.url(name).replace("postgres@", "dashboard_reader@"),
    }
    config = load_config(DOCKER / "dpproxy.toml", given)
    with (
        open_databases(config, lambda _line: None) as databases,
        Server(options(config), databases, UsersFile(users)).running() as port,
        psycopg.connect(
            f"postgresql://dashboards:a-long-secret@127.0.0.1:{port}/clinic", autocommit=True
        ) as connection,
    ):
        yield connection


def asked(connection: psycopg.Connection, chart: str, click: str, grain: str) -> list[tuple[object, ...]]:
    where = f"WHERE {click}" if click else ""
    return connection.execute(chart.format(where=where, grain=grain).encode()).fetchall()


def test_opening_it_filters_grains_and_drilling_down_cost_nothing(dashboards: psycopg.Connection):
    """Six charts; ten clicks on filters, each of which asks all of them; other grains; one day's ward and reason."""
    dashboards.execute("SET dp.epsilon = 0.2")
    [[before]] = dashboards.execute("SHOW dp.budget_remaining").fetchall()
    assert len(CHARTS) == 6
    assert len(CLICKS) == 10
    for click, chart in product(CLICKS, CHARTS):
        assert asked(dashboards, chart, click, "month")
        [[cost]] = dashboards.execute("SHOW dp.last_cost").fetchall()
        assert cost == "0", (click, chart)
    for grain in GRAINS:
        found = asked(dashboards, CHARTS[2], RANGES[0], grain)
        assert len(found) == {"month": 12, "quarter": 4, "year": 1}[grain]
    drilled = """SELECT ward AS ward, reason AS reason, COUNT(*) AS "visits" FROM public.visits WHERE {where} GROUP BY ward, reason ORDER BY "visits" DESC LIMIT 1000"""
    for month in ("2024-03-01", "2024-04-01"):
        where = f"DATE_TRUNC('month', day) = TO_DATE('{month}', 'YYYY-MM-DD')"
        assert len(dashboards.execute(drilled.format(where=where).encode()).fetchall()) == 12
    assert dashboards.execute("SHOW dp.budget_remaining").fetchall() == [(before,)]


def test_its_figures_agree(dashboards: psycopg.Connection):
    [(total,)] = asked(dashboards, CHARTS[0], RANGES[0], "month")
    months = asked(dashboards, CHARTS[2], RANGES[0], "month")
    assert abs(sum(int(str(n)) for _, n in months) - int(str(total))) <= 6  # each is rounded by itself
    assert 5000 < int(str(total)) < 7000
