"""Sequelize, Kysely, Django and dlt: a program of each says what it saw, and here it is compared."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import tools
from tests.clients.conftest import CLIENTS
from tests.proxies import Proxy

pytestmark = [pytest.mark.external, pytest.mark.clients, pytest.mark.timeout(600)]
TOWNS = ["Bern", "Oslo", "Rome"]
COLUMNS = ["id int4 false", "age int4 false", "town text true", "income float8 true", "born date true",
           "seen timestamp true", "member bool true", "paid numeric true", "big int8 true"]  # fmt: skip
READ_ONLY = {"code": "0A000", "hint": True}
EXPECTED: dict[str, dict[str, object]] = {
    "sequelize": {
        "tables": ["people", "towns", "visits"],
        "columns": [
            "id INTEGER false true", "age INTEGER false false", "town TEXT true false",
            "income DOUBLE PRECISION true false", "born DATE true false", "seen TIMESTAMP WITHOUT TIME ZONE true false",
            "member BOOLEAN true false", "paid NUMERIC true false", "big BIGINT true false",
        ],
        "indexes": [["people_pkey", True, ["id"]]],
        "references": [["visits_person_fkey", "person", "people"]],
        "count": True,
        "groups": TOWNS,
        "sum": True,
        "average": True,
        "distinct": True,
        "joined": TOWNS,
        "since": True,
        "moment": True,
        "one": {"town": "Oslo", "n": 2, "founded": "1048-01-01", "area": "480.75"},
        "page": [3, ["Oslo", "Rome"]],
        "bound": 2,
        "replaced": 2,
        "block": 3,
        "rows": {"code": "42501", "hint": True},
        "missing": {"code": "42P01", "hint": True},
        "kept": "it is there",
        "made": READ_ONLY,
        "written": READ_ONLY,
    },
    "kysely": {
        "kTables": [["people", False], ["people_open", True], ["spent", True], ["towns", False], ["visits", False]],
        "kColumns": COLUMNS,
        "kSchemas": True,
        "kGroups": TOWNS,
        "kParameters": True,
        "kJoined": TOWNS,
        "kFilter": True,
        "kHaving": 3,
        "kTown": [2, "480.75", True],
        "kWith": [1, 2, 3],
        "kRaw": 3,
        "kBlock": 3,
        "kRows": {"code": "42501", "hint": True},
        "kMade": READ_ONLY,
        "kWritten": READ_ONLY,
    },
    "django": {
        "tables": [["people", "t"], ["people_open", "v"], ["spent", "v"], ["towns", "t"], ["visits", "t"]],
        "relations": {"person": ["id", "people"]},
        "keys": ["people_pkey"],
        "checks": 8,
        "inspected": ["People", "PeopleOpen", "Spent", "Towns"],
        "uninspected": ["Unable to inspect table 'visits'"],
        "count": True,
        "filtered": True,
        "either": True,
        "groups": TOWNS,
        "aggregate": ["age__avg", "age__stddev", "age__sum", "id__count"],
        "mean": True,
        "distinct": True,
        "filter": True,
        "joined": TOWNS,
        "through": True,
        "years": [1950, 1951, 1952],
        "months": 12,
        "moments": ["2020-01-01 00:00:00"],
        "since": True,
        "having": 3,
        "like": True,
        "exists": True,
        "exists where": "42501",
        "public exists": [True, False],
        "public": [["Bern", 1], ["Oslo", 2], ["Rome", 3]],
        "one": "480.75",
        "expression": [2, 4, 6],
        "raw": [2, 3],
        "iterated": TOWNS,
        "block": 3,
        "rows": "42501",
        "saved": "0A000",
        "deleted": "0A000",
        "migrated": "0A000",
        "priced": True,
    },
    "dlt": {
        "tables": {
            "people": [
                "id bigint", "age bigint", "town text", "income None", "born date", "seen timestamp", "member bool",
                "paid decimal", "big bigint",
            ],
            "towns": [
                "town text", "n bigint", "size None", "founded date", "seen timestamp", "area decimal", "capital bool",
            ],
            "visits": ["person bigint", "cost bigint"],
        },
        "public": [["Bern", 1, "51.60", "1191-01-01"], ["Oslo", 2, "480.75", "1048-01-01"], ["Rome", 3, None, None]],
        "again": [[3]],
        "view": [[True, True]],
        "protected view": [[True, True, True]],
        "grouped": [[town, True, True] for town in TOWNS],
        "incremental": ["Oslo", "Rome"],
        "rows": ["42501", True],
        "missing": ["42P01", True],
    },
}  # fmt: skip
"""Over PostgreSQL too, Sequelize lists no views, and dlt has no name for what SQLAlchemy calls DOUBLE PRECISION."""
FIELDS = {
    "age = models.IntegerField(db_comment='DOMAIN BETWEEN 0 AND 110 OUTSIDE CLAMP')",
    "area = models.DecimalField(max_digits=8, decimal_places=2, blank=True, null=True)",
    "town = models.TextField(primary_key=True)",
    "n = models.BigIntegerField(blank=True, null=True)",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """One with a protected view."""
    with tools.proxy(tmp_path_factory.mktemp("orm-world")) as found:
        yield found


@pytest.fixture(scope="module")
def see(world: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], dict[str, Any]]:
    """Run a program beside this file; skips where the clients are not installed, unless this is CI."""
    seen: dict[str, dict[str, Any]] = {}

    def run(command: str, program: str) -> dict[str, Any]:
        if not (CLIENTS / "ready").exists():
            assert not os.environ.get("CI"), "the clients are to be installed: make clients"
            pytest.skip("the clients are not installed: make clients")
        if program not in seen:
            home, modules = tmp_path_factory.mktemp("orm-home"), CLIENTS / "node_modules"
            environment = {**world.environment(), "NODE_PATH": str(modules), "HOME": str(home)}
            done = subprocess.run(
                [command, str(Path(__file__).with_name(program))],
                env=environment, cwd=home, capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            seen[program] = json.loads(done.stdout)
        return seen[program]

    return run


def checked(seen: dict[str, Any], what: str, client: str) -> None:
    assert seen[what] == EXPECTED[client][what]


@pytest.mark.parametrize("what", EXPECTED["sequelize"])
def test_sequelize(see: Callable[..., dict[str, Any]], program: Callable[[str, str], str], what: str):
    checked(see(program("node", "nodejs"), "orm_clients.js"), what, "sequelize")


@pytest.mark.parametrize("what", EXPECTED["kysely"])
def test_kysely(see: Callable[..., dict[str, Any]], program: Callable[[str, str], str], what: str):
    checked(see(program("node", "nodejs"), "orm_clients.js"), what, "kysely")


@pytest.mark.parametrize("what", EXPECTED["django"])
def test_django(see: Callable[..., dict[str, Any]], what: str):
    checked(see(str(CLIENTS / "bin" / "python"), "django_client.py"), what, "django")


def test_the_models_that_django_writes(see: Callable[..., dict[str, Any]]):
    assert set(see(str(CLIENTS / "bin" / "python"), "django_client.py")["fields"]) >= FIELDS


@pytest.mark.parametrize("what", EXPECTED["dlt"])
def test_dlt(see: Callable[..., dict[str, Any]], what: str):
    checked(see(str(CLIENTS / "bin" / "python"), "dlt_client.py"), what, "dlt")
