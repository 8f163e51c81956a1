"""Spark as a data source: what is told of its tables, what is stopped, and what becomes of a server that is lost."""

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import Request
from dpproxy.backends.failures import Altered, FactsChanged, WorkerLost
from dpproxy.backends.servers.source import Order
from dpproxy.backends.spark.server import Spark
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import Cancelled, Internal, Refusal, StartupError, Unsupported
from tests.backends.lake import Lake, rows
from tests.proxies import started, write_home
from tests.spark import Cluster, cluster

pytestmark = pytest.mark.external
ANN = Caller("ann", frozenset({"analyst"}), "session-ann")
LONG = (
    "SELECT count(1) AS c FROM range(3000000) AS a CROSS JOIN range(3000000) AS b WHERE a.id * b.id % 7 = 3"
)
"""Hours of work, in the server's own text."""
COUNTED = pa.schema([("c", pa.int64())])
POLICY = """
ALTER TABLE many SET PRIVACY KEY (u);
ALTER TABLE many SET PRIVACY CEILING EPSILON 20;
ALTER TABLE many ALTER COLUMN s SET PRIVACY DOMAIN IN ('a', 'b', 'c');
CREATE PRIVACY BUDGET research LIMIT EPSILON 20 DEFAULT EPSILON 1;
GRANT SELECT ON many TO analyst WITH PRIVACY BUDGET research;
"""


def long(session: str, limit: float = 60.0, *, charged: bool = True) -> Order:
    return Order(LONG, (), COUNTED, session, limit, charged=charged)


def count(server: Spark) -> list[tuple[str, ...]]:
    return rows(server, 'SELECT CAST(COUNT(*) AS INT128) AS m0 FROM "many"')


def outcome(server: Spark, order: Order) -> Refusal:
    with pytest.raises(Refusal) as caught:
        list(server.batches(order))
    return caught.value


@contextmanager
def meanwhile(server: Spark, order: Order, seconds: float = 3.0) -> Iterator[list[Refusal]]:
    """A statement that runs while the body does; what it raised, afterwards."""
    raised: list[Refusal] = []
    thread = threading.Thread(target=lambda: raised.append(outcome(server, order)))
    thread.start()
    time.sleep(seconds)
    assert thread.is_alive()
    yield raised
    thread.join(60)
    assert not thread.is_alive()


def test_the_schema_is_that_of_the_files(spark: Spark):
    found = {c.name: c.type.name for c in spark.schema().tables["edges"]}
    assert found == {
        "id": "int4", "i": "int4", "b": "int8", "d": "numeric", "x": "float8", "f": "float4", "s": "text",
        "t": "bool", "day": "date", "moment": "timestamp", "n": "numeric",
    }  # fmt: skip
    assert spark.tables("", "EDGES") is not None
    assert spark.tables("", "nothing") is None


def test_what_the_server_does_not_take_is_refused_without_its_words(spark: Spark):
    with pytest.raises(Unsupported) as caught:
        spark.check("SELECT no_such_function(s) FROM source_0", 0)
    assert "no_such" not in f"{caught.value.message} {caught.value.hint}"


def test_a_check_that_takes_too_long_is_refused_and_harms_nobody(
    cluster_alone: Spark, monkeypatch: pytest.MonkeyPatch
):
    before = cluster_alone._session()
    slow = "SELECT count(1) AS c FROM range(40000) AS a CROSS JOIN range(1000) AS b WHERE a.id * b.id % 7 = 3"
    order = Order(slow, (), COUNTED, "other", 120.0, charged=True)
    found: list[pa.Table] = []
    thread = threading.Thread(target=lambda: found.extend(cluster_alone.batches(order)))
    thread.start()
    time.sleep(1)
    with monkeypatch.context() as patched:
        patched.setattr("dpproxy.backends.spark.client.LONGEST_CHECK", 0.001)
        with pytest.raises(Unsupported, match="takes so long to read"):
            cluster_alone.check("SELECT count(DISTINCT u + 1) AS c FROM source_1", 0)
    thread.join(120)
    assert [t.num_rows for t in found] == [1]
    assert count(cluster_alone) == [("1000",)]
    assert cluster_alone._session() is before


def test_what_a_row_raises_is_not_told(
    spark: Spark, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
):
    order = Order("SELECT CAST(s AS BIGINT) AS c FROM source_0", (), COUNTED, "raises", 60.0, charged=True)
    refusal = outcome(spark, order)
    assert (type(refusal), refusal.message) == (
        Internal,
        "the statement could not be computed; it stays charged",
    )
    told = capfd.readouterr()
    assert "a%b_c" not in f"{refusal!r}{refusal.__cause__!r}{told.out}{told.err}{caplog.text}"
    assert count(spark) == [("1000",)]


