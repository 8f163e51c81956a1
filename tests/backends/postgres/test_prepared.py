"""Prepared tables in a schema of a real server: built once, whole or not at all, and seen by nobody else."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpproxy.algebra.plan import PREPARED, PreparedTable
from dpproxy.backends.duckdb.prepared import PreparedTables
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.failures import WorkerLost
from dpproxy.backends.postgres.prepared import PostgresPrepared
from dpproxy.backends.postgres.server import PostgresServer
from dpproxy.backends.servers.source import Pushed
from dpproxy.values.errors import Internal, StartupError
from tests.backends.inline import Inline
from tests.backends.statements import check
from tests.postgres import Server, running
from tests.reading import read

SECRET = b"s" * 32
ROLE = "keeps"
ROWS = (
    "CREATE TABLE t (id int NOT NULL, v numeric(6,2))",
    "INSERT INTO t SELECT i % 10, i FROM generate_series(1, 100) AS i",
    "CREATE TABLE big AS SELECT i FROM generate_series(1, 3000) AS i",
)
SCHEMA = ("CREATE SCHEMA kept", f"GRANT USAGE, CREATE ON SCHEMA kept TO {ROLE}")
TABLE = PreparedTable(
    "ta1",
    "t",
    read(
        "SELECT id, v FROM (SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY hash($1, id, v) ASC "
        "NULLS LAST, id ASC NULLS LAST, v ASC NULLS LAST) <= 3) AS bounded"
    ),
    truncated=True,
)
SLOW = PreparedTable(
    "tb2",
    "big",
    read(f"SELECT b0.i AS i FROM {' CROSS JOIN '.join(f'big AS b{n}' for n in range(4))}"),
    truncated=False,
)
COUNT = f'SELECT CAST(COUNT(*) AS INT128) AS m0 FROM "{PREPARED}"."main"."ta1"'
Open = Callable[..., tuple[Pushed, PreparedTables]]


def made(server: Server, *statements: str) -> str:
    """A database with a schema for prepared tables; the URL of the role that keeps them there."""
    name = server.database(name="kept")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone() is None:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN".encode())
    url = server.url(name).replace("postgres@", f"{ROLE}@")
    grant = f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {ROLE}"
    run(url, *ROWS, *SCHEMA, grant, *(s.replace("DATABASE x", f"DATABASE {name}") for s in statements))
    return url


def run(url: str, *statements: str) -> None:
    """As the owner of everything."""
    with psycopg.connect(url.replace(f"{ROLE}@", "postgres@"), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def listed(url: str) -> list[str]:
    """What is in the schema."""
    with psycopg.connect(url.replace(f"{ROLE}@", "postgres@"), autocommit=True) as connection:
        found = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'kept' ORDER BY 1"
        ).fetchall()
    return [name for (name,) in found]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    found: list[tuple[Pushed, PreparedTables]] = []

    def open_one(url: str, secret: bytes = SECRET) -> tuple[Pushed, PreparedTables]:
        path = tmp_path / f"empty{len(found)}.duckdb"
        duckdb.connect(path).close()
        beside = Inline(DuckDB(path, prepared=path.with_name(f"given{len(found)}.duckdb")))
        server = PostgresServer(url, "main", 30.0)
        with ExitStack() as stack:
            stack.callback(server.close)
            keeper = PostgresPrepared(server, "kept", "main", secret)
            stack.pop_all()
        source = Pushed(server, beside, tmp_path, keeper)
        found.append((source, PreparedTables(source, secret, lambda _: None)))
        return found[-1]

    yield open_one
    for source, tables in found:
        tables.close()
        source.close()


def number(source: Pushed, tables: PreparedTables) -> int:
    check(source, COUNT, [TABLE])
    with tables.ready([TABLE], bool):
        return int(source.run(read(COUNT), {}, "s").value.column(0)[0].as_py())


def keep(tables: PreparedTables, names: set[str]) -> None:
    """Drop all others, now."""
    tables.keep(names)
    tables._builder.submit(int).result()


def test_a_table_is_built_once_and_kept(postgres: Server, opened: Open):
    url = made(postgres)
    source, tables = opened(url)
    check(source, COUNT, [TABLE])
    assert listed(url) == []  # a check reads and makes nothing
    assert number(source, tables) == 30
    [name] = listed(url)
    assert len(name) <= 63
    run(url, "DELETE FROM t WHERE id > 4")
    assert number(source, tables) == 30  # as it was when it was built
    again, more = opened(url)
    assert again.prepared_names() == {"ta1"}
    assert number(again, more) == 30
    assert listed(url) == [name]


def test_a_new_version_of_the_data_has_tables_of_its_own(postgres: Server, opened: Open):
    url = made(postgres)
    source, tables = opened(url)
    assert number(source, tables) == 30
    run(url, "DELETE FROM t WHERE id > 4")
    later = PreparedTable("tc3", "t", TABLE.query, truncated=True)
    count = COUNT.replace("ta1", "tc3")
    check(source, count, [later])
    with tables.ready([later], bool):
        assert source.run(read(count), {}, "s").value.column(0)[0].as_py() == 15
    keep(tables, {"tc3"})
    [name] = listed(url)
    assert name.endswith("tc3")


def test_days_have_an_index(postgres: Server, opened: Open):
    url = made(
        postgres, "CREATE TABLE days AS SELECT DATE '2026-01-01' + i AS d, i FROM generate_series(1, 9) AS i"
    )
    run(url, f"GRANT SELECT ON days TO {ROLE}")
    source, tables = opened(url)
    days = PreparedTable("td4", "days", read("SELECT d AS d, i AS i FROM days"), truncated=False)
    count = COUNT.replace("ta1", "td4") + " WHERE d > CAST('2026-01-04' AS DATE)"
    check(source, count, [days])
    with tables.ready([days], bool):
        assert source.run(read(count), {}, "s").value.column(0)[0].as_py() == 6
    with psycopg.connect(url) as connection:
        [(sql,)] = connection.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = 'kept'").fetchall()
    assert sql.endswith("USING brin (d)")


def test_pages_of_prepared_tables_are_expected_to_lie_together(postgres: Server):
    url = made(postgres)
    cost = "SELECT current_setting('random_page_cost')"
    with closing(PostgresServer(url, "main", 30.0)) as server:
        assert server.catalogue(cost, []) == [("4",)]
        server.close()
        PostgresPrepared(server, "kept", "main", SECRET)
        assert server.catalogue(cost, []) == [("1",)]


def test_another_secret_or_other_declarations_have_other_tables(postgres: Server, opened: Open):
    url = made(postgres)
    first, second = opened(url), opened(url, b"o" * 32)
    assert number(*first) == number(*second) == 30
    assert len(listed(url)) == 2
    keep(second[1], set())
    [left] = listed(url)
    run(url, "ALTER TABLE t ALTER COLUMN id TYPE bigint")
    source, tables = opened(url)
    assert "ta1" not in source.prepared_names()
    assert number(source, tables) == 30
    assert len(listed(url)) == 2
    keep(tables, {"ta1"})
    [kept] = listed(url)
    assert kept != left


def test_one_that_another_proxy_dropped_is_built_again(postgres: Server, opened: Open):
    url = made(postgres)
    source, tables = opened(url)
    assert number(source, tables) == 30
    [name] = listed(url)
    run(url, f"DROP TABLE kept.{name}")
    assert number(source, tables) == 30
    assert listed(url) == [name]


def test_one_that_is_read_is_not_dropped(postgres: Server, opened: Open):
    url = made(postgres)
    source, tables = opened(url)
    assert number(source, tables) == 30
    [name] = listed(url)
    with psycopg.connect(url.replace(f"{ROLE}@", "postgres@")) as reader:
        reader.execute(f"SELECT * FROM kept.{name}".encode())
        source.build("ta1", None, {}, "s", bool)
        assert listed(url) == [name]
    source.build("ta1", None, {}, "s", bool)
    assert listed(url) == []


def test_two_proxies_build_one_table_at_one_time(postgres: Server, opened: Open):
    url = made(postgres)
    both = [opened(url), opened(url)]
    found: list[int] = []
    threads = [threading.Thread(target=lambda each=each: found.append(number(*each))) for each in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [30, 30]
    assert len(listed(url)) == 1


def test_the_secret_is_in_no_text_and_the_table_is_nobody_elses(postgres: Server, opened: Open):
    url = made(postgres, f"ALTER DEFAULT PRIVILEGES FOR ROLE {ROLE} GRANT SELECT ON TABLES TO PUBLIC")
    run(url, f"ALTER ROLE {ROLE} SET log_statement = 'all'")  # parameters are left out
    run(url, f"ALTER ROLE {ROLE} SET log_parameter_max_length = 0")
    source, tables = opened(url)
    assert number(source, tables) == 30
    run(url, f"ALTER ROLE {ROLE} RESET ALL")
    log = (postgres.folder / "log").read_text()
    assert "INSERT INTO" in log
    assert SECRET.hex() not in log
    with psycopg.connect(url.replace(f"{ROLE}@", "postgres@")) as connection:
        row = connection.execute(
            "SELECT relpersistence, relacl::text FROM pg_class WHERE relname LIKE 'dp%ta1'"
        ).fetchone()
    assert row is not None
    assert row[0] == "p"  # an unlogged table is empty after a crash
    assert row[1] == f"{{{ROLE}=arwdDxt/{ROLE}}}"


def test_a_restart_in_the_middle_of_a_build_leaves_nothing(opened: Open):
    with running() as server:
        url = made(server)
        source, tables = opened(url)
        check(source, f'SELECT "i" AS i FROM "{PREPARED}"."main"."tb2"', [SLOW])
        failed: list[Exception] = []

        def build() -> None:
            try:
                source.build("tb2", SLOW.query, {}, "s", bool)
            except WorkerLost as error:
                failed.append(error)

        thread = threading.Thread(target=build)
        thread.start()
        time.sleep(1)
        server.stop("immediate")
        thread.join(30)
        assert len(failed) == 1
        with pytest.raises(Internal):
            number(source, tables)
        server.start()
        assert number(source, tables) == 30
        [name] = listed(url)
        assert name.endswith("ta1")


def test_a_build_can_be_interrupted_and_leaves_nothing(postgres: Server, opened: Open):
    url = made(postgres)
    source, _ = opened(url)
    check(source, f'SELECT "i" AS i FROM "{PREPARED}"."main"."tb2"', [SLOW])
    threading.Timer(0.5, source.interrupt, ("s",)).start()
    with pytest.raises(Exception, match="user request"):
        source.build("tb2", SLOW.query, {}, "s", bool)
    assert listed(url) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("GRANT USAGE ON SCHEMA kept TO PUBLIC", "everybody may look"),
        (f"REVOKE CREATE ON SCHEMA kept FROM {ROLE}", "GRANT USAGE, CREATE ON SCHEMA"),
        ("DROP SCHEMA kept", "CREATE SCHEMA"),
        (
            "CREATE SCHEMA s; CREATE TABLE s.u (a int); GRANT INSERT ON s.u TO PUBLIC",
            'write to table "s"."u"',
        ),
        (f"CREATE SCHEMA s; GRANT CREATE ON SCHEMA s TO {ROLE}", 'tables in schema "s"'),
        (f"GRANT CREATE ON DATABASE x TO {ROLE}", "make schemas"),
        ("CREATE TABLE kept.notes (a int)", 'it holds "notes"'),
    ],
)
def test_a_schema_or_a_role_that_is_not_for_it_is_refused(
    postgres: Server, opened: Open, statement: str, told: str
):
    with pytest.raises(StartupError, match=rf"^data\.main\.prepared_schema: .*{told}"):
        opened(made(postgres, *statement.split("; ")))


def test_the_data_are_read_only_as_ever(postgres: Server, opened: Open):
    url = made(postgres, f"GRANT INSERT ON t TO {ROLE}")
    with pytest.raises(StartupError, match='write to table "t"'):
        opened(url)
    server = PostgresServer(made(postgres), "main", 30.0)
    with pytest.raises(StartupError, match="another schema"):
        PostgresPrepared(server, "public", "main", SECRET)
    with server._connect() as connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("CREATE TABLE kept.x (a int)")
    server.close()
