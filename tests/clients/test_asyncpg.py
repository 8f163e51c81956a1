"""asyncpg: named statements, everything in binary, types read from the catalogue."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from datetime import date
from decimal import Decimal

import asyncpg
import pytest

from tests.clients.conftest import SLOW
from tests.proxies import PASSWORD, Proxy

pytestmark = pytest.mark.external


def use(world: Proxy, act: Callable[[asyncpg.Connection], Awaitable[None]], **more: object) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1",
            port=world.port,
            user="ann",
            password=PASSWORD,
            database="main",
            timeout=30,
            **more,
        )
        try:
            await act(connection)
        finally:
            await connection.close(timeout=10)

    asyncio.run(run())


def test_queries_with_parameters(world: Proxy):
    async def act(connection: asyncpg.Connection) -> None:
        rows = await connection.fetch(
            "SELECT town, count(*) AS n, avg(age) AS a, sum(income) AS s FROM people WHERE born > $1 GROUP BY town",
            date(1950, 6, 1),
        )
        assert [row["town"] for row in rows] == ["Bern", "Oslo", "Rome"]
        assert [type(value) for value in rows[0].values()] == [str, int, Decimal, float]
        several = "SELECT count(*) FROM people WHERE town = ANY($1) AND age = ANY($2::int[])"
        assert await connection.fetchval(several, ["Bern", "Oslo"], [30, 31, 32]) is not None
        assert await connection.fetchval("SELECT count(*) FROM towns WHERE n = ANY($1)", [1, 3]) == 2
        for value in (20, 30, 40):
            assert await connection.fetchval("SELECT count(*) FROM people WHERE age > $1", value) is not None

    use(world, act)


def test_described_without_running(world: Proxy):
    async def act(connection: asyncpg.Connection) -> None:
        statement = await connection.prepare(
            "SELECT town, count(*) AS n FROM people WHERE age > $1 GROUP BY town"
        )
        assert [(a.name, a.type.name) for a in statement.get_attributes()] == [
            ("town", "text"),
            ("n", "int8"),
        ]
        assert [p.name for p in statement.get_parameters()] == ["int4"]
        assert await connection.fetchval("SHOW dp.last_cost") == ""

    use(world, act)


def test_types_of_public_rows(world: Proxy):
    async def act(connection: asyncpg.Connection) -> None:
        row = await connection.fetchrow("SELECT * FROM towns WHERE n = $1", 1)
        assert row["area"] == Decimal("51.60")
        assert (row["founded"], row["capital"], row["size"]) == (date(1191, 1, 1), True, 1.5)

    use(world, act)


def test_pages_by_a_cursor(world: Proxy):
    async def act(connection: asyncpg.Connection) -> None:
        async with connection.transaction():
            pages = [
                row["town"]
                async for row in connection.cursor("SELECT town FROM towns ORDER BY n", prefetch=2)
            ]
            cursor = await connection.cursor("SELECT town FROM towns ORDER BY n")
            await cursor.forward(1)
            assert [row["town"] for row in await cursor.fetch(1)] == ["Oslo"]
        assert pages == ["Bern", "Oslo", "Rome"]

    use(world, act)


def test_copies_out(world: Proxy):
    async def act(connection: asyncpg.Connection) -> None:
        copied = io.BytesIO()
        asked = "SELECT town, n FROM towns WHERE n < $1 ORDER BY n"
        await connection.copy_from_query(asked, 3, output=copied, format="csv")
        assert copied.getvalue() == b"Bern,1\nOslo,2\n"
        copied = io.BytesIO()
        await connection.copy_from_table("towns", output=copied, columns=["town"])
        assert sorted(copied.getvalue().split()) == [b"Bern", b"Oslo", b"Rome"]

    use(world, act)


def test_notices_and_refusals(world: Proxy):
    async def act(connection: asyncpg.Connection) -> None:
        told: list[asyncpg.PostgresLogMessage] = []
        connection.add_log_listener(lambda _, message: told.append(message))
        await connection.fetchval("SELECT count(*) FROM visits WHERE cost > 7")
        assert told[0].severity == "NOTICE"
        assert "cost 1 epsilon" in told[0].message
        assert "unit" in told[0].detail
        with pytest.raises(asyncpg.InsufficientPrivilegeError) as caught:
            await connection.fetch("SELECT age FROM people")
        assert caught.value.hint
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT count(*) FROM salaries")
        await connection.reset()
        assert await connection.fetchval("SELECT 1") == 1

    use(world, act)


def test_a_timeout_cancels(world: Proxy):
    async def act(connection: asyncpg.Connection) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetch(SLOW, timeout=0.3)
        assert await connection.fetchval("SELECT n FROM towns WHERE town = 'Bern'") == 1

    use(world, act)


def test_a_pool_reconnects(world: Proxy):
    async def run() -> None:
        async with asyncpg.create_pool(
            host="127.0.0.1", port=world.port, user="ann", password=PASSWORD, database="main", min_size=1, max_size=3,
            server_settings={"dp.epsilon": "0.5", "application_name": "pool"},
        ) as pool:  # fmt: skip
            assert await pool.fetchval("SHOW dp.epsilon") == "0.5"
            await pool.expire_connections()
            answers = await asyncio.gather(
                *(pool.fetchval("SELECT n FROM towns WHERE n = $1", n) for n in (1, 2, 3))
            )
            assert answers == [1, 2, 3]

    asyncio.run(run())
