"""Prepared tables of a Spark source: the rows that count, divided by date, whole or not there."""

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Part
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.servers.source import Pushed
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
    (made / "data").mkdir()
    duckdb.execute(f"COPY ({ROWS}) TO '{made}/data/visits.parquet' (FORMAT parquet)")
    return made


@pytest.fixture
def opened(spark_cluster: object, folder: Path, tmp_path: Path) -> Iterator[Open]:
    found: list[Pushed] = []

    def open_one(secret: bytes = SECRET) -> tuple[Spark, Pushed]:
        url = f"sc://127.0.0.1:{spark_cluster.port};folder={folder}/data;tables=visits"  # type: ignore[attr-defined]
        server = Spark(f"{url};prepared={folder}/kept", "main", 120.0)
        path = tmp_path / f"empty{len(found)}.duckdb"
        duckdb.connect(path).close()
        found.append(Pushed(server, Inline(DuckDB(path)), tmp_path, SparkPrepared(server, "main", secret)))
        return server, found[-1]

    yield open_one
    for source in found:
        source.close()


def planned(sql: str, *, prepared: bool = True, version: int = 1, most: int = EVERY) -> Part:
    world = WORLDS[most]
    policy = replace(world.policy, data_version=version)
    [part] = plan_of(replace(world, prepared=prepared, policy=policy), sql, {}).parts
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
        whole, part = planned(sql, prepared=False, most=most), planned(sql, most=most)
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
    server.write("SELECT 1 AS person", f"{keeper._folder}/{table.name}_half", keeper._order("half"))
    assert table.name not in source.prepared_names()
    assert answer(source, part) == answer(source, planned(ONE_DAY, prepared=False))


def test_what_is_dropped_is_not_found_and_is_emptied_at_the_next_start(opened: Open, folder: Path):
    _, source = opened()
    part = planned(ONE_DAY, version=3)
    [table] = part.prepares
    before = answer(source, part)
    source.build(table.name, None, {}, "prepare", bool)
    assert table.name not in source.prepared_names()
    assert source.run(part.query, VALUES, "ann").value.to_pylist() == before
    [place] = (folder / "kept").glob(f"dp_*/{table.name}_*")
    assert list(place.rglob("day=*/*.parquet"))
    opened()
    assert not list(place.rglob("day=*/*.parquet"))


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
