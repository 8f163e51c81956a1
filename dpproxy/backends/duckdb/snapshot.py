"""Data files into one DuckDB file under the state directory, once for each state of the files.

A table is a file, or a directory of Parquet files. Each file is one transaction, which also writes down that it was
imported: an import that was killed goes on where it was, and one of the same files and more begins with a copy.

The engine then never reads a user's files while it answers: no path, format or parser is reachable from a
statement. Types of Parquet columns are declared in the file; types of CSV columns are inferred from it here,
once, and are public from then on (docs/configuration.md).
"""

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
from msgspec import Struct
from sqlglot import exp

from dpproxy.backends.duckdb.growth import NOTES, importer, noted_files
from dpproxy.system.disk import in_use, lock
from dpproxy.values.errors import StartupError

LARGE = 50_000_000
"""Bytes from which an import is expected to take over a second."""
EVERY = 5.0
"""Seconds between two lines that tell how far an import is."""
SETTINGS: dict[str, Any] = {
    "threads": 2,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "preserve_insertion_order": False,
}
KINDS = (".csv", ".parquet")
CSV_NAMES = (
    "SELECT unnest([*COLUMNS(*)]) FROM (SELECT * FROM read_csv(?, header = false, delim = ',', quote = '\"', "
    "escape = '\"', skip = 0, all_varchar = true, hive_partitioning = false) LIMIT 1)"
)


class _File(Struct, frozen=True):
    """A data file and what identifies its state."""

    name: str
    """Below the source."""
    path: Path
    size: int
    modified: int

    @property
    def table(self) -> str:
        """The table it becomes, or a part of it."""
        top = Path(Path(self.name).parts[0])
        return top.stem if top.suffix.lower() in KINDS else top.name

    @property
    def state(self) -> tuple[str, int, int]:
        """What tells whether it is the file that was imported."""
        return self.name, self.size, self.modified

    @property
    def kind(self) -> str:
        """``.csv`` or ``.parquet``."""
        return self.path.suffix.lower()


def snapshot(source: Path, state: Path, progress: Callable[[str], None], memory: str | None = None) -> Path:
    """The DuckDB file to serve: ``source`` itself, or what its Parquet and CSV files were imported into.

    One table for each file, named by its stem, and for each directory of Parquet files. Written beside its final name
    and renamed, so that a crash leaves no half snapshot; snapshots of earlier states are removed afterwards.

    Raises:
        StartupError: names the file and what is wrong with it, without a word of its content.
    """
    if source.is_file():
        return _database(source)
    if not source.is_dir():
        raise StartupError(
            f"{source}: expected a DuckDB or SQLite file, or a directory of Parquet and CSV files"
        )
    files = _files(source)
    target = _target(state, files)
    if target.exists():
        return target
    with _alone(state, progress):
        files = _files(source)
        target = _target(state, files)
        if not target.exists():
            _write(files, target, progress, SETTINGS | ({} if memory is None else {"memory_limit": memory}))
            _remove_others(state, target, progress)
    return target


@contextmanager
def _alone(state: Path, progress: Callable[[str], None]) -> Iterator[None]:
    """Import while no other process does; one that has waited finds what the other made."""
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StartupError(f"{state}: expected a state directory: {error.strerror}") from None
    with lock(state, lambda: progress("waiting for another process that imports the data files")):
        yield


def _database(source: Path) -> Path:
    """Look at the header only: a second handle on the file would drop the first one's lock."""
    try:
        with source.open("rb") as file:
            header = file.read(12)
    except OSError as error:
        raise StartupError(f"{source}: expected a readable DuckDB file: {error.strerror}") from None
    if header[8:] != b"DUCK":
        raise StartupError(
            f"{source}: expected a DuckDB or SQLite file (or a directory of Parquet and CSV files)"
        )
    return source


