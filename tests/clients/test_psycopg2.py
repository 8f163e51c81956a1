"""psycopg2: everything in the simple protocol, with literals in the statement."""

from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal

import psycopg2
import psycopg2.errors
import psycopg2.extras
import pytest

from tests.proxies import Proxy

pytestmark = pytest.mark.external


@pytest.fixture
def connection(proxy: Proxy) -> Iterator["psycopg2.extensions.connection"]:
    with closing(psycopg2.connect(proxy.dsn())) as found:
        yield found


def test_rows_and_names(connection: "psycopg2.extensions.connection"):
    with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute(
            "SELECT town, count(*) AS n, avg(age), sum(income) FROM people GROUP BY town ORDER BY town"
        )
        rows = cursor.fetchall()
    assert [row["town"] for row in rows] == ["north", "south", "west"]
    assert [type(value) for value in rows[0].values()] == [str, int, Decimal, float]


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("age > %s", 30), ("income > %s", 30.5), ("income > %s", Decimal("30.5")), ("town = %s", "it's"),
        ("born > %s", date(1980, 1, 1)), ("seen > %s", datetime(2019, 1, 1)),  # noqa: DTZ001
        ("member = %s", True), ("member = %s", None), ("town IN %s", ("north", "south")),
        ("town = ANY(%s)", ["north", "south"]), ("region = ANY(%s)", [1, 2]), ("age > %s", -5),
        ("town = ANY(%s)", []), ("town <> ALL(%s)", ["north"]), ("town <> ALL(%s::text[])", []),
        ("code = %s", "back\\slash"),
    ],
)  # fmt: skip
def test_literals(connection: "psycopg2.extensions.connection", condition: str, value: object):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM people WHERE {condition}", [value])
        assert isinstance(cursor.fetchone()[0], int)


def test_blocks_and_refusals(connection: "psycopg2.extensions.connection"):
    with connection.cursor() as cursor:
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            cursor.execute("SELECT age FROM people")
        with pytest.raises(psycopg2.errors.InFailedSqlTransaction):
            cursor.execute("SELECT count(*) FROM people")
        connection.rollback()
        cursor.execute("SELECT count(*) FROM people")
        connection.commit()
        assert any("cost" in notice for notice in connection.notices)
