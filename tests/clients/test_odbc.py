"""psqlODBC through pyodbc, the driver of Excel, Power BI and Tableau, also with cursors of the server."""

import os
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal

import pyodbc
import pytest

from tests.clients.conftest import SLOW
from tests.proxies import PASSWORD, Proxy

pytestmark = pytest.mark.external


def address(world: Proxy, more: str) -> str:
    drivers = [name for name in pyodbc.drivers() if name.startswith("PostgreSQL Unicode")]
    if not drivers:
        assert not os.environ.get("CI"), "the driver is to be installed: odbc-postgresql"
        pytest.skip("the driver is not installed: odbc-postgresql")
    place = f"SERVER=127.0.0.1;PORT={world.port};DATABASE=main;UID=ann;PWD={PASSWORD}"
    return f"DRIVER={{{drivers[0]}}};{place};{more}"


@pytest.fixture(params=["", "UseDeclareFetch=1;Fetch=2", "UseServerSidePrepare=0;Protocol=7.4-2"])
def connection(request: pytest.FixtureRequest, world: Proxy) -> Iterator[pyodbc.Connection]:
    with closing(pyodbc.connect(address(world, request.param), timeout=30)) as found:
        yield found


def test_lists_and_describes(connection: pyodbc.Connection):
    cursor = connection.cursor()
    assert connection.getinfo(pyodbc.SQL_DBMS_NAME) == "PostgreSQL"
    assert [(row.table_name, row.table_type) for row in cursor.tables(schema="public")] == [
        ("people", "TABLE"), ("spent", "VIEW"), ("towns", "TABLE"), ("visits", "TABLE"),
    ]  # fmt: skip
    assert [(row.column_name, row.type_name, row.nullable) for row in cursor.columns("people")] == [
        ("id", "int4", 0), ("age", "int4", 0), ("town", "text", 1), ("income", "float8", 1), ("born", "date", 1),
        ("seen", "timestamp", 1), ("member", "bool", 1), ("paid", "numeric", 1), ("big", "int8", 1),
    ]  # fmt: skip
    assert [(row.column_name, row.pk_name) for row in cursor.primaryKeys("people")] == [("id", "people_pkey")]
    keys = [(row.fkcolumn_name, row.pktable_name) for row in cursor.foreignKeys(foreignTable="visits")]
    assert keys == [("person", "people")]
    assert "people_pkey" in [row.index_name for row in cursor.statistics("people").fetchall()]
    assert {"avg", "lower", "median"} <= {row.procedure_name for row in cursor.procedures().fetchall()}
    assert len(cursor.getTypeInfo().fetchall()) > 10
    assert cursor.columns("salaries").fetchall() == []


def test_queries_with_parameters(connection: pyodbc.Connection):
    cursor = connection.cursor()
    asked = "SELECT town, count(*) AS n, avg(age), sum(income) FROM people WHERE age > ? AND town <> ? GROUP BY town"
    rows = cursor.execute(asked, 30, "Oslo").fetchall()
    assert [row.town for row in rows] == ["Bern", "Rome"]
    assert [type(value) for value in rows[0]] == [str, int, Decimal, float]
    for condition, value in (
        ("born > ?", date(1951, 1, 1)), ("seen > ?", datetime(2019, 1, 1)), ("income < ?", 700.5),  # noqa: DTZ001
        ("paid < ?", Decimal("10.25")), ("member = ?", True), ("big > ?", 2**40), ("town = ?", "it's"),
    ):  # fmt: skip
        assert cursor.execute(f"SELECT count(*) FROM people WHERE {condition}", value).fetchone()


def test_pages_of_public_rows(connection: pyodbc.Connection):
    cursor = connection.cursor()
    cursor.execute("SELECT * FROM towns ORDER BY n")
    assert [item[0] for item in cursor.description] == [
        "town",
        "n",
        "size",
        "founded",
        "seen",
        "area",
        "capital",
    ]
    first = cursor.fetchmany(2)
    assert (first[1].town, first[1].founded, first[1].area) == ("Oslo", date(1048, 1, 1), Decimal("480.75"))
    assert first[1].seen == datetime(2020, 1, 2, 10, 0, 0, 250000)  # noqa: DTZ001
    assert [tuple(row) for row in cursor.fetchall()] == [("Rome", 3, None, None, None, None, None)]


def test_what_is_refused_leaves_the_transaction_usable(connection: pyodbc.Connection):
    cursor = connection.cursor()
    with pytest.raises(pyodbc.Error) as caught:
        cursor.execute("SELECT age FROM people").fetchall()
    assert "rows are not shown" in str(caught.value)
    connection.rollback()
    assert cursor.execute("SELECT 1").fetchone()[0] == 1
    connection.commit()


def test_cancelled(connection: pyodbc.Connection):
    cursor = connection.cursor()
    timer = threading.Timer(0.5, cursor.cancel)
    timer.start()
    with pytest.raises(pyodbc.Error):
        cursor.execute(SLOW).fetchall()
    timer.join()
    connection.rollback()
    assert cursor.execute("SELECT n FROM towns WHERE town = ?", "Rome").fetchone()[0] == 3
