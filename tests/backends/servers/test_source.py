"""What is asked where; a server that is none keeps what it was asked."""

from collections.abc import Generator, Mapping
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpproxy.algebra.plan import PREPARED
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.facts import PLANNER
from dpproxy.backends.failures import FactsChanged
from dpproxy.backends.postgres.dialect import dialect
from dpproxy.backends.servers.dialect import Value, ValueKind, stored
from dpproxy.backends.servers.source import Order, Pushed
from dpproxy.values.errors import Refusal, Unsupported
from dpproxy.values.pgtypes import INT4, Column, Schema
from tests.backends.inline import Inline
from tests.backends.statements import check
from tests.reading import read


class Server:
    """Answers every statement with the same numbers."""

    def __init__(self) -> None:
        self.dialect, self.limit = dialect("public"), 5.0
        self.asked: list[Order] = []
        self.checked: list[str] = []
        self.number = 7
        self.fails: Exception | None = None

    def schema(self) -> Schema:
        return Schema({"t": (Column("id", INT4),)})

    def tables(self, database: str, name: str) -> Mapping[str, Value] | None:
        return {"id": stored(ValueKind.WHOLE)} if (database, name) == ("", "t") else None

    def check(self, sql: str, parameters: int, _: frozenset[str] = frozenset()) -> None:
        assert parameters == 0
        self.checked.append(sql)

    def batches(self, order: Order) -> Generator[pa.Table]:
        self.asked.append(order)
        if self.fails is not None:
            raise self.fails
        rows = [[self.number] * 2 for _ in order.types]
        yield pa.table(
            [pa.array(r, f.type) for r, f in zip(rows, order.types, strict=True)], schema=order.types
        )

    def interrupt(self, session: str) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def source(server: Server, tmp_path: Path) -> Pushed:
    with duckdb.connect(tmp_path / "view.duckdb") as connection:
        connection.execute("CREATE TABLE rows AS SELECT 5 AS id")
    duckdb.connect(tmp_path / "empty.duckdb").close()
    beside = Inline(DuckDB(tmp_path / "empty.duckdb", prepared=tmp_path / "given.duckdb"))
    return Pushed(server, beside, tmp_path)


COUNT = "SELECT CAST(COUNT(*) AS INT128) AS m0 FROM t"


def test_an_exact_stage_is_looked_at_once_and_run_there(source: Pushed, server: Server):
    check(source, COUNT)
    assert source.run(read(COUNT), {}, "s", few=()).value.column(0).to_pylist() == [7, 7]
    assert len(server.checked) == 1
    assert server.asked[0].charged
    assert server.asked[0].few


def test_what_is_shown_is_what_the_server_reads(source: Pushed, server: Server):
    source.run(read(COUNT), {}, "s")
    assert source.shown(read(COUNT)) == server.asked[0].sql != COUNT
    for local in ("SELECT ARRAY_AGG(id) AS l FROM t", f'SELECT "id" AS id FROM "{PREPARED}"."main"."v1"'):
        assert source.shown(read(local)) == local


def test_groups_are_selected_as_they_come(source: Pushed):
    keyed = COUNT.replace("SELECT", "SELECT id AS k0,").replace("m0 FROM t", "m0 FROM t GROUP BY 1")
    table = source.run(read(keyed), {}, "s", select=lambda counts: np.arange(len(counts.value)) > 0).value
    assert table.to_pylist() == [{"k0": 7}]


def test_rows_of_a_protected_view_are_beside_the_data(source: Pushed, server: Server, tmp_path: Path):
    source.load("v1", tmp_path / "view.duckdb", "SELECT * FROM rows")
    sql = f'SELECT "id" AS id FROM "{PREPARED}"."main"."v1"'
    assert source.run_public(read(sql), "s") == [(5,)]
    assert server.asked == []
    with pytest.raises(Unsupported):
        check(source, f'SELECT t.id AS id FROM t CROSS JOIN "{PREPARED}"."main"."v1" AS v')
    source.unload("v1")
    assert source.prepared_names() == set()


def test_what_the_server_may_not_answer_alike_is_answered_from_a_copy(source: Pushed, server: Server):
    plan = read("SELECT list(id) AS l FROM t")
    assert source.run_public(plan, "s") == [([7, 7],)]
    assert not server.asked[0].charged
    with pytest.raises(Unsupported):
        source.run_public(plan, f"{PLANNER}1")


def test_what_plans_rest_on_is_looked_at_again(source: Pushed, server: Server):
    source.run_public(read("SELECT max(id) AS m FROM t"), f"{PLANNER}1")
    before = source.epoch
    source.run(read(COUNT), {}, "s", epoch=before)
    assert len(server.asked[-1].facts) == 1
    server.fails = FactsChanged("changed")
    with pytest.raises(Refusal):
        source.run(read(COUNT), {}, "s", epoch=before)
    server.fails = None
    source.run(read(COUNT), {}, "s", epoch=source.epoch)
    assert source.epoch == before + 1
    assert server.asked[-1].facts == ()


def test_a_plan_of_an_epoch_that_is_over_is_not_run(source: Pushed, server: Server):
    most = read("SELECT max(id) AS m FROM t")
    source.run_public(most, f"{PLANNER}1")
    planned, server.fails = source.epoch, FactsChanged("changed")
    with pytest.raises(FactsChanged):
        source.run(read(COUNT), {}, "another", epoch=planned)
    server.fails = None
    asked = len(server.asked)
    with pytest.raises(FactsChanged):
        source.run(read(COUNT), {}, "s", epoch=planned)
    source.run_public(most, f"{PLANNER}2")  # the digests of now would not be those of the plan
    with pytest.raises(FactsChanged):
        source.run(read(COUNT), {}, "s", epoch=planned)
    assert not any(order.charged for order in server.asked[asked:])
    assert source.epoch == planned + 1


def test_what_changes_while_a_fact_is_read_is_read_again(source: Pushed, server: Server):
    batches, before = server.batches, source.epoch
    most = read("SELECT max(id) AS m FROM t")

    def once(order: Order) -> Generator[pa.Table]:
        if order.facts:
            del server.batches  # type: ignore[misc] - the method is there again
            raise FactsChanged("changed")
        return batches(order)

    server.batches = once  # type: ignore[method-assign]
    assert source.run_public(most, f"{PLANNER}1") == [(7,), (7,)]
    assert source.epoch == before + 1
    with pytest.raises(FactsChanged):
        source.run(read(COUNT), {}, "s", epoch=before)


def test_a_text_that_grew_too_long_is_refused(source: Pushed, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.backends.servers.printer.LONGEST", 10)
    with pytest.raises(Unsupported):
        check(source, COUNT)
