"""Prepared tables of a Spark source: the rows that count, divided by date, whole or not there."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Part
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.servers.source import Pushed, build_order
from dpproxy.backends.spark import prepared
from dpproxy.backends.spark.prepared import SparkPrepared
from dpproxy.backends.spark.server import Spark
from dpproxy.values.errors import Cancelled, Internal
from tests.backends.inline import Inline
from tests.golden.world import build, plan_of

pytestmark = pytest.mark.external
SECRET = bytes(32)
VALUES = {"1": SECRET.hex()}
WORLDS = {
    most: build(
        [
            "CREATE TABLE visits (person INTEGER, day DATE, spend DOUBLE, region VARCHAR)",
            f"ALTER TABLE visits SET PRIVACY KEY (person) MAX ROWS {most}",
            "ALTER TABLE visits ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '2026-01-01' AND '2026-12-31'",
            "ALTER TABLE visits ALTER COLUMN spend SET PRIVACY DOMAIN BETWEEN 0 AND 100",
            "ALTER TABLE visits ALTER COLUMN region SET PRIVACY DOMAIN IN ('a', 'b')",
        ]
    )
    for most in (30, 40)
}
ROWS = (
    "SELECT CAST(i % 50 AS INTEGER) AS person, CASE WHEN i % 11 > 0 THEN DATE '2025-12-30' + CAST(i % 10 AS INTEGER) "
    "END AS day, i / 7 AS spend, CASE WHEN i % 3 = 0 THEN 'b' ELSE 'a' END AS region FROM range(2000) AS r(i)"
)
ONE_DAY = "SELECT sum(spend), count(*) FROM visits WHERE day = DATE '2026-01-03'"
EVERY = 40
"""Rows of a person: beyond them nothing is left out, before WHERE or after it."""
STATEMENTS = (
    (ONE_DAY, EVERY),
    ("SELECT region, count(*), count(day), sum(spend) FROM visits GROUP BY region", 30),
)
Open = Callable[..., tuple[Spark, Pushed]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("kept")
    for data, rows in (("data", ROWS), ("newer", f"{ROWS} WHERE i < 20")):
        (made / data).mkdir()
        duckdb.execute(f"COPY ({rows}) TO '{made}/{data}/visits.parquet' (FORMAT parquet)")
    duckdb.execute(f"COPY (SELECT 1 AS a) TO '{made}/data/other.parquet' (FORMAT parquet)")
    return made


@pytest.fixture
def opened(spark_cluster: object, folder: Path, tmp_path: Path) -> Iterator[Open]:
    found: list[Pushed] = []

    def open_one(secret: bytes = SECRET, data: str = "data", tables: str = "visits") -> tuple[Spark, Pushed]:
        url = f"sc://127.0.0.1:{spark_cluster.port};folder={folder}/{data};tables={tables}"  # type: ignore[attr-defined]
        server = Spark(f"{url};prepared={folder}/kept", "main", 120.0)
        path = tmp_path / f"empty{len(found)}.duckdb"
        duckdb.connect(path).close()
        found.append(Pushed(server, Inline(DuckDB(path)), tmp_path, SparkPrepared(server, "main", secret)))
        return server, found[-1]

    yield open_one
    for source in found:
        source.close()


def planned(sql: str, *, is_prepared: bool = True, version: int = 1, most: int = EVERY) -> Part:
    world = WORLDS[most]
    policy = replace(world.policy, data_version=version)
    [part] = plan_of(replace(world, prepared=is_prepared, policy=policy), sql, {}).parts
    return part


def answer(source: Pushed, part: Part) -> list[dict[str, object]]:
    source.check(part.query, part.prepares)
    for table in part.prepares:
        source.build(table.name, table.query, VALUES, "prepare", bool)
    found: list[dict[str, object]] = source.run(part.query, VALUES, "ann").value.to_pylist()
    return sorted(found, key=repr)


def test_answers_are_those_of_the_rows_and_few_folders_are_read(opened: Open, folder: Path):
    server, source = opened()
    for sql, most in STATEMENTS:
        whole, part = planned(sql, is_prepared=False, most=most), planned(sql, most=most)
        assert part.prepares
        assert answer(source, part) == answer(source, whole)
    [table] = planned(ONE_DAY).prepares
    [kept] = (folder / "kept").glob(f"dp_*/{table.name}_*")
    days = sorted(place.name for place in kept.glob("day=*"))
    assert days == [*(f"day=2026-01-0{n}" for n in range(1, 9)), "day=__HIVE_DEFAULT_PARTITION__"]
    shown = server._session().spark.sql(f"EXPLAIN FORMATTED {source.shown(planned(ONE_DAY).query)}")
    [filters] = [line for line in shown.collect()[0][0].splitlines() if "PartitionFilters" in line]
    assert "2026-01-03" in filters


def test_they_are_found_again_and_by_nobody_with_another_secret(opened: Open):
    server, source = opened()
    part = planned(ONE_DAY)
    before = answer(source, part)
    [table] = part.prepares
    assert table.name in opened()[1].prepared_names()
    assert opened(b"o" * 32)[1].prepared_names() == set()
    server._forget(server._session())  # as if the server had forgotten it
    assert source.run(part.query, VALUES, "ann").value.to_pylist() == before


def test_what_was_half_written_is_not_there(opened: Open):
    server, source = opened()
    part = planned(ONE_DAY, version=2)
    [table] = part.prepares
    source.check(part.query, part.prepares)
    with pytest.raises(Cancelled):
        source.build(table.name, table.query, VALUES, "prepare", lambda: True)
    keeper = source._kept._keeper  # type: ignore[union-attr]
    server.write("SELECT 1 AS person", f"{keeper._folder}/{table.name}_half", build_order("half"))
    assert table.name not in source.prepared_names()
    assert answer(source, part) == answer(source, planned(ONE_DAY, is_prepared=False))


def rows_in(folder: Path, table: str) -> list[int]:
    """How many files of rows each place of a table has."""
    places = (folder / "kept").glob(f"dp_*/{table}_*")
    return sorted(len(list(place.rglob("*.parquet"))) for place in places)


def test_what_is_dropped_is_built_again_and_its_rows_are_removed_later(
    opened: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    server, source = opened()
    part = planned(ONE_DAY, version=3)
    [table] = part.prepares
    before = answer(source, part)
    place = server._prepared[table.name]
    source.build(table.name, None, {}, "prepare", bool)
    assert table.name not in source.prepared_names()
    opened()
    assert 0 not in rows_in(folder, table.name)
    monkeypatch.setattr(prepared, "KEPT", -60.0)
    opened()
    assert rows_in(folder, table.name) == [0]
    assert source.run(part.query, VALUES, "ann").value.to_pylist() == before
    opened()
    assert len(rows_in(folder, table.name)) == 2
    server.is_whole = lambda _: True
    for session in (server._session(), None):  # with the files that were there, and listed anew
        if session is None:
            server._forget(server._session())
        server._prepared.clear()
        if session is None:
            server.show(table.name, place)
        else:
            server._prepared[table.name] = place
            server._show_all(session)
        for sql in (ONE_DAY, "SELECT count(*) FROM visits"):
            with pytest.raises(Internal):
                source.run(planned(sql, version=3).query, VALUES, "ann")


def test_what_is_dropped_while_a_statement_reads_it_is_not_used(opened: Open):
    server, source = opened()
    part = planned(ONE_DAY, version=5)
    [table] = part.prepares
    before = answer(source, part)
    first = server._prepared[table.name]
    keeper = source._kept._keeper  # type: ignore[union-attr]
    rows = server._rows

    def dropping(*order: object) -> Iterator[object]:
        yield from rows(*order)  # type: ignore[arg-type]
        if server._prepared[table.name] == first:
            keeper.drop(table.name, "other")

    server._rows = dropping  # type: ignore[assignment, method-assign]
    assert source.run(part.query, VALUES, "ann").value.to_pylist() == before
    assert server._prepared[table.name] != first


def test_a_proxy_with_other_tables_leaves_those_of_others_until_nobody_opens_them(
    opened: Open, monkeypatch: pytest.MonkeyPatch
):
    server, source = opened()
    part = planned(ONE_DAY, version=6)
    [table] = part.prepares
    before = answer(source, part)
    place = server._prepared[table.name]
    monkeypatch.setattr(prepared, "KEPT", -60.0)
    _, other = opened(tables="visits,other")
    assert table.name not in other.prepared_names()
    assert source.run(part.query, VALUES, "ann").value.to_pylist() == before
    assert server._prepared[table.name] == place
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + prepared.UNOPENED + 60)
    opened(tables="visits,other")
    monkeypatch.undo()
    assert table.name not in source.prepared_names()
    assert source.run(part.query, VALUES, "ann").value.to_pylist() == before


def test_rows_of_another_folder_are_not_those_of_this_one(opened: Open):
    _, source = opened()
    part = planned(ONE_DAY, version=7)
    before = answer(source, part)
    _, newer = opened(data="newer")
    assert newer.prepared_names() == set()
    found = answer(newer, part)
    assert found == answer(newer, planned(ONE_DAY, is_prepared=False)) != before


def test_rows_of_builds_that_were_killed_are_removed(
    opened: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    _, source = opened()
    part = planned(ONE_DAY, version=8)
    [table] = part.prepares
    keeper = source._kept._keeper  # type: ignore[union-attr]
    note = keeper._note

    def killed(name: str, where: str, columns: str, event: str) -> None:
        if event == "built":
            raise KeyboardInterrupt
        note(name, where, columns, event)

    keeper._note = killed
    source.check(part.query, part.prepares)
    with pytest.raises(KeyboardInterrupt):
        source.build(table.name, table.query, VALUES, "prepare", bool)
    opened()
    [files] = rows_in(folder, table.name)
    assert files
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + prepared.LONGEST_BUILD + 60)
    opened()
    assert rows_in(folder, table.name) == [0]


def test_of_two_that_were_built_at_once_both_are_dropped(opened: Open):
    _, first = opened()
    _, second = opened()
    part = planned(ONE_DAY, version=9)
    [table] = part.prepares
    keepers = [source._kept._keeper for source in (first, second)]  # type: ignore[union-attr]
    for source, keeper in zip((first, second), keepers, strict=True):
        source.check(part.query, part.prepares)
        names, keeper.names = keeper.names, set
        source.build(table.name, table.query, VALUES, "prepare", bool)
        keeper.names = names
    assert len([e for e in keepers[0]._events() if e["event"] == "built" and table.name in e["name"]]) == 2
    first.build(table.name, None, {}, "prepare", bool)
    assert table.name not in first.prepared_names() | second.prepared_names()


def test_a_stop_that_meets_a_build_stops_it(opened: Open):
    server, source = opened()
    part = planned(ONE_DAY, version=10)
    [table] = part.prepares
    source.check(part.query, part.prepares)

    def stopped() -> bool:
        server.interrupt("prepare")
        return False

    with pytest.raises(Cancelled):
        source.build(table.name, table.query, VALUES, "prepare", stopped)
    assert table.name not in source.prepared_names()


def test_files_of_other_columns_are_not_prepared(opened: Open, folder: Path):
    _, source = opened()
    part = planned(ONE_DAY, version=4)
    [table] = part.prepares
    source.check(part.query, part.prepares)
    file = folder / "data" / "visits.parquet"
    kept = file.read_bytes()
    try:
        duckdb.execute(f"COPY (SELECT *, 1 AS more FROM ({ROWS})) TO '{file}' (FORMAT parquet)")
        with pytest.raises(Internal):
            source.build(table.name, table.query, VALUES, "prepare", bool)
        assert table.name not in source.prepared_names()
    finally:
        file.write_bytes(kept)
