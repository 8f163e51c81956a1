"""psycopg 3: text and binary, parameters of every type, prepared, pipelined, cancelled, over TLS."""

import threading
import time
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.proxies import Proxy

pytestmark = pytest.mark.external
ALL = "SELECT town, count(*) AS n, sum(age) AS s, avg(age) AS a, sum(income) AS f FROM people GROUP BY town"


@pytest.fixture
def connection(proxy: Proxy) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(proxy.dsn(), autocommit=True) as found:
        yield found


@pytest.fixture
def beside_towns(world: Proxy) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(world.dsn(), autocommit=True) as found:
        yield found


@pytest.mark.parametrize("binary", [False, True])
def test_values_in_text_and_binary(connection: psycopg.Connection, *, binary: bool):
    rows = connection.execute(ALL, binary=binary).fetchall()
    assert [row[0] for row in rows] == ["north", "south", "west"]
    assert [type(v) for v in rows[0]] == [str, int, int, Decimal, float]
    assert connection.execute(ALL, binary=not binary).fetchall() == rows


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("age > %s", 30), ("age > %s", 2**40), ("income > %s", 30.5), ("income > %s", Decimal("30.50")),
        ("age > %s", Decimal(30)), ("town = %s", "north"), ("town = %s", "nowhere'; --"), ("code LIKE %s", "1%"),
        ("born > %s", date(1980, 1, 1)), ("seen > %s", datetime(2019, 1, 1)),  # noqa: DTZ001
        ("member = %s", True), ("member = %s", None), ("age > %s", None), ("big > %s", -(2**50)),
        ("age > %s", 32767), ("age > %s", 32768)
    ],
)  # fmt: skip
def test_a_parameter_of_each_type(connection: psycopg.Connection, condition: str, value: object):
    for binary in (False, True):
        cursor = connection.execute(f"SELECT count(*) FROM people WHERE {condition}", [value], binary=binary)
        assert isinstance(cursor.fetchone()[0], int)  # type: ignore[index]


def test_lists_in_statements_about_the_catalogue(connection: psycopg.Connection):
    found = connection.execute(
        "SELECT nspname FROM pg_namespace WHERE nspname <> ALL ('{public,pg_toast}')"
        " AND nspname = SOME ('{public,dp,pg_catalog}'::name[]) AND nspname <> ALL (%s) ORDER BY 1",
        [["x"]],
    ).fetchall()
    assert found == [("dp",), ("pg_catalog",)]
    assert connection.execute("SELECT '{pg_class,16}'::regclass[]::oid[], '{}'::oid[]").fetchone() == (
        [1259, 16],
        [],
    )


def test_functions_behind_their_schema(connection: psycopg.Connection):
    sql = (
        "SELECT town, {0}count(*) FILTER (WHERE {0}abs(age) > %s), {0}rank() OVER (ORDER BY town) "
        "FROM people GROUP BY town"
    )
    assert (
        connection.execute(sql.format("pg_catalog."), [30]).fetchall()
        == connection.execute(sql.format(""), [30]).fetchall()
    )
    assert connection.execute("SELECT pg_catalog.lower('A'), pg_catalog.current_schema()").fetchone() == (
        "a",
        "public",
    )
    with pytest.raises(psycopg.errors.UndefinedFunction, match=r"public\.min"):
        connection.execute("SELECT public.min(age) OVER () FROM people")


def test_fetch_first(beside_towns: psycopg.Connection):
    for table in ("towns", "pg_catalog.pg_class", "dp.budgets"):
        every = beside_towns.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall()  # type: ignore[arg-type]
        for end, rows in {
            "FETCH FIRST ROW ONLY": every[:1],
            "OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY": every[1:3],
            "LIMIT ALL OFFSET NULL": every,
        }.items():
            assert beside_towns.execute(f"SELECT * FROM {table} ORDER BY 1 {end}".encode()).fetchall() == rows
        sql = f"SELECT * FROM {table} ORDER BY 1 FETCH FIRST %s ROWS ONLY".encode()
        assert beside_towns.execute(sql, [1]).fetchall() == every[:1]
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="WITH TIES"):
            beside_towns.execute(f"SELECT * FROM {table} FETCH FIRST 1 ROWS WITH TIES".encode())
    assert (
        len(
            beside_towns.execute(
                "SELECT town, count(*) FROM people GROUP BY town OFFSET 1 ROW FETCH FIRST ROW ONLY"
            ).fetchall()
        )
        == 1
    )


