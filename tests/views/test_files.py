from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dpproxy.values.errors import CatalogueUnavailable
from dpproxy.values.pgtypes import INT4, NUMERIC
from dpproxy.views import files
from dpproxy.views.columns import ShownColumn
from dpproxy.views.make import StoredRelation

COLUMNS = (ShownColumn("Age", INT4), ShownColumn("cost", NUMERIC.with_precision(38, 2), Fraction(0)))
ROWS = StoredRelation(COLUMNS, pa.table({"Age": [3, 4], "cost": [250, 1]}))


def test_a_build_is_kept_in_sql_types_and_read_in_whole_steps(tmp_path: Path):
    path = files.file_of(tmp_path, "a/b", 7)
    files.write(path, {"": ROWS, "groups": ROWS}, inside=False)
    assert path.name == "a%2Fb-7.duckdb"
    assert path.stat().st_mode & 0o777 == 0o600
    with duckdb.connect(str(path), read_only=True) as connection:
        assert (
            str(connection.execute("SELECT cost FROM rows_groups").fetchall())
            == "[(Decimal('2.50'),), (Decimal('0.01'),)]"
        )
        assert connection.execute(files.held("", COLUMNS, inside=False)).fetchall() == [(3, 250), (4, 1)]


@pytest.mark.parametrize("inside", [False, True])
def test_names_may_need_quotes(tmp_path: Path, *, inside: bool):
    names = ("order", 'my "col"', "Größe", "j ->> 'a'")
    columns = (*(ShownColumn(n, INT4) for n in names), ShownColumn("a b", NUMERIC.with_precision(38, 2)))
    rows = pa.table({column.name: [3] for column in columns})
    path = files.file_of(tmp_path, "v", 1)
    files.write(
        path, {"": StoredRelation(columns, rows), "my groups": StoredRelation(columns, rows)}, inside=inside
    )
    with duckdb.connect(str(path), read_only=True) as connection:
        for suffix in ("", "my groups"):
            found = connection.execute(files.held(suffix, columns, inside=inside))
            assert [name for name, *_ in found.description] == [*names, "a b"]
            assert found.fetchall() == [(3, 3, 3, 3, 3)]


def test_rows_that_stay_inside_are_kept_as_they_are(tmp_path: Path):
    path = files.file_of(tmp_path, "v", 1)
    files.write(path, {"": ROWS}, inside=True)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute(files.held("", COLUMNS, inside=True)).fetchall() == [(3, 250), (4, 1)]


def test_other_builds_of_a_view_are_removed_and_no_other_view(tmp_path: Path):
    for view, epoch in [("v", 1), ("v", 2), ("v-1", 2), ("w", 1)]:
        files.write(files.file_of(tmp_path, view, epoch), {"": ROWS}, inside=False)
    files.remove(tmp_path, "v", [2])
    left = {p.name for p in (tmp_path / files.FOLDER).iterdir()}
    assert left == {"v-2.duckdb", "v-1-2.duckdb", "w-1.duckdb"}


def test_nothing_is_left_of_a_build_that_could_not_be_written(tmp_path: Path):
    broken = StoredRelation((ShownColumn("absent", INT4),), ROWS.rows)
    with pytest.raises(CatalogueUnavailable):
        files.write(files.file_of(tmp_path, "v", 1), {"": broken}, inside=False)
    assert list((tmp_path / files.FOLDER).iterdir()) == []


def test_what_a_crash_left_is_swept_away(tmp_path: Path):
    (tmp_path / files.FOLDER).mkdir()
    (tmp_path / files.FOLDER / "v-1.tmp").touch()
    files.sweep(tmp_path)
    assert list((tmp_path / files.FOLDER).iterdir()) == []
