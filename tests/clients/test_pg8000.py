"""pg8000: pure Python, unnamed statements in text."""

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO

import pg8000.dbapi
import pg8000.native
import pytest

from tests.proxies import PASSWORD, Proxy

pytestmark = pytest.mark.external


@pytest.fixture
def connection(world: Proxy) -> Iterator[pg8000.native.Connection]:
    with pg8000.native.Connection(
        "ann", host="127.0.0.1", port=world.port, database="main", password=PASSWORD, timeout=60
    ) as found:
        yield found


def test_queries_with_parameters(connection: pg8000.native.Connection):
    rows = connection.run(
        "SELECT town, count(*), avg(age), sum(income) FROM people WHERE age > :least AND town <> :town GROUP BY town",
        least=20, town="Rome",
    )  # fmt: skip
    assert [row[0] for row in rows] == ["Bern", "Oslo"]
    assert [type(value) for value in rows[0]] == [str, int, Decimal, float]
    assert [column["name"] for column in connection.columns] == ["town", "count", "avg", "sum"]
    for value in (date(1951, 1, 1), datetime(1951, 1, 1)):  # noqa: DTZ001
        assert connection.run("SELECT count(*) FROM people WHERE born > :value", value=value)
    assert connection.run("SELECT town FROM towns WHERE town = ANY(:towns) ORDER BY n", towns=["Bern", "Rome"]) == [
        ["Bern"], ["Rome"],
    ]  # fmt: skip


def test_types_of_public_rows(connection: pg8000.native.Connection):
    assert connection.run("SELECT * FROM towns ORDER BY n")[1:] == [
        ["Oslo", 2, 2.5, date(1048, 1, 1), datetime(2020, 1, 2, 10, 0, 0, 250000), Decimal("480.75"), True],  # noqa: DTZ001
        ["Rome", 3, None, None, None, None, None],
    ]


def test_prepared(connection: pg8000.native.Connection):
    statement = connection.prepare("SELECT town FROM towns WHERE n = :n")
    assert [statement.run(n=n) for n in (1, 2, 9)] == [[["Bern"]], [["Oslo"]], []]
    statement.close()


def test_blocks_pages_and_refusals(connection: pg8000.native.Connection):
    connection.run("START TRANSACTION")
    connection.run("DECLARE pages CURSOR FOR SELECT town FROM towns ORDER BY n")
    assert connection.run("FETCH 2 FROM pages") == [["Bern"], ["Oslo"]]
    assert connection.run("FETCH 2 FROM pages") == [["Rome"]]
    with pytest.raises(pg8000.native.DatabaseError) as caught:
        connection.run("SELECT age FROM people")
    assert (caught.value.args[0]["C"], "H" in caught.value.args[0]) == ("42501", True)
    connection.run("ROLLBACK")
    connection.run("SELECT count(*) FROM visits WHERE cost > 3")
    notice = next(n for n in connection.notices if b"cost" in n[b"M"])
    assert b"cost 1 epsilon" in notice[b"M"]
    assert b"D" in notice


def test_copies_out(connection: pg8000.native.Connection):
    copied = BytesIO()
    connection.run("COPY (SELECT town, n FROM towns ORDER BY n) TO STDOUT WITH (FORMAT csv)", stream=copied)
    assert copied.getvalue() == b"Bern,1\nOslo,2\nRome,3\n"


def test_the_interface_of_python(world: Proxy):
    with pg8000.dbapi.connect(
        "ann", host="127.0.0.1", port=world.port, database="main", password=PASSWORD
    ) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT town, count(*) AS n FROM people WHERE age < %s GROUP BY town", (50,))
        assert [item[0] for item in cursor.description] == ["town", "n"]
        assert len(cursor.fetchmany(2)) == 2
        assert len(cursor.fetchall()) == 1
        connection.rollback()