def test_joins_in_parentheses(beside_towns: psycopg.Connection):
    own = "ON p.id = v.person"
    inner, towns = f"(people p JOIN visits v {own})", "ON t.town = p.town"
    for plain, grouped in {
        f"people p JOIN visits v {own}": inner,
        f"(SELECT * FROM people p JOIN visits v {own}) AS j": f"{inner} AS j",
        f"towns t JOIN people p {towns} JOIN visits v {own}": f"(towns t JOIN {inner} {towns})",
    }.items():
        first = beside_towns.execute(f"SELECT count(*) FROM {plain}".encode()).fetchall()
        assert beside_towns.execute(f"SELECT count(*) FROM {grouped}".encode()).fetchall() == first
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="a name behind tables"):
        beside_towns.execute("SELECT count(*) FROM (people) AS j")


def test_distinct_beside_every_key(connection: psycopg.Connection):
    sql = "SELECT {}town, member, count(*) FROM people GROUP BY town, member ORDER BY town, member"
    first = connection.execute(sql.format("").encode()).fetchall()
    assert connection.execute(sql.format("DISTINCT ").encode()).fetchall() == first
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="DISTINCT"):
        connection.execute("SELECT DISTINCT town FROM people GROUP BY town, member")


def test_separators(beside_towns: psycopg.Connection):
    listed = beside_towns.execute(
        "SELECT string_agg(town, %s ORDER BY town) FROM towns", [" and "]
    ).fetchone()
    assert " and " in str(listed)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="separator"):
        beside_towns.execute("SELECT string_agg(town, town ORDER BY n) FROM towns")


@pytest.mark.parametrize("values", [["north"], ["north", 'so,"uth', "west"]])
def test_a_list_of_values(connection: psycopg.Connection, values: list[str]):
    marks = ", ".join(["%s"] * len(values))
    written = connection.execute(
        f"SELECT count(*) FROM people WHERE town IN ({marks})".encode(), values
    ).fetchone()
    for kind in ("%s", "%b", "%t"):
        cursor = connection.execute(
            f"SELECT count(*) FROM people WHERE town = ANY({kind})".encode(), [values]
        )
        assert cursor.fetchone() == written
        others = connection.execute(
            f"SELECT count(*) FROM people WHERE town <> ALL({kind}::text[])".encode(), [values]
        ).fetchone()
        assert (
            others
            == connection.execute(
                f"SELECT count(*) FROM people WHERE town NOT IN ({marks})".encode(), values
            ).fetchone()
        )
    none = connection.execute("SELECT count(*) FROM people WHERE town = ANY(%s)", [[]])
    assert none.fetchone() is not None
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="dimension"):
        connection.execute("SELECT count(*) FROM people WHERE town = ANY(%s)", [[["a"], ["b"]]])
    numbers = connection.execute(
        "SELECT count(*) FROM people WHERE age = ANY(%s) AND big > %s", [[30, 31, 300], 5]
    )
    assert numbers.fetchone() is not None


def test_the_same_parameter_is_a_replay(connection: psycopg.Connection):
    ask = "SELECT count(*) FROM people WHERE age > %s AND town = %s"
    first = connection.execute(ask, [44, "north"]).fetchone()
    left = connection.execute("SHOW dp.budget_remaining").fetchone()
    assert connection.execute(ask, [44, "north"], binary=True).fetchone() == first
    assert (
        connection.execute("SELECT count(*) FROM people WHERE age > 44 AND town = 'north'").fetchone()
        == first
    )
    assert connection.execute("SHOW dp.budget_remaining").fetchone() == left


def test_prepared_on_the_server(connection: psycopg.Connection):
    for number in range(8):
        cursor = connection.execute("SELECT count(*) FROM people WHERE age > %s", [number + 50], prepare=True)
        assert cursor.fetchone() is not None
    for number in range(8):  # from the sixth on under a name
        connection.execute("SELECT avg(age) FROM people WHERE age > %s", [number])
    connection.execute("DEALLOCATE ALL")
    assert (
        connection.execute("SELECT count(*) FROM people WHERE age > %s", [50], prepare=True).fetchone()
        is not None
    )