@pytest.mark.parametrize(("told", "kept"), [(1000, True), (999, False)])
def test_a_statement_rests_on_what_public_tables_were(spark: Spark, told: int, *, kept: bool):
    known = pa.table({"n": pa.array([told], pa.int64())})
    facts = (("SELECT count(1) AS n FROM source_1", known),)
    order = Order("SELECT count(1) AS c FROM source_0", (), COUNTED, "facts", 60.0, charged=True, facts=facts)
    if kept:
        assert [t.column(0).to_pylist() for t in spark.batches(order)] == [[14]]
    else:
        assert isinstance(outcome(spark, order), FactsChanged)


@pytest.mark.parametrize(
    "other",
    ["1 AS a", "1 AS a, 'x' AS b", "1 AS a, 2.5::DOUBLE AS b", None],
    ids=["dropped", "text", "wider", "gone"],
)
def test_files_that_are_replaced_by_others_are_noticed(connect_port: int, tmp_path: Path, other: str | None):
    file = tmp_path / "t.parquet"

    def written(columns: str) -> None:
        file.unlink(missing_ok=True)
        duckdb.execute(f"COPY (SELECT {columns}) TO '{file}' (FORMAT parquet)")

    written("1 AS a, 2 AS b")
    source = Spark(f"sc://127.0.0.1:{connect_port}/;folder={tmp_path};tables=t", "main", 120.0)
    sql, tables = "SELECT count(b) AS c FROM source_0", frozenset({"t"})
    source.check(sql, 0, tables)
    order = Order(sql, (), COUNTED, "replaced", 60.0, charged=True, tables=tables)
    assert [t.column(0).to_pylist() for t in source.batches(order)] == [[1]]
    if other is None:
        file.unlink()
    else:
        written(other)
    for charged, told in ((True, "stays charged"), (False, "not as it was")):
        refusal = outcome(source, replace(order, charged=charged))
        assert isinstance(refusal, Altered)
        assert told in refusal.message
    with pytest.raises(Altered):
        source.check(sql, 0, tables)
    source.close()


def test_files_that_are_replaced_by_others_of_the_same_columns_are_read(connect_port: int, tmp_path: Path):
    def written(rows: int, name: str) -> None:
        new = tmp_path / "new"
        duckdb.execute(f"COPY (SELECT range AS a FROM range({rows})) TO '{new}' (FORMAT parquet)")
        new.replace(tmp_path / "t" / name)

    (tmp_path / "t").mkdir()
    written(1_000, "a.parquet")
    source = Spark(f"sc://127.0.0.1:{connect_port}/;folder={tmp_path};tables=t", "main", 120.0)
    sql = "SELECT count(1) AS c FROM source_0 WHERE a < 100000"
    order = Order(sql, (), COUNTED, "replaced", 60.0, charged=True, tables=frozenset({"t"}))
    found = []
    for number, name in ((0, ""), (90_000, "a.parquet"), (10, "b.parquet")):
        if name:
            written(number, name)
        found += [t.column(0).to_pylist() for t in source.batches(order)]
    assert found == [[1_000], [90_000], [90_010]]
    source.close()


@pytest.fixture(scope="module")
def cluster_alone(spark_cluster: Cluster, lake: Lake) -> Iterator[Spark]:
    """Sail does not stop a join before it has made its first rows."""
    server = Spark(lake.url(spark_cluster.port), "main", 120.0)
    yield server
    server.close()


def test_a_statement_is_stopped(cluster_alone: Spark):
    with meanwhile(cluster_alone, long("stopped")) as raised:
        cluster_alone.interrupt("stopped")
    assert isinstance(raised[0], Cancelled)
    assert count(cluster_alone) == [("1000",)]


def test_a_stop_while_it_is_asked_whether_there_was_one_is_kept(spark: Spark):
    order = Order("SELECT 1 AS c", (), COUNTED, "asked", 60.0, charged=True)
    stopped = replace(order, cancelled=lambda: spark.interrupt("asked") is not None)
    assert isinstance(outcome(spark, stopped), Cancelled)


def test_a_statement_ends_at_its_limit(cluster_alone: Spark):
    refusal = outcome(cluster_alone, long("limited", 2.0))
    assert refusal.message == "canceling statement due to statement timeout"
    assert count(cluster_alone) == [("1000",)]


