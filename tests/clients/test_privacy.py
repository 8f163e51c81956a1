"""What is said about privacy reaches clients as PostgreSQL's own messages, whatever the client is."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal

import asyncpg
import pg8000.native
import psycopg
import psycopg2
import pytest

from tests.proxies import PASSWORD, Proxy

pytestmark = pytest.mark.external
Ask = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture(params=["psycopg", "psycopg2", "pg8000", "asyncpg"])
def ask(request: pytest.FixtureRequest, world: Proxy) -> Iterator[Ask]:
    """Rows of a statement, by one client after the other."""
    match request.param:
        case "psycopg":
            with psycopg.connect(world.dsn(), autocommit=True) as connection:
                yield lambda sql: connection.execute(sql.encode()).fetchall()
        case "psycopg2":
            with closing(psycopg2.connect(world.dsn())) as older, older.cursor() as cursor:
                yield lambda sql: (cursor.execute(sql), cursor.fetchall())[1]
        case "pg8000":
            with pg8000.native.Connection(
                "ann", host="127.0.0.1", port=world.port, database="main", password=PASSWORD
            ) as pure:
                yield lambda sql: [tuple(row) for row in pure.run(sql)]
        case _:

            async def fetch(sql: str) -> list[tuple[object, ...]]:
                own = await asyncpg.connect(
                    host="127.0.0.1", port=world.port, user="ann", password=PASSWORD, database="main"
                )
                try:
                    return [tuple(row) for row in await own.fetch(sql)]
                finally:
                    await own.close()

            yield lambda sql: asyncio.run(fetch(sql))


def test_the_price_is_told_before(ask: Ask):
    told = "\n".join(
        str(row[0]) for row in ask("EXPLAIN (PRIVACY) SELECT count(*) FROM people WHERE age > 101")
    )
    assert "Price: epsilon 1" in told
    (row,) = ask("EXPLAIN (PRIVACY, FORMAT JSON) SELECT count(*) FROM people WHERE age > 101")
    assert "epsilon" in str(json.loads("".join(map(str, row))))


def test_a_hint_sets_the_loss_of_one_statement(ask: Ask):
    told = ask("/*+ dp(epsilon=0.25) */ EXPLAIN (PRIVACY) SELECT count(*) FROM people WHERE age > 102")
    assert any("Price: epsilon 0.25" in str(row[0]) for row in told)
    assert (
        len(
            ask("/*+ dp(epsilon=0.25, intervals=columns) */ SELECT count(*) AS n FROM people WHERE age > 1")[
                0
            ]
        )
        == 3
    )


def test_settings_that_can_be_set_are_reported_and_figures_are_not(world: Proxy):
    with psycopg.connect(world.dsn(), autocommit=True) as connection:
        status = connection.pgconn.parameter_status
        connection.execute("SELECT count(*) FROM people WHERE age > 104")
        assert status(b"dp.budget_remaining") is None
        connection.execute("SET dp.epsilon = 0.25")
        assert status(b"dp.epsilon") == b"0.25"
        before = Decimal(connection.execute("SHOW dp.budget_remaining").fetchone()[0])
        connection.execute("SELECT count(*) FROM people WHERE age > 105")
        assert before - Decimal(connection.execute("SHOW dp.budget_remaining").fetchone()[0]) == Decimal(
            "0.25"
        )
    with pg8000.native.Connection(
        "ann", host="127.0.0.1", port=world.port, database="main", password=PASSWORD
    ) as pure:
        pure.run("SELECT count(*) FROM people WHERE age > 106")
        assert "dp.budget_remaining" not in pure.parameter_statuses


def test_intervals_as_columns(world: Proxy):
    with psycopg.connect(world.dsn(options="'-c dp.intervals=columns'"), autocommit=True) as connection:
        cursor = connection.execute("SELECT town, count(*) AS n FROM people GROUP BY town", binary=True)
        assert [c.name for c in cursor.description or ()] == ["town", "n", "n_ci_low", "n_ci_high"]
    with closing(psycopg2.connect(world.dsn())) as older, older.cursor() as second:
        second.execute("SET dp.intervals = 'columns'")
        second.execute("SELECT count(*) AS n FROM people")
        assert [c.name for c in second.description] == ["n", "n_ci_low", "n_ci_high"]


def test_notices_have_detail_and_errors_hints(world: Proxy):
    with psycopg.connect(world.dsn(), autocommit=True) as connection:
        told: list[tuple[str | None, str | None]] = []
        connection.add_notice_handler(lambda notice: told.append((notice.severity, notice.message_detail)))
        connection.execute("SELECT count(*) FROM people WHERE age > 107")
        assert told[0][0] == "NOTICE"
        assert "unit: one id of people" in str(told[0][1])
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT age FROM people")
        assert "GROUP BY age" in str(caught.value.diag.message_hint)