def test_many_executions_and_rows(connection: psycopg.Connection):
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.executemany(
            "SELECT count(*) AS n FROM people WHERE age > %s", [(n,) for n in range(5)], returning=True
        )
        counts = [cursor.fetchone()]
        while cursor.nextset():
            counts.append(cursor.fetchone())
        assert [set(row or {}) for row in counts] == [{"n"}] * 5
        cursor.execute("/*+ dp(empty_groups=show) */ SELECT born, count(*) AS n FROM people GROUP BY born")
        rows = cursor.fetchall()
        assert len(rows) == 44195
        assert rows[0]["born"] == date(1900, 1, 1)


def test_a_pipeline_with_an_error_inside(connection: psycopg.Connection):
    with connection.pipeline():
        cursors = [connection.execute("SELECT count(*) FROM people WHERE age > %s", [n]) for n in range(10)]
        assert all(cursor.fetchone() is not None for cursor in cursors)
    with pytest.raises(psycopg.errors.UndefinedColumn), connection.pipeline() as pipeline:  # noqa: PT012
        connection.execute("SELECT nothing FROM people")
        pipeline.sync()
    assert connection.execute("SELECT count(*) FROM people WHERE age > 9").fetchone() is not None


def test_transactions(proxy: Proxy):
    with psycopg.connect(proxy.dsn()) as connection:
        connection.execute("SELECT count(*) FROM people")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT age FROM people")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT count(*) FROM people")
        connection.rollback()
        with connection.transaction():
            connection.execute("SELECT count(*) FROM people")


def test_what_is_refused_is_told_in_full(connection: psycopg.Connection):
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("SELECT town, count(*) FROM people GROUP BY nothing")
    assert (caught.value.sqlstate, caught.value.diag.statement_position) == ("42703", "44")
    assert "Columns of people" in str(caught.value.diag.message_hint)
    for value, sqlstate in (("thirty", "22P02"), (float("inf"), "22003")):
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT count(*) FROM people WHERE ratio > %s", [value])
        assert caught.value.sqlstate == sqlstate
    assert connection.execute("SELECT count(*) FROM people").fetchone() is not None


def test_settings_at_startup(proxy: Proxy):
    with psycopg.connect(
        proxy.dsn(), options="-c dp.epsilon=0.05 -c dp.notices=off", autocommit=True
    ) as connection:
        told: list[object] = []
        connection.add_notice_handler(told.append)
        connection.execute("SELECT count(*) FROM people WHERE age > 77")
        assert connection.execute("SHOW dp.last_cost").fetchone() == ("0.05",)
        assert told == []


def test_a_long_question_is_cancelled_and_stays_charged(proxy: Proxy, connection: psycopg.Connection):
    heavy = "SELECT " + ", ".join(f"sum((x + {n}) * (y - {n}))" for n in range(8)) + " FROM much"
    caught: list[psycopg.Error] = []

    def ask() -> None:
        try:
            connection.execute(heavy)
        except psycopg.Error as error:
            caught.append(error)

    with psycopg.connect(proxy.dsn(), autocommit=True) as other:
        before = remaining(other)
        thread = threading.Thread(target=ask)
        thread.start()
        while remaining(other) == before and thread.is_alive():
            time.sleep(0.005)
        connection.cancel_safe(timeout=10)
        began = time.monotonic()
        thread.join(20)
        assert time.monotonic() - began < 3
        assert [error.sqlstate for error in caught] == ["57014"]
        assert before - remaining(other) == Decimal("0.1")
        # It ran to its end all the same: its answer is there, and costs nothing more.
        assert connection.execute(heavy).fetchone() is not None
        assert before - remaining(other) == Decimal("0.1")


def remaining(connection: psycopg.Connection[tuple[object, ...]]) -> Decimal:
    row = connection.execute("SHOW dp.budget_remaining").fetchone()
    assert row is not None
    return Decimal(str(row[0]))


def test_tls(secured: tuple[Proxy, Path]):
    proxy, certificate = secured
    dsn = proxy.dsn(sslmode="verify-full", sslrootcert=certificate)
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.pgconn.ssl_in_use
        assert len(connection.execute(ALL, binary=True).fetchall()) == 3
        assert connection.execute(
            "/*+ dp(empty_groups=show) */ SELECT born, count(*) FROM people GROUP BY born"
        ).fetchall()[-1][0] == date(2020, 12, 31)
    with pytest.raises(psycopg.OperationalError, match="certificate"):
        psycopg.connect(proxy.dsn(sslmode="verify-ca", sslrootcert="/etc/ssl/certs/none.pem"))
