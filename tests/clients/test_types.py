"""Values of every type as drivers read and send them: rows of a public table, and parameters that come back."""

import asyncio
import subprocess
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import pg8000.dbapi
import psycopg
import psycopg2
import psycopg2.extras
import pytest
from psycopg.types.numeric import Int8

from tests.clients.test_jdbc import DRIVER
from tests.postgres import Server
from tests.proxies import PASSWORD, Proxy, serving, write_home

pytestmark = pytest.mark.external
ONE = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
COLUMNS = (
    ("n", "INTEGER", "integer"), ("u", "UUID", "uuid"), ("i", "INTERVAL", "interval"), ("t", "TIME", "time"),
    ("tz", "TIMESTAMP WITH TIME ZONE", "timestamptz"), ("b", "BLOB", "bytea"), ("j", "JSON", "json"),
    ("li", "INTEGER[]", "integer[]"), ("lt", "VARCHAR[]", "text[]"), ("lu", "UUID[]", "uuid[]"),
    ("ln", "DECIMAL(8,2)[]", "numeric(8,2)[]"), ("lz", "TIMESTAMP WITH TIME ZONE[]", "timestamptz[]"),
    ("lv", "INTERVAL[]", "interval[]"), ("lb", "BOOLEAN[]", "boolean[]"), ("ld", "DATE[]", "date[]"),
)  # fmt: skip
ROWS = (
    """1, 'UUID', interval '1 year 2 months -3 days 04:05:06.789', '13:14:15.5', '2024-03-05 06:07:08.5+02', BYTES,
       '{"a": [1, null]}', ARRAY[1, NULL, 3], ARRAY['a', 'b c', NULL, '"q"', '', 'null'], ARRAY['UUID'::uuid],
       ARRAY[1.50, -2], ARRAY['2024-03-05 06:07:08.5+02'::timestamptz, NULL], ARRAY[interval '1 month'],
       ARRAY[true, false, NULL], ARRAY[date '2024-02-29']""",
    "2" + ", NULL" * 14,
    """3, '00000000-0000-0000-0000-000000000001', interval '0 days', '00:00:00', '1999-12-31 23:59:59+00', '', '[]',
       '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'""",
)
ZONES = ("UTC", "Asia/Kolkata", "America/New_York")


PEOPLE = (
    "CREATE TABLE people (id UUID PRIMARY KEY, thing INTEGER, device UUID, seen TIMESTAMPTZ, tags VARCHAR[])",
    "INSERT INTO people SELECT uuid(), i % 3 + 1, CASE WHEN i < 100 THEN uuid() END, now(), [] FROM range(400) r(i)",
    "CREATE TABLE visits (person UUID REFERENCES people (id), cost INTEGER)",
    "INSERT INTO visits SELECT id, 5 FROM people",
)
POLICY = """
ALTER TABLE things SET PRIVACY PUBLIC;
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 100000;
ALTER TABLE people ALTER COLUMN thing SET PRIVACY DOMAIN REFERENCES things (n);
ALTER TABLE people ALTER COLUMN device SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE people ALTER COLUMN seen SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE people ALTER COLUMN tags SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 2;
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 10;
CREATE PRIVACY BUDGET research LIMIT EPSILON 100000 DEFAULT EPSILON 100;
GRANT SELECT ON people, visits TO analyst WITH PRIVACY BUDGET research;
"""


def rows(flavour: str) -> Iterator[str]:
    for row in ROWS:
        written = row.replace("UUID", ONE)
        if flavour == "duckdb":
            yield written.replace("BYTES", r"'\x00\xFFab'").replace("'{}'", "[]").replace("ARRAY", "")
        else:
            yield written.replace("BYTES", r"'\x00ff6162'")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    ddl = [f"CREATE TABLE things ({', '.join(f'{name} {kind}' for name, kind, _ in COLUMNS)})"]
    ddl += [f"INSERT INTO things VALUES ({row})" for row in rows("duckdb")]
    folder: Path = tmp_path_factory.mktemp("types")
    with serving(write_home(folder, [*ddl, *PEOPLE], POLICY)) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def real(postgres: Server) -> str:
    url = postgres.url(postgres.database())
    with psycopg.connect(url, autocommit=True) as connection:
        made = ", ".join(f"{name} {kind}" for name, _, kind in COLUMNS)
        connection.execute(f"CREATE TABLE things ({made})".encode())
        for row in rows("postgres"):
            connection.execute(f"INSERT INTO things VALUES ({row})".encode())
    return url


