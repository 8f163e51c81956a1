import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow
import pytest
from pyarrow import parquet

from dpproxy.backends.duckdb import growth
from dpproxy.backends.duckdb import snapshot as module
from dpproxy.backends.duckdb.snapshot import snapshot
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.values.errors import StartupError
from tests.empty import empty

Lines = list[str]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "data, 'quoted'"
    folder.mkdir()
    (folder / "people.csv").write_text('id,name\n1,"Smith, A"\n2,\n')
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def rows(file: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(file, read_only=True) as connection:
        return connection.execute(sql).fetchall()


def write_parquet(file: Path, select: str) -> None:
    with empty() as connection:
        connection.sql(select).write_parquet(str(file))


def refused(source: Path, state: Path, *, goes_on: bool = False) -> str:
    with pytest.raises(StartupError) as caught:
        snapshot(source, state, print)
    assert len(list(state.glob("*"))) == goes_on, "nothing stays without a finished file"
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_become_tables_with_their_own_names_and_types(source: Path, state: Path):
    write_parquet(
        source / "Odd Table.parquet", "SELECT 1::INTEGER AS a, DATE '2020-01-02' AS \"B c\", {'x': 1} AS s"
    )
    (source / "README.md").write_text("not data")
    (source / ".hidden.csv").write_text("x\n")
    told: Lines = []
    file = snapshot(source, state, told.append)
    assert rows(file, "SELECT * FROM people ORDER BY id") == [(1, "Smith, A"), (2, None)]
    columns = (
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal "
        "ORDER BY 1, 2"
    )
    assert rows(file, columns) == [
        ("Odd Table", "B c", "DATE"),
        ("Odd Table", "a", "INTEGER"),
        ("Odd Table", "s", "STRUCT(x INTEGER)"),
        ("people", "id", "BIGINT"),
        ("people", "name", "VARCHAR"),
    ]
    assert told == []
    assert file.stat().st_mode & 0o077 == 0
    assert [f.name for f in state.iterdir()] == [file.name]


def test_the_same_files_are_imported_once(source: Path, state: Path):
    first = snapshot(source, state, print)
    before = first.stat()
    assert snapshot(source, state, print) == first
    assert first.stat() == before


def test_changed_files_give_a_new_snapshot_and_the_old_one_goes(source: Path, state: Path):
    first = snapshot(source, state, print)
    (source / "people.csv").write_text("id,name\n7,z\n")
    told: Lines = []
    second = snapshot(source, state, told.append)
    assert rows(second, "FROM people") == [(7, "z")]
    assert second != first
    assert not first.exists()
    assert len(told) == 1
    assert "ADVANCE PRIVACY DATA VERSION" in told[0]


def test_a_failed_import_leaves_the_old_snapshot(source: Path, state: Path):
    first = snapshot(source, state, print)
    (source / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(StartupError, match=r"bad\.parquet: expected a readable Parquet file"):
        snapshot(source, state, print)
    assert [f.name for f in state.iterdir()] == [first.name]


def test_a_slow_import_says_where_it_is(source: Path, state: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.backends.duckdb.snapshot.LARGE", 1)
    told: Lines = []
    snapshot(source, state, told.append)
    assert told == ["importing people.csv (1 of 1, 0 MB)"]


def test_a_long_import_says_how_far_it_is(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch):
    (folder := tmp_path / "long").mkdir()
    duckdb.sql(f"COPY (SELECT hash(i) AS h, hash(i, 1) AS g FROM range(300000) r(i)) TO '{folder / 'a.csv'}'")
    monkeypatch.setattr("dpproxy.backends.duckdb.snapshot.EVERY", 0.005)
    told: list[str] = []
    snapshot(folder, state, told.append)
    shares = [int(line.rpartition(": ")[2].removesuffix(" %")) for line in told]
    assert told[0].startswith("importing a.csv (1 of 1, ")
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 100


def test_an_import_never_seems_to_go_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.backends.duckdb.snapshot.EVERY", 0)
    estimates = iter((-1.0, 0.0, 67.0, 98.4, 50.0, 100.0, -1.0))  # its last statement is a short one
    told, asked = [], threading.Event()

    class Connection:
        def query_progress(self) -> float:
            if (estimate := next(estimates, None)) is None:
                asked.set()
            return estimate or -1.0

    with module._telling(Connection(), "importing", told.append):
        assert asked.wait(60)
    assert told == ["importing: 67 %", "importing: 98 %", "importing: 98 %"]


def test_a_database_file_is_served_as_it_is(tmp_path: Path, state: Path):
    file = tmp_path / "x.duckdb"
    duckdb.connect(file).close()
    assert snapshot(file, state, print) == file
    assert not state.exists()


def test_what_is_no_database_and_no_directory_is_named(tmp_path: Path, state: Path):
    (tmp_path / "x.duckdb").write_bytes(b"x" * 100)
    assert refused(tmp_path / "x.duckdb", state).startswith(
        f"{tmp_path}/x.duckdb: expected a DuckDB or SQLite file"
    )
    assert refused(tmp_path / "none", state).startswith(f"{tmp_path}/none: expected")
    (tmp_path / "empty").mkdir()
    assert refused(tmp_path / "empty", state).endswith("there are none")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,name\n1,a\n1,SECRET,3,4\n", "expected a readable CSV file"),
        ("id,name\nSECRET\n2,b\n", "expected a readable CSV file"),
        ("", "expected a name for every column"),
        ("id,,x\n1,2,3\n", "expected a name for every column"),
        ("id;name\n1;SECRET\n", "separated by commas"),
        ("id,ID\n1,2\n", "expected column names that differ by more than case: id, ID"),
        ("a,a\n1,2\n", "expected column names that differ by more than case: a, a"),
    ],
)
def test_a_wrong_csv_is_named_and_not_quoted(source: Path, state: Path, text: str, problem: str):
    (source / "people.csv").write_text(text)
    message = refused(source, state)
    assert message.startswith(f"{source}/people.csv: {problem}") or problem in message
    assert "SECRET" not in message


def test_parquet_columns_that_differ_in_case_only_are_refused(source: Path, state: Path):
    parquet.write_table(pyarrow.table({"id": [1], "Id": [2]}), source / "p.parquet")
    assert refused(source, state).endswith(
        "p.parquet: expected column names that differ by more than case: id, Id"
    )


def test_two_files_for_one_table_are_refused(source: Path, state: Path):
    (source / "People.CSV").write_text("x\n1\n")
    assert "is the same table" in refused(source, state)


def test_a_state_directory_that_cannot_be_written_is_named(source: Path, state: Path):
    state.write_text("a file")
    with pytest.raises(StartupError, match="expected a state directory: File exists"):
        snapshot(source, state, print)


def test_columns_that_a_parquet_file_requires_stay_required(source: Path, state: Path):
    fields = [pyarrow.field("n", pyarrow.int32(), nullable=False), pyarrow.field("m", pyarrow.int32())]
    table = pyarrow.table([[1, 2], [3, None]], schema=pyarrow.schema(fields))
    parquet.write_table(table, source / "required.parquet")
    sql = "SELECT column_name, is_nullable FROM duckdb_columns() WHERE table_name = 'required' ORDER BY column_index"
    assert rows(snapshot(source, state, print), sql) == [("n", False), ("m", True)]


def test_what_a_killed_import_has_left_is_removed_and_nothing_of_one_that_goes_on(source: Path, state: Path):
    state.mkdir()
    for name in ("snapshot-a.7.partial", "snapshot-a.7.partial.wal", "prepared-a.duckdb"):
        (state / name).touch()
    for name in ("snapshot-a.7.partial.tmp", "snapshot-b.duckdb.tmp"):
        (state / name).mkdir()
        (state / name / "duckdb_temp_7_0_storage_DEFAULT-0.tmp").touch()
    other = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read(); c.close()"
    )
    half = state / "snapshot-c.8.partial"
    with subprocess.Popen(
        [sys.executable, "-c", other, str(half)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as goes_on:
        assert goes_on.stdout is not None
        goes_on.stdout.readline()
        file = snapshot(source, state, print)
        kept = {path.name for path in state.iterdir()} - {f"{half.name}.wal"}
        goes_on.communicate()
    assert kept == {file.name, half.name, "prepared-a.duckdb"}


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Three days of visits, each a file in a directory of its own."""
    folder = tmp_path / "tables"
    for day in range(3):
        write_day(folder, day)
    return folder


def write_day(folder: Path, day: int, columns: str = "a, b") -> Path:
    file = folder / "visits" / f"day={day}" / "part.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(file, f"SELECT {columns} FROM (SELECT {day}::BIGINT AS a, i AS b FROM range(2) AS r(i))")
    return file


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read."""
    found: list[str] = []
    add = module._add

    def noted(connection: duckdb.DuckDBPyConnection, file: module._File) -> None:
        found.append(file.name)
        add(connection, file)

    monkeypatch.setattr(module, "_add", noted)
    return found


def test_a_directory_of_parquet_files_is_one_table(days: Path, state: Path):
    for hidden in ("_temporary/x.parquet", ".x.parquet", "notes.csv", "day=9/_x.parquet"):
        (days / "visits" / hidden).parent.mkdir(exist_ok=True)
        (days / "visits" / hidden).write_text("no data")
    (days / "nothing").mkdir()
    file = snapshot(days, state, print)
    assert rows(file, "FROM visits ORDER BY ALL") == [(day, n) for day in range(3) for n in range(2)]
    assert set(DuckDB(file).schema().tables) == {"visits"}
    write_parquet(days / "visits.parquet", "SELECT 1 AS a")
    with pytest.raises(StartupError, match="is the same table"):
        snapshot(days, state, print)


def test_a_directory_that_cannot_be_read_is_named(days: Path, state: Path, monkeypatch: pytest.MonkeyPatch):
    (days / "lost+found").mkdir()
    closed = {str(days / "visits" / "day=1"), str(days / "lost+found")}
    scan = os.scandir

    def scandir(path: str) -> object:
        if str(path) in closed:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert refused(days, state) == (
        f"{days}/visits/day=1: expected a file or directory that the proxy may read: Permission denied"
    )


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_link_to_a_directory_inside_is_refused_and_not_left_out(days: Path, state: Path, target: str):
    (days / "visits" / "day=1").rename(days.parent / "elsewhere")
    (days / "visits" / "day=1").symlink_to(days.parent / target)
    assert refused(days, state).startswith(f"{days}/visits/day=1: expected a directory or a link to a file")


def test_links_to_tables_and_files_are_followed(days: Path, state: Path):
    (days / "visits").rename(days.parent / "elsewhere")
    (days / "visits").symlink_to(days.parent / "elsewhere")
    part = days / "visits" / "day=1" / "part.parquet"
    part.rename(days.parent / "part")
    part.symlink_to(days.parent / "part")
    assert rows(snapshot(days, state, print), "SELECT count(*) FROM visits") == [(6,)]


@pytest.mark.parametrize("name", ["gone", "gone.csv", "visits/gone.parquet"])
def test_a_link_to_nothing_is_named(days: Path, state: Path, name: str):
    (days / name).symlink_to(days / "nothing")
    assert refused(days, state).startswith(f"{days}/{name}: expected ")


def test_a_directory_may_be_named_as_a_file(days: Path, state: Path):
    (days / "visits").rename(days / "visits.parquet")
    assert rows(snapshot(days, state, print), "SELECT count(*) FROM visits") == [(6,)]


@pytest.mark.parametrize("columns", ["b, a", "a", "a, b AS c", "a, b::INTEGER AS b"])
def test_files_of_one_table_have_the_same_columns(days: Path, state: Path, columns: str):
    file = write_day(days, 3, columns)
    assert refused(days, state, goes_on=True).startswith(
        f"{file}: expected the columns of the other files of visits"
    )


def test_yesterday_alone_is_imported(days: Path, state: Path, added: list[str]):
    first = snapshot(days, state, print)
    assert added == [f"visits/day={day}/part.parquet" for day in range(3)]
    write_day(days, 3)
    second = snapshot(days, state, print)
    assert added[3:] == ["visits/day=3/part.parquet"]
    assert rows(second, "SELECT count(*), sum(a) FROM visits") == [(8, 12)]
    assert not first.exists()
    write_day(days, 0, "a + 5 AS a, b")
    third = snapshot(days, state, print)
    assert len(added) == 8, "what was imported before is not what it was"
    assert rows(third, "SELECT count(*), sum(a) FROM visits") == [(8, 22)]
    (days / "visits" / "day=0" / "part.parquet").unlink()
    assert rows(snapshot(days, state, print), "SELECT count(*), sum(a) FROM visits") == [(6, 12)]
    assert len(list(state.iterdir())) == 1


def test_an_import_that_was_killed_goes_on(days: Path, state: Path, added: list[str]):
    killed = (
        "import os, sys; from pathlib import Path; from dpproxy.backends.duckdb import snapshot as m; add = m._add\n"
        "m._add = lambda c, file: os._exit(9) if 'day=2' in file.name else add(c, file)\n"
        "m.snapshot(Path(sys.argv[1]), Path(sys.argv[2]), print)"
    )
    done = subprocess.run([sys.executable, "-c", killed, str(days), str(state)], check=False)
    assert done.returncode == 9
    file = snapshot(days, state, print)
    assert added == ["visits/day=2/part.parquet"]
    assert rows(file, "FROM visits ORDER BY ALL") == [(day, n) for day in range(3) for n in range(2)]
    assert [left.name for left in state.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("owner", "name", "value"), [(growth, "LAYOUT", 99), (duckdb, "__version__", "99.0")]
)
def test_another_version_imports_anew(
    days: Path,
    state: Path,
    added: list[str],
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    value: object,
):
    snapshot(days, state, print)
    write_day(days, 3)
    monkeypatch.setattr(owner, name, value)
    file = snapshot(days, state, print)
    assert len(added) == 3 + 4
    assert rows(file, "SELECT count(*) FROM visits") == [(8,)]


def test_processes_import_in_turn(days: Path, state: Path, added: list[str], monkeypatch: pytest.MonkeyPatch):
    snapshot(days, state, print)
    write_day(days, 3)
    told: list[str] = []
    copy = shutil.copyfile
    program = (
        "import sys; from pathlib import Path; from dpproxy.backends.duckdb.snapshot import snapshot\n"
        "print(snapshot(Path(sys.argv[1]), Path(sys.argv[2]), lambda line: print(line, flush=True)))"
    )
    begun: list[subprocess.Popen[str]] = []

    def also(start: Path, end: Path) -> None:
        copy(start, end)
        other = subprocess.Popen(
            [sys.executable, "-c", program, str(days), str(state)], stdout=subprocess.PIPE, text=True
        )
        begun.append(other)
        assert other.stdout is not None
        told.append(other.stdout.readline())

    monkeypatch.setattr(shutil, "copyfile", also)
    file = snapshot(days, state, print)
    out, _ = begun[0].communicate(timeout=60)
    assert told == ["waiting for another process that imports the data files\n"]
    assert out == f"{file}\n"
    assert added[3:] == ["visits/day=3/part.parquet"]
    assert [left.name for left in state.iterdir()] == [file.name]


def test_after_a_refusal_the_import_goes_on(days: Path, state: Path, added: list[str]):
    bad = write_day(days, 3, "a")
    for _ in range(2):
        assert refused(days, state, goes_on=True).startswith(f"{bad}: expected the columns")
    write_day(days, 3)
    file = snapshot(days, state, print)
    parts = [f"visits/day={day}/part.parquet" for day in (0, 1, 2, 3, 3, 3)]
    assert added == parts
    assert rows(file, "SELECT count(*) FROM visits") == [(8,)]
    assert [left.name for left in state.iterdir()] == [file.name]


CHANGED = "was changed or removed while it was imported; put finished files here by renaming them"


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("removed", [False, True])
def test_a_file_that_changes_meanwhile_is_refused(
    days: Path, state: Path, monkeypatch: pytest.MonkeyPatch, *, after: bool, removed: bool
):
    add = module._add
    changing = days / "visits" / "day=1" / "part.parquet"

    def change(connection: duckdb.DuckDBPyConnection, file: module._File) -> None:
        if after:
            add(connection, file)
        if file.path == changing and removed:
            changing.unlink()
        elif file.path == changing:
            write_day(days, 1, "a + 10 AS a, b + 10 AS b")
            os.utime(changing, ns=(1, 1))
        if not after:
            add(connection, file)

    monkeypatch.setattr(module, "_add", change)
    assert refused(days, state, goes_on=True).startswith(f"{changing}: {CHANGED}")
    monkeypatch.setattr(module, "_add", add)
    file = snapshot(days, state, print)
    changed = [] if removed else [(11, 10), (11, 11)]
    assert rows(file, "FROM visits ORDER BY ALL") == [(0, 0), (0, 1), (2, 0), (2, 1), *changed]


def test_a_file_that_is_half_written_at_the_end_is_named(
    days: Path, state: Path, monkeypatch: pytest.MonkeyPatch
):
    required = module._required
    part = days / "visits" / "day=1" / "part.parquet"

    def changed(file: module._File) -> Iterator[str]:
        part.write_bytes(b"PAR1")
        yield from required(file)

    monkeypatch.setattr(module, "_required", changed)
    assert refused(days, state, goes_on=True).startswith(f"{part}: {CHANGED}")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(40) + b"PAR1"])