def test_parameters_are_values(spark: Spark):
    sql = 'SELECT "id" AS "id" FROM "edges" WHERE "x" > CAST($2 AS DOUBLE)'
    assert rows(spark, sql, [2.0]) == [("10",), ("11",), ("14",), ("3",), ("4",), ("7",)]
    assert rows(spark, sql, [None]) == []


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("/;folder={folder}", "expected sc://host:port/;folder="),
        ("/;tables=edges", "expected sc://host:port/;folder="),
        ("/;folder={folder};tables=../edges", "expected sc://host:port/;folder="),
        ("/;folder={folder};tables=edges,Edges", "expected each table once"),
        ("/;folder={folder};tables=nothing", 'Parquet files that the server can read for table "nothing"'),
    ],
)
def test_a_url_that_serves_nothing_is_refused(sail_port: int, lake: Lake, end: str, said: str):
    url = f"sc://127.0.0.1:{sail_port}{end.format(folder=lake.folder)}"
    with pytest.raises(StartupError) as caught:
        Spark(url, "main", 60.0)
    assert said in str(caught.value)
    assert str(lake.folder) not in str(caught.value)


def test_no_server_is_said_at_once():
    began = time.monotonic()
    with pytest.raises(StartupError, match=r"data\.main\.url: no Spark Connect server can be reached"):
        Spark("sc://127.0.0.1:9/;folder=/data;tables=t;token=secret", "main", 60.0)
    assert time.monotonic() - began < 20


@pytest.mark.timeout(900)
def test_a_lost_server_fails_what_runs_and_nothing_else(tmp_path: Path):
    """One cluster, whose processes are killed one after the other while statements run."""
    lake = Lake(tmp_path)
    with cluster() as servers:
        file = write_home(tmp_path / "home", (), POLICY)
        text = file.read_text(encoding="utf-8")
        file.write_text(
            text.replace('path = "data.duckdb"', f'url = "{lake.url(servers.port, "many")}"'),
            encoding="utf-8",
        )
        with started(file) as engine:
            engine.open(ANN)
            server: Spark = engine._backend._server  # type: ignore[attr-defined]
            _a_worker_is_lost(servers, server)
            _the_master_is_lost(servers, server)
            _the_driver_is_lost(servers, engine, server)


def _a_worker_is_lost(servers: Cluster, server: Spark) -> None:
    """Its work is done again elsewhere."""
    slow = (
        "SELECT CAST(sum(CAST(u AS DECIMAL(28,0))) AS DECIMAL(38,0)) AS c FROM source_0 "
        "CROSS JOIN range(0, 60000, 1, 4) AS r WHERE u * r.id % 7 >= 0"
    )
    order = Order(slow, (), pa.schema([("c", pa.decimal128(38, 0))]), "worker", 120.0, charged=True)
    found: list[pa.Table] = []
    thread = threading.Thread(target=lambda: found.extend(server.batches(order)))
    thread.start()
    time.sleep(1)
    servers.kill("worker1")
    thread.join(120)
    assert [t.column(0).to_pylist() for t in found] == [[sum(range(1000)) * 60000]]
    servers.start("worker1")
    assert count(server) == [("1000",)]


def _the_master_is_lost(servers: Cluster, server: Spark) -> None:
    """Who computes goes on."""
    with meanwhile(server, long("master"), 1.0) as raised:
        servers.kill("master")
        assert count(server) == [("1000",)]
        server.interrupt("master")
    assert isinstance(raised[0], Cancelled)
    servers.start("master")


def _the_driver_is_lost(servers: Cluster, engine: Engine, server: Spark) -> None:
    """What ran has failed and stays charged; without a server nothing is answered; with a new one all is."""
    before = engine.show(ANN, "dp.budget_remaining", DEFAULTS)
    prepared = engine.prepare(ANN, "SELECT s, count(*) FROM many GROUP BY s", (), DEFAULTS)
    server.check = lambda *_: None  # type: ignore[method-assign] - what runs is replaced below
    raised: list[BaseException] = []
    batches = server.batches

    def slow(order: Order) -> Generator[pa.Table]:
        return batches(long(order.session))

    def ask() -> None:
        try:
            engine.run(Request(ANN, prepared, (), DEFAULTS))
        except Refusal as refusal:
            raised.append(refusal)

    server.batches = slow  # type: ignore[method-assign]
    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(3)
    assert thread.is_alive()
    servers.kill("connect")
    thread.join(60)
    del server.batches, server.check
    assert isinstance(raised[0], WorkerLost)
    assert engine.show(ANN, "dp.budget_remaining", DEFAULTS) != before
    with pytest.raises(Internal, match="not available at the moment"):
        count(server)
    for name in ("worker1", "worker2"):
        servers.kill(name)
    servers.start("worker1", "worker2", "connect")
    assert count(server) == [("1000",)]
    assert len(engine.run(Request(ANN, prepared, (), DEFAULTS)).rows) == 3