def _files(source: Path) -> list[_File]:
    """The data files by table and name; of two files or directories that would be one table one is refused."""
    found: dict[str, Path] = {}
    files: list[_File] = []
    try:
        for path in _listed(source):
            name = path.relative_to(source)
            if any(letter in str(path) for letter in "*?["):
                raise StartupError(f"{path}: expected a path without * ? and [")
            status = path.stat()
            file = _File(str(name), path, status.st_size, status.st_mtime_ns)
            top = source / name.parts[0]
            if (other := found.setdefault(file.table.lower(), top)) != top:
                raise StartupError(f"{path}: expected another name, {other.name} is the same table")
            files.append(file)
    except OSError as error:
        raise StartupError(
            f"{error.filename}: expected a file or directory that the proxy may read: {error.strerror}"
        ) from None
    if not files:
        raise StartupError(f"{source}: expected Parquet or CSV files, there are none")
    return files


def _listed(source: Path) -> Iterator[Path]:
    """The paths of the data files, and none left out because it cannot be listed."""
    for top in sorted(filter(_is_shown, source.iterdir())):
        if top.is_dir():
            yield from sorted(path for path in _inside(top) if path.suffix.lower() == ".parquet")
        elif top.suffix.lower() in KINDS or top.is_symlink():
            top.stat()  # a link to nothing may have been a table
            if top.suffix.lower() in KINDS:
                yield top


def _inside(top: Path) -> Iterator[Path]:
    """All files below a directory."""

    def stop(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(top, onerror=stop):
        folders[:] = filter(_is_shown, folders)
        for path in (Path(folder, name) for name in filter(_is_shown, (*folders, *names))):
            if path.is_symlink() and not path.is_file():
                raise StartupError(
                    f"{path}: expected a directory or a link to a file; move the directory here or link its files"
                )
        yield from (Path(folder, name) for name in filter(_is_shown, names))


def _is_shown(path: Path | str) -> bool:
    name = Path(path).name
    return not name.startswith((".", "_")) and name != "lost+found"


def _target(state: Path, files: list[_File]) -> Path:
    """Named by the names, sizes and times of change of the files; never by content."""
    parts = [importer()] + [f"{f.name}/{f.size}/{f.modified}" for f in files]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return state / f"snapshot-{digest[:16]}.duckdb"


def _write(
    files: list[_File], target: Path, progress: Callable[[str], None], settings: dict[str, Any]
) -> None:
    partial = target.with_suffix(f".{os.getpid()}.partial")
    try:
        _begin(files, partial, settings)
        with duckdb.connect(partial, config=settings) as connection:
            _import(connection, files, progress)
            connection.execute("CHECKPOINT")
        partial.chmod(0o600)
        partial.replace(target)
    except OSError as error:
        raise _given_up(
            partial, f"{target.parent}: expected a writable state directory: {error.strerror}"
        ) from None
    except duckdb.Error as error:
        full = "the disk of the state directory is full" if _is_full(error) else type(error).__name__
        raise _given_up(partial, f"{target}: could not be written: {full}") from None
    except StartupError as error:
        if _finished(partial, settings):  # the next import goes on with it
            raise
        raise _given_up(partial, str(error)) from None


def _given_up(partial: Path, why: str) -> StartupError:
    for left in (partial, log_of(partial)):
        left.unlink(missing_ok=True)
    return StartupError(why)


def _begin(files: list[_File], partial: Path, settings: dict[str, Any]) -> None:
    """Have in ``partial`` what need not be imported again: of an import that stopped, or of fewer of these files."""
    state = partial.parent
    wanted = {file.state for file in files}

    def is_begun(file: Path) -> bool:
        return set() < _finished(file, settings) <= wanted

    halves = [half for half in state.glob("snapshot-*.partial") if not in_use(half)]
    kept = next(filter(is_begun, halves), None)
    _remove_half(state, kept)
    if kept is not None:
        kept.rename(partial)
        with suppress(FileNotFoundError):
            log_of(kept).rename(log_of(partial))
        return
    earlier = list(state.glob("snapshot-*.duckdb"))
    if not earlier or all(file.name == file.path.name for file in files):
        return
    shutil.copyfile(max(earlier, key=lambda old: old.stat().st_mtime_ns), partial)
    if not is_begun(partial):
        partial.unlink()


def _finished(file: Path, settings: dict[str, Any]) -> set[tuple[Any, ...]]:
    """The states of the files that a snapshot has, if this version imported them."""
    with suppress(duckdb.Error), duckdb.connect(file, config=settings) as connection:
        return set(connection.execute(f"FROM {noted_files()}").fetchall())
    return set()


def log_of(file: Path) -> Path:
    """Where the engine writes what it has not moved into a file yet."""
    return Path(f"{file}.wal")


def _import(
    connection: duckdb.DuckDBPyConnection, files: list[_File], progress: Callable[[str], None]
) -> None:
    began = time.monotonic()
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {NOTES}")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {noted_files()} (name VARCHAR, size BIGINT, modified BIGINT)"
    )
    done = set(connection.execute(f"FROM {noted_files()}").fetchall())
    tables = {name: [file for file in files if file.table == name] for name in {f.table: None for f in files}}
    for table, those in tables.items():  # what is added may have NULLs where the files before had none
        _require(connection, table, set(), those[-1])
    large = sum(file.size for file in files if file.state not in done) >= LARGE
    for number, file in enumerate(files, start=1):
        if file.state in done:
            continue
        words = f"importing {file.name} ({number} of {len(files)}, {file.size / 1e6:.0f} MB)"
        if large or time.monotonic() - began > 1:
            progress(words)
        try:
            _check_columns(connection, file)
            with _telling(connection, words, progress):
                connection.execute("BEGIN")
                _add(connection, file)
                _check_unchanged(file)
                connection.execute(f"INSERT INTO {noted_files()} VALUES (?, ?, ?)", file.state)  # noqa: S608
                connection.execute("COMMIT")
        except (duckdb.Error, pyarrow.ArrowException, OSError) as error:
            if _is_full(error):
                raise
            # The engine's text may quote a row.
            raise StartupError(_refusal(file, error)) from None
    for table, those in tables.items():
        _require(connection, table, set.intersection(*(set(_required(file)) for file in those)), those[-1])