def raw(url: str, sql: str, zone: str, code: int) -> tuple[list[tuple[int, int]], list[list[bytes | None]]]:
    """Types of columns, and the bytes of the values."""
    with psycopg.connect(url, autocommit=True, options=f"-c TimeZone={zone}") as connection:
        found = connection.pgconn.exec_params(sql.encode(), [], result_format=psycopg.pq.Format(code))
        assert found.status == psycopg.pq.ExecStatus.TUPLES_OK, found.error_message
        kinds = [(found.ftype(at), found.fmod(at)) for at in range(found.nfields)]
        return kinds, [[found.get_value(r, c) for c in range(found.nfields)] for r in range(found.ntuples)]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("code", [0, 1], ids=["text", "binary"])
def test_the_bytes_of_postgres(world: Proxy, real: str, zone: str, code: int):
    asked = "SELECT * FROM things ORDER BY n"
    assert raw(world.dsn(), asked, zone, code) == raw(real, asked, zone, code)


@pytest.mark.parametrize("zone", ZONES)
def test_seconds_of_moments(world: Proxy, real: str, zone: str):
    """As Grafana groups by time: no time zone changes them."""
    asked = (
        "SELECT n, extract(epoch FROM tz)::float8 FROM things ORDER BY n",
        'SELECT floor(extract(epoch FROM tz) / 3600) * 3600 AS "time", count(*) FROM things GROUP BY 1 ORDER BY 1',
    )
    for sql in asked:
        assert raw(world.dsn(), sql, zone, 0) == raw(real, sql, zone, 0)


def test_copy_and_casts_to_text(world: Proxy, real: str):
    asked = "SELECT u::text, t::text, j::text, (ld IS NULL)::text AS ld, n::text FROM things ORDER BY n"
    assert raw(world.dsn(), asked, "UTC", 0) == raw(real, asked, "UTC", 0)
    for options in ("", " (FORMAT binary)", " (FORMAT csv)"):
        copied = []
        for url in (world.dsn(), real):
            statement = f"COPY (SELECT * FROM things ORDER BY n) TO STDOUT{options}"
            with psycopg.connect(url) as connection, connection.cursor().copy(statement.encode()) as out:
                copied.append(b"".join(bytes(piece) for piece in out))
        assert copied[0] == copied[1]


def test_bytes_as_bytea_output_says(world: Proxy, real: str):
    seen = []
    for url in (world.dsn(), real):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET bytea_output TO escape")
            found = connection.execute("SHOW bytea_output").fetchall()
            for code in psycopg.pq.Format:
                asked = b"SELECT b FROM things ORDER BY n"
                answer = connection.pgconn.exec_params(asked, [], result_format=code)
                found += [answer.get_value(row, 0) for row in range(answer.ntuples)]
            for options in ("", " (FORMAT csv)", " (FORMAT binary)"):
                statement = f"COPY (SELECT n, b FROM things ORDER BY n) TO STDOUT{options}"
                with connection.cursor().copy(statement.encode()) as out:
                    found.append(b"".join(bytes(piece) for piece in out))
            assert connection.pgconn.parameter_status(b"bytea_output") is None
        seen.append(found)
    assert seen[0] == seen[1]
    assert b"\\000\\377ab" in seen[0]


PARAMETERS: tuple[tuple[str, Any], ...] = (
    ("uuid", uuid.UUID(ONE)),
    ("interval", timedelta(days=-3, seconds=5, microseconds=7)),
    ("time", time(1, 2, 3, 500_000)),
    ("timestamptz", datetime(2024, 3, 5, 6, 7, 8, 500_000, tzinfo=UTC)),
    ("timestamp", datetime(2024, 3, 5, 6, 7, 8)),  # noqa: DTZ001
    ("date", date(2024, 2, 29)),
    ("bytea", b"\x00\xffab"),
    ("numeric", Decimal("12.50")),
    ("float8", 0.1),
    ("bigint", 2**40),
    ("boolean", True),
    ("text", "it's"),
    ("int[]", [1, None, 3]),
    ("bigint[]", []),
    ("text[]", ["a", "b c", None, '"q"', "", "null"]),
    ("uuid[]", [uuid.UUID(ONE)]),
    ("date[]", [date(2024, 2, 29), None]),
    ("int[]", [[1, 2], [3, None]]),
)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_psycopg_sends_and_reads(world: Proxy, binary: bool):  # noqa: FBT001
    with psycopg.connect(world.dsn(), autocommit=True) as connection:
        form = "%b" if binary else "%t"
        for kind, value in PARAMETERS:
            cursor = connection.cursor(binary=binary)
            [[seen]] = cursor.execute(f"SELECT {form}::{kind}", [value]).fetchall()
            assert seen == value
        cursor = connection.cursor(binary=binary)
        assert cursor.execute(f"SELECT n FROM things WHERE u = {form}", [uuid.UUID(ONE)]).fetchall() == [(1,)]
        assert cursor.execute(f"SELECT n FROM things WHERE n = ANY({form})", [[1, 2]]).fetchall() == [
            (1,),
            (2,),
        ]
        assert cursor.execute(f"SELECT n FROM things WHERE n = ANY({form})", [[]]).fetchall() == []
        assert cursor.execute(f"SELECT count(*) FROM things WHERE NOT n = ANY({form})", [[]]).fetchall() == [
            (3,)
        ]


