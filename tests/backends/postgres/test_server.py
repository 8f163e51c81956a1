"""A real server: stopped, started again, asked too much, and changed under the proxy's feet."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Answer, Caller, Plan
from dpproxy.algebra.request import Request
from dpproxy.backends.asker import asked_by
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.facts import Facts
from dpproxy.backends.failures import FactsChanged, WorkerLost
from dpproxy.backends.postgres.server import PostgresServer
from dpproxy.backends.servers.source import Order, Pushed
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.questions import Replan
from dpproxy.engine.replays import Execution
from dpproxy.values.errors import Cancelled, Internal, Refusal, StartupError, TooComplex, Unsupported
from tests.backends.inline import Inline
from tests.backends.statements import check
from tests.postgres import Server, running
from tests.proxies import Proxy, serving, started, write_home
from tests.reading import read

COUNT = "SELECT CAST(COUNT(*) AS INT128) AS m0 FROM t"
SLOW = f"SELECT CAST(COUNT(*) AS INT128) AS m0 FROM {' CROSS JOIN '.join(f'big AS b{n}' for n in range(4))}"


def made(server: Server, statements: Sequence[str], role: str = "only_reads") -> str:
    """A database in which a role may read; the URL of that role."""
    name = server.database(name="source")
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone() is None:
            connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}".encode())
    return server.url(name).replace("postgres@", f"{role}@")


def owner(url: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(url.replace("only_reads@", "postgres@"), autocommit=True)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Pushed]]:
    found: list[Pushed] = []

    def open_one(url: str, limit: float = 30.0) -> Pushed:
        path = tmp_path / f"empty{len(found)}.duckdb"
        duckdb.connect(path).close()
        beside = Inline(DuckDB(path, prepared=path.with_name(f"given{len(found)}.duckdb")))
        found.append(Pushed(PostgresServer(url, "main", limit), beside, tmp_path))
        return found[-1]

    yield open_one
    for source in found:
        source.close()


def number(source: Pushed, sql: str = COUNT, session: str = "s") -> int:
    return int(source.run(read(sql), {}, session, epoch=source.epoch).value.column(0)[0].as_py())


TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v numeric(6,2) NOT NULL)",
    "INSERT INTO t SELECT i, i FROM generate_series(1, 100) AS i",
    "CREATE TABLE big AS SELECT i FROM generate_series(1, 3000) AS i",
)


def test_each_statement_reads_what_is_there_then(postgres: Server, opened: Callable[..., Pushed]):
    url = made(postgres, TABLES)
    source = opened(url)
    assert number(source) == 100
    with owner(url) as connection:
        connection.execute("DELETE FROM t WHERE id > 40")
    assert number(source) == 40


@pytest.mark.parametrize(
    ("grant", "told"),
    [
        ("ALTER ROLE writes SUPERUSER", "superuser"),
        ("GRANT INSERT ON t TO writes", 'write to table "t"'),
        ("GRANT UPDATE (v) ON t TO writes", 'write to table "t"'),
        ("ALTER TABLE t OWNER TO writes", 'write to table "t"'),
    ],
)
def test_a_role_that_could_write_is_refused_at_the_start(postgres: Server, grant: str, told: str):
    url = made(postgres, TABLES, "writes")
    with psycopg.connect(url.replace("writes@", "postgres@"), autocommit=True) as connection:
        connection.execute("ALTER ROLE writes NOSUPERUSER")
        connection.execute(grant.encode())
    with pytest.raises(StartupError, match=told):
        PostgresServer(url, "main", 30.0)
    with psycopg.connect(url.replace("writes@", "postgres@"), autocommit=True) as connection:
        connection.execute("ALTER ROLE writes NOSUPERUSER")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://nobody:hidden@127.0.0.1:1/x", "no server listens"),
        ("postgresql://nobody:with@hidden@127.0.0.1:1/x", "host is not known; in a password, write %40"),
        ("postgresql://a:hidden@[::1", "expected postgresql://"),
        ("postgresql://a:hidden@/x?host=/nowhere", "no server listens"),
    ],
)
def test_a_server_that_is_not_there_is_told_without_the_url(url: str, told: str):
    with pytest.raises(StartupError, match=rf"^data\.main\.url: .*{told}") as refused:
        PostgresServer(url, "main", 30.0)
    assert "hidden" not in str(refused.value)


def test_a_database_or_a_role_that_is_not_there_is_told_apart(postgres: Server):
    with pytest.raises(StartupError, match="no such database"):
        PostgresServer(postgres.url("nowhere"), "main", 30.0)
    with pytest.raises(StartupError, match="refuses the role or its password"):
        PostgresServer(postgres.url().replace("postgres@", "nobody@"), "main", 30.0)


def test_a_connection_cannot_write(postgres: Server):
    server = PostgresServer(made(postgres, TABLES), "main", 30.0)
    with server._connect() as connection:
        for statement in ("CREATE TABLE x (a int)", "INSERT INTO public.t VALUES (0, 0)"):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                connection.execute(statement)
    server.close()


def test_a_cancel_from_another_thread_stops_a_statement(postgres: Server, opened: Callable[..., Pushed]):
    source = opened(made(postgres, TABLES))
    threading.Timer(0.5, source.interrupt, ("slow",)).start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        number(source, SLOW, "slow")
    assert time.monotonic() - began < 20
    assert number(source) == 100


def test_a_late_cancel_meets_no_statement_of_others(postgres: Server, monkeypatch: pytest.MonkeyPatch):
    """A statement ends by itself while its cancel is on its way to the server."""
    server = PostgresServer(made(postgres, TABLES), "main", 30.0)
    cancel = psycopg.Connection.cancel_safe
    is_late, is_sent = threading.Event(), threading.Event()

    def late(connection: psycopg.Connection[object], **how: float) -> None:
        is_late.wait(20)
        with suppress(psycopg.Error):
            cancel(connection, **how)
        is_sent.set()

    def order(session: str, sql: str) -> Order:
        return Order(sql, (), pa.schema([("i", pa.int32())]), session, 20.0, charged=False)

    monkeypatch.setattr(psycopg.Connection, "cancel_safe", late)
    rows = server.batches(order("ann", "SELECT i FROM generate_series(1, 100000) AS i"))
    next(rows)
    server.interrupt("ann")
    assert list(rows)
    threading.Timer(0.3, is_late.set).start()
    assert len(list(server.batches(order("bob", "SELECT 1 AS i FROM pg_sleep(1.5)")))) == 1
    assert is_sent.wait(20)
    server.close()


def test_one_that_changed_its_mind_before_is_not_begun(postgres: Server, opened: Callable[..., Pushed]):
    source = opened(made(postgres, TABLES))
    with pytest.raises(Cancelled):
        source.run(read(COUNT), {}, "s", cancelled=lambda: True)


def test_the_limit_of_a_statement_is_its_end(postgres: Server, opened: Callable[..., Pushed]):
    source = opened(made(postgres, TABLES), limit=1.0)
    with pytest.raises(Cancelled, match="timeout"):
        number(source, SLOW)
    assert number(source) == 100


def test_a_client_that_takes_its_time_is_not_at_a_limit(postgres: Server):
    server = PostgresServer(made(postgres, TABLES), "main", 30.0)
    types = pa.schema([("i", pa.int64())])
    batches = server.batches(
        Order('SELECT i FROM "public"."big", generate_series(1, 20)', (), types, "s", 1.0, charged=False)
    )
    first = next(batches)
    time.sleep(1.5)
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 60_000
    server.close()


def test_after_a_restart_of_the_server_the_next_statement_works(opened: Callable[..., Pushed]):
    with running() as server:
        source = opened(made(server, TABLES))
        assert number(source) == 100
        failed: list[Refusal] = []

        def ask() -> None:
            with pytest.raises(Refusal) as refused:
                number(source, SLOW, "slow")
            failed.append(refused.value)

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.5)
        server.stop("immediate")
        thread.join(30)
        assert [type(e) for e in failed] == [WorkerLost]
        with pytest.raises(Internal):
            number(source)
        server.start()
        assert number(source) == 100


def test_what_is_not_known_to_be_computed_alike_is_refused_first(
    postgres: Server, opened: Callable[..., Pushed]
):
    source = opened(made(postgres, TABLES))
    for sql in (
        "SELECT nextval('s') FROM t",
        "SELECT md5(v) FROM t",
        "SELECT * FROM nowhere",
        "SELECT id FROM t LIMIT id",
    ):
        with pytest.raises(Unsupported):
            check(source, sql)


MOMENTS = (
    "CREATE TABLE days (n int, d date, m timestamp)",
    """INSERT INTO days VALUES (1, 'infinity', 'infinity'), (2, '-infinity', '-infinity'), (3, NULL, NULL),
      (4, '2020-02-29', '2020-02-29 01:02:03.000004')""",
)
PARTS = [
    f"date_part('{part}', {column})"
    for part in ("year", "week", "dow", "century", "isoyear", "doy")
    for column in ("d", "m")
]


@pytest.mark.parametrize(
    "sql",
    [
        *PARTS,
        "d - DATE '2000-01-01'",
        "d - d",
        "epoch_us(m)",
        "make_timestamp(epoch_us(m)) = m",
        "CAST(CAST(d AS TIMESTAMP) AS DATE) = d",
    ],
)
def test_days_without_end_raise_nowhere(postgres: Server, opened: Callable[..., Pushed], sql: str):
    source = opened(
        made(postgres, [*MOMENTS, "INSERT INTO days VALUES (5, '5874897-12-31', '294276-12-31 23:00')"])
    )
    text = f"SELECT {sql} AS v, n AS n FROM days"
    check(source, text)
    found = source.run(read(text), {}, "s").value.sort_by("n").column("v").to_pylist()
    assert len(found) == 5
    with duckdb.connect() as connection:
        for statement in MOMENTS:
            connection.execute(statement)
        wanted = [v for (v, _) in connection.execute(f"{text} ORDER BY n").fetchall()]
    assert found[:4] == wanted


def test_no_error_tells_a_value(postgres: Server, opened: Callable[..., Pushed]):
    source = opened(made(postgres, TABLES))
    with pytest.raises(Internal) as refused:
        source.run(
            read('SELECT CAST(CAST("v" AS HUGEINT) * 9223372036854775807 * 9 AS BIGINT) AS m0 FROM t'),
            {},
            "s",
        )
    assert "9223" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_public_table_that_changes_fails_one_statement_and_is_planned_anew(
    postgres: Server, opened: Callable[..., Pushed]
):
    url = made(
        postgres, [*TABLES, "CREATE TABLE wards (ward text, beds int)", "INSERT INTO wards VALUES ('a', 1)"]
    )
    source = opened(url)
    facts = Facts(source)
    most = "SELECT max(n) FROM (SELECT count(*) AS n FROM wards GROUP BY ward) AS g"
    assert facts(read(most)) == ((1,),)
    joined = "SELECT CAST(COUNT(*) AS INT128) AS m0 FROM t CROSS JOIN wards"
    assert number(source, joined) == 100
    with owner(url) as connection:
        connection.execute("INSERT INTO wards VALUES ('a', 2)")
    assert number(source) == 100
    with pytest.raises(FactsChanged):
        number(source, joined)
    assert facts(read(most)) == ((2,),)
    assert number(source, joined) == 200


PUBLIC = (
    "CREATE TABLE t (id int PRIMARY KEY, ward text NOT NULL)",
    "INSERT INTO t SELECT i, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END FROM generate_series(1, 100) AS i",
    "CREATE TABLE wards (ward text NOT NULL, floor int NOT NULL)",
    "INSERT INTO wards VALUES ('a', 1), ('b', 2)",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY (id);
ALTER TABLE t SET PRIVACY CEILING EPSILON 10;
ALTER TABLE t ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE wards SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET b LIMIT EPSILON 10 SESSION LIMIT EPSILON 10 MAX EPSILON 1 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
JOINED = "SELECT count(*) FROM t JOIN wards ON t.ward = wards.ward WHERE floor < {}"


def home_of(url: str, folder: Path) -> Path:
    home = write_home(folder, (), POLICY)
    home.write_text(home.read_text().replace('path = "data.duckdb"', f'url = "{url}"'))
    return home


def test_what_runs_on_the_server_is_explained_in_its_own_words(postgres: Server, tmp_path: Path):
    ann = Caller("ann", frozenset({"analyst"}), "ann")
    with started(home_of(made(postgres, PUBLIC), tmp_path)) as engine:
        engine.open(ann)

        def told(sql: str) -> str:
            rows = engine.run(Request(ann, engine.prepare(ann, sql, (), DEFAULTS), (), DEFAULTS)).rows
            return " ".join(str(row[0]).strip() for row in rows)

        charged = told("EXPLAIN VERBOSE SELECT count(*) FROM t WHERE ward < 'b'")
        assert ' COLLATE "C" <' in charged
        assert "hash_record_extended(" in charged
        assert "INT128" not in charged
        assert 'FROM "public"."wards"' in told("EXPLAIN (PRIVACY, VERBOSE) SELECT floor FROM wards")
        assert 'FROM "public"."t"' in told("EXPLAIN (PRIVACY, FORMAT JSON) SELECT count(*) FROM t").replace(
            "\\", ""
        )


def test_statements_that_differ_in_a_number_share_a_plan(postgres: Server, tmp_path: Path):
    ann = Caller("ann", frozenset({"analyst"}), "ann")
    with started(home_of(made(postgres, PUBLIC), tmp_path)) as engine:
        engine.open(ann)
        for number in (1, 2, 3):
            prepared = engine.prepare(ann, JOINED.format(number), (), DEFAULTS, only_at_hand=number == 3)
            assert prepared is not None
            plan = engine._plans.plan(Request(ann, prepared, (), DEFAULTS))
            assert isinstance(plan, Plan)
            [part] = plan.parts
            assert f"< {number}" in part.exact
            assert engine.run(Request(ann, prepared, (), DEFAULTS)).nano


def test_a_plan_runs_with_the_rows_of_public_tables_it_was_made_for_or_not_at_all(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    url = made(postgres, PUBLIC)
    with started(home_of(url, tmp_path)) as engine:
        ann, bob = (Caller(name, frozenset({"analyst"}), name) for name in ("ann", "bob"))

        def ask(caller: Caller, sql: str) -> Answer:
            return engine.run(Request(caller, engine.prepare(caller, sql, (), DEFAULTS), (), DEFAULTS))

        for caller in (ann, bob):
            engine.open(caller)
        ask(ann, JOINED.format(7))
        ask(bob, JOINED.format(7))
        rows = engine._answers.rows

        def after_a_change(asking: Execution, replan: Replan) -> object:
            """Between plan and run one ward has become ten, and somebody else has found out and planned anew."""
            monkeypatch.setattr(engine._answers, "rows", rows)
            with owner(url) as connection:
                connection.execute("INSERT INTO wards SELECT 'a', 1 FROM generate_series(1, 9)")
            with pytest.raises(FactsChanged):
                ask(bob, JOINED.format(8))
            ask(bob, JOINED.format(9))
            return rows(asking, replan)

        monkeypatch.setattr(engine._answers, "rows", after_a_change)
        with pytest.raises(FactsChanged):
            ask(ann, JOINED.format(10))
        ask(ann, JOINED.format(10))


HOSTILE = (
    "CREATE TABLE t (id int PRIMARY KEY, x float8, day timestamptz, name text)",
    "INSERT INTO t VALUES (1, 0.1::float8 + 0.2::float8, '2020-01-01 00:00:00+00', 'a'), (2, -1, NULL, 'b')",
    "CREATE FUNCTION abs(float8) RETURNS float8 LANGUAGE plpgsql AS $$BEGIN RAISE 'abs'; END$$",
    "CREATE FUNCTION same(text, text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
    "CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = same)",
    "CREATE FUNCTION count(int) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    "CREATE TYPE bigint AS ENUM ('no')",
)
SET = {
    "search_path": "public, pg_catalog",
    "timezone": "'Asia/Tokyo'",
    "datestyle": "SQL, DMY",
    "extra_float_digits": "-10",
    "standard_conforming_strings": "off",
    "transform_null_equals": "on",
    "statement_timeout": "1",
    "default_transaction_read_only": "off",
    "default_transaction_isolation": "'read committed'",
    "row_security": "on",
}


def test_what_a_role_sets_or_a_schema_holds_is_not_computed_with(
    postgres: Server, opened: Callable[..., Pushed]
):
    url = made(postgres, HOSTILE, role="set_up")
    with psycopg.connect(url.replace("set_up@", "postgres@"), autocommit=True) as connection:
        for name, value in SET.items():
            connection.execute(f"ALTER ROLE set_up SET {name} = {value}".encode())
    source = opened(url)
    found = source.run(
        read("SELECT id, abs(x) AS x, day, CAST(id AS BIGINT) AS b FROM t WHERE name = 'a'"), {}, "s"
    )
    assert found.value.to_pylist() == [
        {"id": 1, "x": 0.1 + 0.2, "day": datetime(2020, 1, 1, tzinfo=UTC), "b": 1}
    ]


def test_rows_that_a_policy_chooses_since_the_start_are_not_read(
    postgres: Server, opened: Callable[..., Pushed]
):
    url = made(postgres, TABLES)
    source = opened(url)
    assert number(source) == 100
    with owner(url) as connection:
        connection.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
        connection.execute("CREATE POLICY chosen ON t USING (1 / (id - 7) > 0)")
    with pytest.raises(Internal):
        number(source)
    with pytest.raises(Internal, match="not as it was"):
        check(source, "SELECT CAST(COUNT(id) AS INT128) AS m0 FROM t")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t ADD COLUMN w int",
        "ALTER TABLE t ALTER id SET NOT NULL",
        """DROP TABLE t; CREATE TABLE t (extra text, v numeric(6,2) NOT NULL, id int PRIMARY KEY);
        INSERT INTO t SELECT 'x', i, i FROM generate_series(1, 100) AS i; GRANT SELECT ON t TO only_reads""",
    ],
)
def test_a_change_that_is_none_to_what_was_read_goes_on(
    postgres: Server, opened: Callable[..., Pushed], change: str
):
    url = made(postgres, TABLES)
    source = opened(url)
    known = "SELECT CAST(COUNT(*) AS INT128) AS m0 FROM t WHERE t.v > 1"
    assert number(source, known) == 99
    with owner(url) as connection:
        connection.execute(change.encode())
    assert number(source, known) == 99
    check(source, known)


def test_a_table_that_is_replaced_while_a_statement_runs_gives_nothing(
    postgres: Server, opened: Callable[..., Pushed], monkeypatch: pytest.MonkeyPatch
):
    url = made(postgres, TABLES)
    source = opened(url)
    looked = PostgresServer.check_declared

    def changed(self: PostgresServer, *asked: object, **more: object) -> None:
        looked(self, *asked, **more)  # type: ignore[arg-type]
        monkeypatch.setattr(PostgresServer, "check_declared", looked)
        with owner(url) as connection:
            connection.execute("ALTER TABLE t ALTER v TYPE float8")

    known = "SELECT CAST(COUNT(*) AS INT128) AS m0 FROM t WHERE t.v > 1"
    assert number(source, known) == 99
    monkeypatch.setattr(PostgresServer, "check_declared", changed)
    with pytest.raises(Internal, match=r"not as it was .* stays charged"):
        number(source, known)


def test_statements_over_public_tables_are_answered_there_or_from_a_copy(
    postgres: Server, opened: Callable[..., Pushed]
):
    source = opened(made(postgres, TABLES))
    assert source.run_public(read("SELECT COUNT(*) AS n FROM t"), "s") == [(100,)]
    for sign, rows in (("LIKE", 12), ("NOT LIKE", 88), ("NOT ILIKE", 88)):
        sql = f"SELECT COUNT(*) AS n FROM t WHERE CAST(id AS TEXT) {sign} '1%'"
        assert "count(*)" in source.shown(read(sql)), "it is asked there"
        assert source.run_public(read(sql), "s") == [(rows,)]
    third = nodes.Formula(("LIST_SORT(LIST(", "))[3]"), (nodes.ColumnRef("id"),))
    copied = nodes.Select((nodes.Named(third, "n"),), nodes.Table("t"))
    assert source.run_public(copied, "s") == [(3,)]
    assert source.prepared_names() == set()
    assert source.run_open(read("SELECT id FROM t ORDER BY 1 LIMIT 2"), "s").column("id").to_pylist() == [
        1,
        2,
    ]
    table = [batch.num_rows for batch in source.run_portions(read("SELECT id FROM t"), 100, "s")]
    assert sum(table) == 100


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("REVOKE SELECT ON t FROM only_reads", 'table "t" is not there, or not for this role'),
        ("ALTER TABLE t RENAME COLUMN v TO w", 'table "t" has no column "v" any more'),
        ("ALTER TABLE t ALTER v TYPE numeric(6,1)", 'column "v" of table "t" is declared otherwise'),
        ("ALTER TABLE t ALTER v DROP NOT NULL", 'column "v" of table "t" is declared otherwise'),
        (
            "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v text NOT NULL); GRANT SELECT ON t TO only_reads",
            'column "v" of table "t" is declared otherwise',
        ),
    ],
)
def test_a_changed_source_is_told_to_the_operator_with_the_reason_and_to_the_client_without(
    postgres: Server,
    opened: Callable[..., Pushed],
    caplog: pytest.LogCaptureFixture,
    change: str,
    told: str,
):
    url = made(postgres, TABLES)
    source = opened(url)
    known, other = (f"SELECT CAST(COUNT(*) AS INT128) AS m0 FROM t WHERE t.v > {n}" for n in (1, 2))
    assert number(source, known) == 99
    with owner(url) as connection:
        connection.execute(change.encode())
    for ask in (lambda: number(source, known), lambda: check(source, other)):
        caplog.clear()
        with pytest.raises(
            Internal, match="the data source is not as it was when the proxy was started"
        ) as caught:
            ask()
        assert told not in f"{caught.value.message} {caught.value.hint}"
        assert told in caplog.text


def test_a_locked_table_is_not_waited_for_before_anything_is_charged(
    postgres: Server, opened: Callable[..., Pushed]
):
    url = made(postgres, TABLES)
    source = opened(url)
    check(source, COUNT)
    with locked(url, "t"):
        for sql in (
            COUNT,
            f"{COUNT} WHERE id > 1",
        ):  # one that the server took before is no sign that it would now
            begun = threading.Timer(0.2, source.interrupt, ("s",))
            begun.start()
            with asked_by("s"), pytest.raises(Cancelled, match="user request"):
                check(source, sql)
            begun.join()
    check(source, COUNT)


@contextmanager
def locked(url: str, table: str) -> Iterator[None]:
    """While somebody else changes a table."""
    with owner(url) as connection, connection.transaction():
        connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
        yield


def test_a_wait_for_a_lock_ends_at_the_limit_of_the_server(postgres: Server, opened: Callable[..., Pushed]):
    url = made(postgres, TABLES)
    source = opened(url, limit=0.2)
    with locked(url, "t"), pytest.raises(Cancelled, match="due to statement timeout"):
        check(source, COUNT)
    source = opened(url, limit=0.2)
    check(source, COUNT)
    with locked(url, "t"), pytest.raises(Cancelled, match="due to statement timeout"):
        number(source)


def test_what_the_planner_waits_for_ends_at_its_own_limit(
    postgres: Server, opened: Callable[..., Pushed], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dpproxy.backends.facts.LONGEST", 0.2)
    url = made(postgres, TABLES)
    facts = Facts(opened(url))
    with locked(url, "t"), pytest.raises(TooComplex, match="planning the statement takes longer"):
        facts(read(COUNT))
    assert facts(read(COUNT)) == ((100,),)


SIMPLE, EXTENDED = psycopg.ClientCursor, psycopg.RawCursor
COUNTED = "SELECT count(*) FROM t WHERE ward < '{}'"
IN_WARDS = "SELECT ward, floor FROM wards"


@pytest.fixture(scope="module")
def served(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Proxy]]:
    """The URL of what a proxy serves, and the proxy."""
    url = made(postgres, PUBLIC)
    home = home_of(url, tmp_path_factory.mktemp("served"))
    home.write_text(home.read_text().replace('padding = "0ms"', 'padding = "10ms"'))
    with serving(home) as proxy:
        yield url, proxy


@pytest.mark.parametrize("kind", [SIMPLE, EXTENDED])
@pytest.mark.parametrize(
    ("table", "sql"),
    [
        ("t", COUNTED),
        ("t", f"EXPLAIN (PRIVACY) {COUNTED}"),
        ("t", f"COPY ({COUNTED}) TO STDOUT"),
        ("t", f"DECLARE c CURSOR FOR {COUNTED}"),
        ("wards", JOINED),
        ("wards", f"EXPLAIN (PRIVACY) {JOINED}"),
        ("wards", IN_WARDS),
        ("wards", f"COPY ({IN_WARDS}) TO STDOUT"),
        ("wards", f"DECLARE c CURSOR FOR {IN_WARDS}"),
    ],
)
def test_a_wait_for_a_lock_ends_when_the_sessions_timeout_is_over(
    served: tuple[str, Proxy], kind: type, table: str, sql: str
):
    url, proxy = served
    sql = sql.format(next(_NUMBERS))  # never asked before: what was is answered without a look at the table
    with psycopg.connect(proxy.dsn(), autocommit=True, cursor_factory=kind) as client:
        spent = client.execute("SHOW dp.budget_remaining").fetchone()
        client.execute("SET statement_timeout = '300ms'")
        with locked(url, table):
            for _ in range(2):  # the next one of the session is not held up either
                _ends_in_time(client, sql)
        client.execute("SET statement_timeout = 0")
        assert client.execute("SHOW dp.budget_remaining").fetchone() == spent
        _all_of(client, sql)


_NUMBERS = count()


def _ends_in_time(client: psycopg.Connection[tuple[object, ...]], sql: str) -> None:
    begun = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled) as caught:
        _all_of(client, sql)
    assert time.monotonic() - begun >= 0.3
    assert caught.value.diag.message_primary == "canceling statement due to statement timeout"


def _all_of(client: psycopg.Connection[tuple[object, ...]], sql: str) -> None:
    """Run it, and read what it gives."""
    with client.transaction(), client.cursor() as cursor:
        if sql.startswith("COPY"):
            with cursor.copy(sql.encode()) as copy:
                assert b"".join(copy)
            return
        cursor.execute(sql.encode())
        if sql.startswith("DECLARE"):
            assert cursor.execute("FETCH ALL FROM c").fetchall()
