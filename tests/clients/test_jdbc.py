"""pgjdbc, the driver of DBeaver, Metabase and Tableau: a Java program says what it saw, and here it is compared."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dpproxy.pgcatalog.tables.functions import functions
from tests.clients.conftest import SLOW
from tests.proxies import Proxy

pytestmark = pytest.mark.external
DRIVER = Path("/usr/share/java/postgresql.jar")
EXPECTED = {
    "product": "PostgreSQL 15",
    "catalogs": "main",
    "schemas": "dp;information_schema;pg_catalog;public",
    "tables": "people,TABLE;towns,TABLE;visits,TABLE;spent,VIEW",
    "columns": (
        "id,int4,4,10,NO;age,int4,4,10,NO;town,text,12,2147483647,YES;income,float8,8,17,YES;born,date,91,13,YES;"
        "seen,timestamp,93,29,YES;member,bool,-7,1,YES;paid,numeric,2,10,YES;big,int8,-5,19,YES"
    ),
    "keys": "id,people_pkey",
    "imported": "people,id,person,visits_person_fkey,people_pkey",
    "exported": "visits,person,1",
    "indices": "people_pkey,f,id,1",
    "best row": "id",
    "types": "true",
    "table types": "true",
    "procedures": "0",
    "functions": str(sum(of.prokind == "f" for of in functions())),
    "user types": "6",
    "privileges": "SELECT;SELECT",
    "column privileges": "63",
    "client info": "1",
    "longest name": "63",
    "parameter": "int4",
    "shape": "town text,n int8,a numeric,s float8",
    "same each time": "1",
    "values": "1",
    "array": "1;3",
    "price": "true",
    "intervals": "n_ci_low,n_ci_high",
    "hinted": "true",
    "set intervals": "3",
    "reported": "true",
    "pages": (
        "Bern,1.5,1191-01-01,2020-01-01 10:00:00,51.60,t;Oslo,2.5,1048-01-01,2020-01-02 10:00:00.25,480.75,t;"
        "Rome,null,null,null,null,null"
    ),
    "most rows": "1",
    "last row": "3",
    "copied": "Bern,1;Oslo,2;Rome,3",
    "refused": "42501 true",
    "after": "1",
    "cancelled": "57014",
    "isolation": "true",
    "where": "main.public true",
    "simple": "Rome",
}


@pytest.fixture(scope="module")
def seen(world: Proxy, program: Callable[[str, str], str]) -> dict[str, str]:
    java = program("java", "default-jdk-headless")
    if not DRIVER.exists():
        assert not os.environ.get("CI"), "the driver is to be installed: libpostgresql-jdbc-java"
        pytest.skip("the driver is not installed: libpostgresql-jdbc-java")
    source = Path(__file__).with_name("Jdbc.java")
    url = f"jdbc:postgresql://127.0.0.1:{world.port}/main"
    done = subprocess.run(
        [java, "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", str(DRIVER), str(source), url, SLOW],
        env=world.environment(), capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("what", EXPECTED)
def test_what_it_saw(seen: dict[str, str], what: str):
    assert seen[what] == EXPECTED[what]


def test_it_is_told_the_price_and_the_guarantee(seen: dict[str, str]):
    assert "privacy unit" in seen["remarks"]
    assert "left in budget research" in seen["warning"]