def test_asyncpg_sends_and_reads(world: Proxy):
    async def run() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=world.port, user="ann", password=PASSWORD, database="main"
        )
        try:
            for kind, value in PARAMETERS:
                assert await connection.fetchval(f"SELECT $1::{kind}", value) == value
            assert await connection.fetchval("SELECT n FROM things WHERE u = $1", uuid.UUID(ONE)) == 1
            assert await connection.fetchval("SELECT count(*) FROM things WHERE n = ANY($1)", [1, 3]) == 2
            first = await connection.fetchrow("SELECT * FROM things WHERE n = 1")
            assert (first["li"], first["lt"][:2], first["b"]) == ([1, None, 3], ["a", "b c"], b"\x00\xffab")
            assert first["lz"] == [datetime(2024, 3, 5, 4, 7, 8, 500_000, tzinfo=UTC), None]
        finally:
            await connection.close()

    asyncio.run(run())


def test_pg8000_sends_and_reads(world: Proxy):
    connection = pg8000.dbapi.connect(
        user="ann", password=PASSWORD, host="127.0.0.1", port=world.port, database="main"
    )
    try:
        cursor = connection.cursor()
        for kind, value in PARAMETERS:
            cursor.execute(f"SELECT cast(%s as {kind})", [value])
            [[seen]] = cursor.fetchall()
            assert seen == (value if kind != "text[]" else [*value[:-1], None])  # it reads "null" as NULL
        cursor.execute("SELECT li, lt, u, i, b FROM things WHERE n = 1")
        [[li, lt, found, interval, data]] = cursor.fetchall()
        assert (li, lt[:2], found, bytes(data)) == ([1, None, 3], ["a", "b c"], uuid.UUID(ONE), b"\x00\xffab")
        assert interval is not None
    finally:
        connection.close()


def test_psycopg2_reads(world: Proxy):
    connection = psycopg2.connect(world.dsn())
    try:
        psycopg2.extras.register_uuid(conn_or_curs=connection)
        cursor = connection.cursor()
        cursor.execute("SELECT li, lt, u, lu, t, j FROM things WHERE n = ANY(%s) ORDER BY n", ([1, 9],))
        [[li, lt, found, several, at, told]] = cursor.fetchall()
        assert (li, lt[:2], found, several) == ([1, None, 3], ["a", "b c"], uuid.UUID(ONE), [uuid.UUID(ONE)])
        assert (at, told) == (time(13, 14, 15, 500_000), {"a": [1, None]})
    finally:
        connection.close()


