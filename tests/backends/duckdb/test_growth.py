"""A prepared table that followed added files is the one built whole, bit for bit."""

import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyarrow import parquet

from dpproxy.algebra.plan import PREPARED, PreparedTable
from dpproxy.backends.duckdb import growth, prepared
from dpproxy.backends.duckdb.prepared import MOST_LOADS, PreparedTables, prepared_file
from dpproxy.backends.duckdb.snapshot import snapshot
from dpproxy.backends.duckdb.source import DuckDB
from tests.backends.inline import Inline
from tests.golden.world import build, plan_of
from tests.reading import read

SECRET = b"s" * 32
COLUMNS = {
    "people": "id INTEGER, region VARCHAR",
    "visits": "person INTEGER, visit INTEGER, spend DOUBLE",
    "items": "visit INTEGER, price INTEGER",
    "rows": "x DOUBLE",
}
TYPES = {"INTEGER": pa.int32(), "VARCHAR": pa.string(), "DOUBLE": pa.float64()}
WORLD = replace(
    build(
        [
            *(f"CREATE TABLE {table} ({columns})" for table, columns in COLUMNS.items()),
            "ALTER TABLE people SET PRIVACY KEY (id)",
            "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 3",
            "ALTER TABLE items SET PRIVACY KEY (visit) REFERENCES visits (visit) MAX ROWS 2",
            "ALTER TABLE rows SET PRIVACY KEY ROW",
            "ALTER TABLE rows ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 9",
            "ALTER TABLE visits ALTER COLUMN spend SET PRIVACY DOMAIN BETWEEN 0 AND 5",
            "ALTER TABLE items ALTER COLUMN price SET PRIVACY DOMAIN BETWEEN 0 AND 5",
        ]
    ),
    prepared=True,
)
STATEMENTS = (
    "SELECT count(*) FROM people",
    "SELECT sum(spend) FROM visits",
    "SELECT sum(price) FROM items",
    "SELECT sum(x) FROM rows",
)
TABLES = [table for sql in STATEMENTS for part in plan_of(WORLD, sql, {}).parts for table in part.prepares]
"""A key, one through a reference, one through two, and rows that are units."""