def _add(connection: duckdb.DuckDBPyConnection, file: _File) -> None:
    """Make a table of a file, or add its rows to the one of the files before, which have the same columns."""
    table, relation = _quoted(file.table), _relation(connection, file)
    described = "SELECT column_name, column_type FROM (DESCRIBE {})"
    if not connection.execute(
        "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'main' AND table_name = ?", [file.table]
    ).fetchall():
        relation.create(table)
        return
    there = connection.execute(described.format(table)).fetchall()
    here = list(zip(relation.columns, map(str, relation.types), strict=True))
    if here != there:
        raise StartupError(
            f"{file.path}: expected the columns of the other files of {file.table}, in their order"
        )
    relation.insert_into(table)


def _require(connection: duckdb.DuckDBPyConnection, table: str, required: Set[str], file: _File) -> None:
    """Make those columns NOT NULL that all files of a table say have none; the engine checks it, to the last file."""
    for name, is_nullable in connection.execute(
        "SELECT column_name, is_nullable FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = ?",
        [table],
    ).fetchall():
        if is_nullable == (name in required):
            word = "SET" if is_nullable else "DROP"
            try:
                connection.execute(
                    f"ALTER TABLE {_quoted(table)} ALTER COLUMN {_quoted(name)} {word} NOT NULL"
                )
            except duckdb.Error as error:
                if _is_full(error):
                    raise
                raise StartupError(_refusal(file, error)) from None


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("duckdb")