def test_pgjdbc_reads_and_sends(world: Proxy, program: Callable[[str, str], str]):
    java = program("java", "default-jdk-headless")
    url = f"jdbc:postgresql://127.0.0.1:{world.port}/main"
    command = [java, "-cp", str(DRIVER), str(Path(__file__).parent / "Types.java"), url, "ann", PASSWORD]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == [
        f"uuid {ONE}",
        "interval 1 years 2 mons -3 days 4 hours 5 mins 6.789 secs",
        "ints [1, null, 3]",
        'texts [a, b c, null, "q", , null]',
        "bytes 0,-1,97,98",
        "moment 2024-03-05T04:07:08.500Z",
        'json {"a": [1, null]}',
        "list 2",
        "array [1, 2]",
        "sent 2024-01-02T01:04:05Z 00000000-0000-0001-0000-000000000002",
    ], done.stderr


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT count(*) FROM people", 400),
        ("SELECT count(device) FROM people", 100),
        ("SELECT count(seen) FROM people", 400),
        ("SELECT count(tags) FROM people", 400),
        ("SELECT count(*) FROM people WHERE device IS NULL", 300),
        ("SELECT count(DISTINCT id) FROM people", 400),
        ("SELECT sum(v.cost) FROM people p JOIN visits v ON v.person = p.id", 2000),
        ("SELECT count(*) FROM people p JOIN things t ON t.n = p.thing WHERE t.u IS NULL", 133),
        ("SELECT count(*) FROM (SELECT thing AS x, device FROM people) s WHERE s.device IS NOT NULL", 100),
    ],
)
def test_protected_columns_are_counted(world: Proxy, sql: str, value: int):
    with psycopg.connect(world.dsn(), autocommit=True) as connection:
        [[seen]] = connection.execute(sql.encode()).fetchall()
        assert abs(seen - value) <= 5  # noise beyond 5 at epsilon 100, less than once in e^25


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(*) FROM people WHERE device = '{ONE}'",
        "SELECT device, count(*) FROM people GROUP BY device",
        "SELECT count(DISTINCT device) FROM people",
        "SELECT count(DISTINCT (device)) FROM people",
        "SELECT count(DISTINCT seen) FROM people",
        "SELECT min(seen) FROM people",
        "SELECT count(*) FROM people WHERE seen > '2020-01-01 00:00:00+00'",
        "SELECT count(*) FROM people WHERE device::text = 'x'",
        "SELECT count(*) FROM people WHERE tags[1] = 'x'",
        "SELECT count(*) FROM people ORDER BY min(device)",
        "SELECT count(coalesce(device, device)) FROM people",
        f"SELECT count(*) FROM people WHERE '{ONE}'::uuid = '{ONE}'::uuid",
        "SELECT count(*) FROM people p JOIN people q ON p.device = q.device",
        "SELECT count(*) FROM people WHERE device IN (SELECT u FROM things)",
        "SELECT count(*) FROM people p JOIN things t ON t.u = p.device",
        f"SELECT count(*) FROM people p JOIN things t ON t.n = p.thing WHERE t.u = '{ONE}'",
        "SELECT t.u, count(*) FROM people p JOIN things t ON t.n = p.thing GROUP BY t.u",
        "SELECT count(*) FROM people GROUP BY interval '1 day'",
        "SELECT id FROM people",
        (
            "SELECT count(*) FROM people p JOIN (SELECT tz, n FROM things UNION SELECT tz, n + 1 FROM things) t "
            "ON t.n = p.thing WHERE t.tz > '2000-01-01Z'"
        ),
    ],
)
def test_nothing_else_is_done_with_them(world: Proxy, sql: str):
    """Not for the data's sake: before anything is read, and in words of its own."""
    with psycopg.connect(world.dsn(), autocommit=True) as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute(sql.encode())
    assert refused.value.sqlstate in {"0A000", "42501", "42883", "PD002", "PD003", "42804"}, (
        refused.value.sqlstate
    )


def test_what_is_described_is_sent(world: Proxy, real: str):
    """Parse with a declared type, Describe, Execute."""
    asked = (
        ("SELECT $1", 20, b"5"), ("SELECT $1", 21, b"5"), ("SELECT $1", 700, b"1.5"), ("SELECT $1", 1700, b"5"),
        ("SELECT $1", 26, b"5"), ("SELECT $1", 19, b"abc"), ("SELECT $1", 869, b"10.0.0.1"), ("SELECT $1", 2206, b"23"),
        ("SELECT $1", 2950, ONE.encode()), ("SELECT $1", 17, b"abc"), ("SELECT $1", 1016, b"{1,2}"),
        ("SELECT $1 + 1", 20, b"5"), ("SELECT relnatts + $1 FROM pg_class WHERE relname = 'pg_am'", 20, b"1"),
    )  # fmt: skip
    for sql, oid, sent in asked:
        found = []
        for url in (world.dsn(), real):
            with psycopg.connect(url, autocommit=True) as connection:
                got = connection.pgconn.exec_params(
                    sql.encode(), [sent], [oid], [0], psycopg.pq.Format.BINARY
                )
                found.append((got.ftype(0), got.get_value(0, 0)))
        assert found[0] == found[1], sql


def test_psycopg_reads_numbers_in_binary(world: Proxy):
    with psycopg.connect(world.dsn(), autocommit=True) as connection:
        cursor = connection.cursor(binary=True)
        for value in (5, 40_000, 2**40, Int8(5), 1.5, Decimal(5)):
            assert cursor.execute("SELECT %s, %s + 1", (value, value)).fetchone() == (value, value + 1)


@pytest.mark.parametrize("code", [0, 1], ids=["text", "binary"])
def test_lists_as_parameters_beside_columns(world: Proxy, real: str, code: int):
    asked = (
        ("SELECT n FROM things WHERE li = $1", 1007, b"{1,NULL,3}"),
        ("SELECT n FROM things WHERE li = $1", 1007, b"{}"),
        ("SELECT n FROM things WHERE lt = $1", 1009, b"{a}"),
        ("SELECT $1 FROM things", 1016, b"{1,2}"),
    )
    for sql, oid, sent in asked:
        found = []
        for url in (world.dsn(), real):
            with psycopg.connect(url, autocommit=True) as connection:
                got = connection.pgconn.exec_params(sql.encode(), [sent], [oid], [0], psycopg.pq.Format(code))
                assert got.status == psycopg.pq.ExecStatus.TUPLES_OK, got.error_message
                found.append((got.ftype(0), sorted(got.get_value(at, 0) or b"" for at in range(got.ntuples))))
        assert found[0] == found[1], sql