class Loads:
    """A directory of Parquet files, and what a proxy keeps of it."""

    def __init__(self, folder: Path) -> None:
        self.source, self.state = folder / "source", folder / "state"
        self.state.mkdir(parents=True, exist_ok=True)

    def load(self, name: str, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        """Add a file to each table."""
        for table, columns in COLUMNS.items():
            file = self.source / table / f"{name}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            filled = zip(*rows.get(table, []), strict=True)
            named = [column.split() for column in columns.split(", ")]
            values = list(filled) or [()] * len(named)
            parquet.write_table(
                pa.table({n: pa.array(v, TYPES[kind]) for (n, kind), v in zip(named, values, strict=True)}),
                file,
            )

    def data(self) -> Path:
        return snapshot(self.source, self.state, lambda _: None)

    def prepared(self, tables: list[PreparedTable] = TABLES) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of prepared tables, as a proxy that starts now has them."""
        data = self.data()
        backend = Inline(DuckDB(data, threads=2, prepared=prepared_file(self.state, data, SECRET)))
        kept = PreparedTables(backend, SECRET, lambda _: None)
        try:
            kept.keep({table.name for table in tables})
            with kept.ready(tables, lambda: False):
                return {
                    table.table: backend.engine._connection.cursor()
                    .execute(f"FROM {PREPARED}.main.{table.name} ORDER BY ALL")
                    .fetchall()
                    for table in tables
                }
        finally:
            kept.close()
            backend.close()


@pytest.fixture
def loads(tmp_path: Path) -> Loads:
    return Loads(tmp_path)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that were not built whole."""
    found, follow = list[str](), growth._follow

    def noted(cursor: object, earlier: str, *rest: object) -> None:
        found.append(earlier.removeprefix(growth.EARLIER))
        follow(cursor, earlier, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(growth, "_follow", noted)
    return found


def some(random: Random, number: int = 60) -> dict[str, list[tuple[Any, ...]]]:
    """Few people of many rows, with duplicates, and references to rows of other files."""
    nobody = [*range(9), None]
    return {
        "people": [(random.choice(nobody), random.choice("ab")) for _ in range(number // 10)],
        "visits": [
            (random.choice(nobody), random.randrange(8), random.choice([1.5, 2.0, 99.0]))
            for _ in range(number)
        ],
        "items": [(random.randrange(8), random.randrange(9)) for _ in range(number)],
        "rows": [(random.choice([float("nan"), 0.5, 12.0, None]),) for _ in range(number)],
    }


def anew(folder: Path, files: list[tuple[str, dict[str, list[tuple[Any, ...]]]]]) -> Any:  # noqa: ANN401
    """The tables of these files, built whole."""
    whole = Loads(folder)
    for name, rows in files:
        whole.load(name, rows)
    return repr(whole.prepared())


def test_each_table_can_follow():
    assert [table.table for table in TABLES] == list(COLUMNS)
    assert all(growth.growth(table.query) for table in TABLES)


@pytest.mark.parametrize("seed", range(4))
def test_tables_that_followed_are_those_built_whole(
    loads: Loads, followed: list[str], tmp_path: Path, seed: int
):
    """Random files: a person has rows in all of them, some rows are alike, what rows refer to comes later."""
    random, files = Random(seed), list[tuple[str, Any]]()
    for number in range(4):
        files.append((f"day={number}", some(random, random.choice([0, 5, 60]))))
        loads.load(*files[-1])
        if number == 2 and seed % 2:
            continue  # nobody asks between two loads
        assert repr(loads.prepared()) == anew(tmp_path / f"whole {number}", files)
    assert len(followed) == 4 * (2 if seed % 2 else 3)


def test_a_table_that_is_cut_by_portions_is_the_same(
    loads: Loads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    files = [(f"day={number}", some(Random(number))) for number in range(2)]
    wholes = [anew(tmp_path / f"whole {number}", files[: number + 1]) for number in range(2)]
    monkeypatch.setattr(growth, "PORTION", 7)
    for file, whole in zip(files, wholes, strict=True):
        loads.load(*file)
        assert repr(loads.prepared()) == whole


def test_of_other_files_all_is_built_whole(loads: Loads, followed: list[str], tmp_path: Path):
    files = [(f"day={number}", some(Random(number))) for number in range(3)]
    for name, rows in files:
        loads.load(name, rows)
    loads.prepared()
    for table in COLUMNS:
        (loads.source / table / "day=0.parquet").unlink()
    assert repr(loads.prepared()) == anew(tmp_path / "removed", files[1:])
    loads.load("day=1", files[0][1])
    assert repr(loads.prepared()) == anew(tmp_path / "changed", [("day=1", files[0][1]), files[2]])
    assert followed == []


def test_a_table_follows_under_the_name_of_another_data_version(
    loads: Loads, followed: list[str], tmp_path: Path
):
    files = [(f"day={number}", some(Random(number))) for number in range(2)]
    loads.load(*files[0])
    loads.prepared()
    loads.load(*files[1])
    renamed = [replace(table, name=f"{table.name}v2") for table in TABLES]
    assert repr(loads.prepared(renamed)) == anew(tmp_path / "whole", files)
    assert followed == [table.name for table in TABLES]


KILLED = """
import os, signal, sys
from pathlib import Path
from dpproxy.backends.duckdb import growth
from tests.backends.duckdb.test_growth import Loads, TABLES

def half(cursor, earlier, *_):
    cursor.execute(f"DELETE FROM {growth._place(earlier)}")
    os.kill(os.getpid(), signal.SIGKILL)

growth._follow = half
loads = Loads(Path(sys.argv[1]))
loads.prepared()
"""


def test_one_that_is_killed_begins_again(loads: Loads, followed: list[str], tmp_path: Path):
    files = [(f"day={number}", some(Random(number))) for number in range(2)]
    loads.load(*files[0])
    loads.prepared()
    loads.load(*files[1])
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert repr(loads.prepared()) == anew(tmp_path / "whole", files)
    assert len(followed) == len(TABLES)


def test_tables_whose_log_is_not_in_their_file_are_built_whole(
    loads: Loads, followed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As on a full disk: under their new name they would be those of the files of before."""
    files = [(f"day={number}", some(Random(number))) for number in range(2)]
    loads.load(*files[0])
    loads.prepared()
    loads.load(*files[1])
    left = tmp_path / "left.wal"
    left.touch()
    monkeypatch.setattr(prepared, "log_of", lambda _: left)
    assert repr(loads.prepared()) == anew(tmp_path / "whole", files)
    assert not followed
    assert not left.exists()


def test_what_nobody_asks_for_is_dropped_in_the_end(loads: Loads, followed: list[str]):
    loads.load("day=0", some(Random(0)))
    loads.prepared()
    for number in range(1, MOST_LOADS + 2):
        loads.load(f"day={number}", {})
        loads.prepared(TABLES[:1])
    loads.prepared()
    assert followed == [TABLES[0].name] * (MOST_LOADS + 1)


def test_a_column_of_the_name_of_row_ids_is_no_row_id(followed: list[str], tmp_path: Path):
    odd = Loads(tmp_path / "odd")
    for name in ("day=0", "day=1"):
        file = odd.source / "rows" / f"{name}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table({"x": [1.0], "rowid": [0]}), file)
        assert len(odd.prepared(TABLES[3:])["rows"]) == int(name[-1]) + 1
    assert followed == []


CUT = "SELECT {} AS u FROM (SELECT * FROM ({}) AS b QUALIFY row_number() OVER (PARTITION BY {}) <= 1) AS b"


@pytest.mark.parametrize(
    "sql",
    [
        CUT.format("u", "SELECT DISTINCT u AS u FROM t", "u"),
        CUT.format("u", "SELECT u AS u FROM t WHERE NOT u IN (SELECT v FROM s)", "u"),
        CUT.format("u", "SELECT t.u AS u FROM t LEFT JOIN s ON t.u = s.u", "u"),
        CUT.format("u", "SELECT u AS u FROM t GROUP BY u", "u"),
        CUT.format("u", "SELECT u AS u, x AS x FROM t", "x"),
        CUT.format("u + 1", "SELECT u AS u FROM t", "u"),
        CUT.format("count(*)", "SELECT u AS u FROM t", "u"),
        "SELECT u AS u, (SELECT max(x) FROM s) AS m FROM t",
        "SELECT u AS u FROM t WHERE u > 1",
        "SELECT sum(u) AS u FROM t",
        "SELECT u AS u, row_number() OVER (PARTITION BY u) AS n FROM t",
    ],
)
def test_what_a_new_row_may_change_for_others_is_built_whole(sql: str):
    assert growth.growth(read(CUT.format("u", "SELECT u AS u FROM t", "u"))) is not None
    assert growth.growth(read(sql)) is None