@contextmanager
def _telling(
    connection: duckdb.DuckDBPyConnection, words: str, progress: Callable[[str], None]
) -> Iterator[None]:
    """Tell now and then how far the connection is, as the engine estimates it: for each of its statements anew."""
    over = threading.Event()

    def watch() -> None:
        reached = 0.0
        while not over.wait(EVERY):
            percent = connection.query_progress()
            if 0 < percent < 100:
                reached = max(reached, percent)
                progress(f"{words}: {reached:.0f} %")

    watcher = threading.Thread(target=watch, name="import", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _schema(file: _File) -> pyarrow.Schema:
    """Of a Parquet file."""
    from pyarrow import parquet  # noqa: PLC0415 - brings all of Arrow's file systems along

    return parquet.read_schema(file.path)


def _required(file: _File) -> list[str]:
    """Columns the file's schema says are never NULL; the import checks it, so that it is a fact of the schema."""
    if file.kind != ".parquet":
        return []
    try:
        names = [field.name for field in _schema(file) if not field.nullable]
    except (pyarrow.ArrowException, OSError) as error:
        raise StartupError(_refusal(file, error)) from None
    _check_unchanged(file)
    return names


def _relation(connection: duckdb.DuckDBPyConnection, file: _File) -> duckdb.DuckDBPyRelation:
    if file.kind == ".parquet":
        return connection.read_parquet(str(file.path), hive_partitioning=False)
    return connection.read_csv(
        str(file.path),
        header=True,
        delimiter=",",
        quotechar='"',
        escapechar='"',
        skiprows=0,
        sample_size=-1,
        hive_partitioning=False,
    )


def _check_unchanged(file: _File) -> None:
    """Refuse a file that is no longer what was listed: rows of two states may have been read."""
    try:
        status = file.path.stat()
    except OSError:
        status = None
    if status is None or (status.st_size, status.st_mtime_ns) != (file.size, file.modified):
        raise StartupError(
            f"{file.path}: was changed or removed while it was imported; "
            "put finished files here by renaming them, and start or load again"
        )


def _is_full(error: Exception) -> bool:
    return "No space left" in str(error)


def _refusal(file: _File, error: Exception) -> str:
    if isinstance(error, duckdb.OutOfMemoryException):
        return f"{file.path}: could not be imported: out of memory"
    try:
        _check_unchanged(file)
    except StartupError as changed:
        return str(changed)
    if isinstance(error, OSError) and error.errno is not None:
        return f"{file.path}: expected a file that the proxy may read: {os.strerror(error.errno)}"
    if file.kind == ".parquet":
        return f"{file.path}: expected a readable Parquet file"
    return f"{file.path}: expected a readable CSV file: UTF-8, commas, names in line 1, lines of one length"


def _check_columns(connection: duckdb.DuckDBPyConnection, file: _File) -> None:
    """Refuse names that SQL could not tell apart; the engine would rename the second one."""
    if file.kind == ".parquet":
        names = _schema(file).names
    else:
        names = [name or "" for (name,) in connection.execute(CSV_NAMES, [str(file.path)]).fetchall()]
        if len(names) < 2 and any(mark in "".join(names) for mark in ";\t|\0"):
            raise StartupError(f"{file.path}: expected a first line of column names separated by commas")
    if not names or not all(names):
        raise StartupError(f"{file.path}: expected a name for every column")
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            pair = f"{seen[name.lower()]}, {name}"
            raise StartupError(f"{file.path}: expected column names that differ by more than case: {pair}")
        seen[name.lower()] = name


def _remove_half(state: Path, kept: Path | None) -> None:
    """Remove what imports that were killed have left, and what their engines wrote beside; not of one that goes on."""
    busy = tuple(half.name for half in state.glob("snapshot-*.partial") if in_use(half))
    for left in (*state.glob("snapshot-*.partial*"), *state.glob("snapshot-*.tmp")):
        if left.name.startswith(busy) or (kept is not None and left in (kept, log_of(kept))):
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _remove_others(state: Path, target: Path, progress: Callable[[str], None]) -> None:
    for old in state.glob("snapshot-*.duckdb"):
        if old != target:
            old.unlink(missing_ok=True)
            progress(
                "the data files have changed and were imported anew; "
                "ADVANCE PRIVACY DATA VERSION makes the stored answers give way to new ones"
            )