def test_a_broken_parquet_file_is_named(days: Path, state: Path, content: bytes):
    part = days / "visits" / "day=1" / "part.parquet"
    part.write_bytes(content)
    assert refused(days, state, goes_on=True) == f"{part}: expected a readable Parquet file"


def test_a_file_that_may_not_be_read_is_named(days: Path, state: Path, monkeypatch: pytest.MonkeyPatch):
    def closed(file: module._File) -> None:
        raise PermissionError(13, f"[Errno 13] {file.path}")

    monkeypatch.setattr(module, "_schema", closed)
    assert refused(days, state) == (
        f"{days}/visits/day=0/part.parquet: expected a file that the proxy may read: Permission denied"
    )


def test_a_full_disk_is_given_back(days: Path, state: Path, monkeypatch: pytest.MonkeyPatch):
    add = module._add

    def full(connection: duckdb.DuckDBPyConnection, file: module._File) -> None:
        if "day=2" in file.name:
            raise duckdb.IOException("No space left on device")
        add(connection, file)

    monkeypatch.setattr(module, "_add", full)
    assert refused(days, state).endswith("could not be written: the disk of the state directory is full")


def test_a_column_may_be_null_once_one_file_says_so(days: Path, state: Path):
    def write(day: int, *, nullable: bool) -> None:
        schema = pyarrow.schema([pyarrow.field("a", pyarrow.int64(), nullable), ("b", pyarrow.int64())])
        file = days / "visits" / f"day={day}" / "part.parquet"
        file.parent.mkdir(exist_ok=True)
        parquet.write_table(pyarrow.table({"a": [None if nullable else day], "b": [1]}, schema), file)

    asked = "SELECT column_name, is_nullable FROM duckdb_columns() WHERE table_name = 'visits' ORDER BY 1"
    for day in range(3):
        write(day, nullable=False)
    assert rows(snapshot(days, state, print), asked) == [("a", False), ("b", True)]
    write(3, nullable=False)
    assert rows(snapshot(days, state, print), asked) == [("a", False), ("b", True)]
    write(4, nullable=True)
    assert rows(snapshot(days, state, print), asked) == [("a", True), ("b", True)]


def test_an_import_keeps_to_the_memory_it_is_given(days: Path, state: Path, monkeypatch: pytest.MonkeyPatch):
    found: list[object] = []
    add = module._add

    def noted(connection: duckdb.DuckDBPyConnection, file: module._File) -> None:
        found.extend(connection.execute("SELECT current_setting('memory_limit')").fetchall())
        add(connection, file)

    monkeypatch.setattr(module, "_add", noted)
    snapshot(days, state, print, "64MiB")
    assert set(found) == {("64.0 MiB",)}
