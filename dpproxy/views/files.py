"""The files of views: one DuckDB file for each build, written under a temporary name and renamed when complete."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

import duckdb

from dpproxy.sql.quoting import quoted
from dpproxy.system import disk
from dpproxy.system.confinement import LOCKED
from dpproxy.values.errors import CatalogueUnavailable
from dpproxy.values.pgtypes import NUMERIC
from dpproxy.views.columns import ShownColumn, stored
from dpproxy.views.make import StoredRelation

FOLDER = "views"
_WRITING: dict[str, str | bool | int | float | list[str]] = {
    k: v for k, v in LOCKED.items() if k != "enable_external_access"
}


def file_of(state: Path, view: str, epoch: int) -> Path:
    """The path of a build's file; view names are escaped to be valid file names."""
    return state / FOLDER / f"{quote(view, safe='')}-{epoch}.duckdb"


def write(path: Path, relations: Mapping[str, StoredRelation], *, inside: bool) -> None:
    """Write a build's file, and rename it once it is synced to disk. Raises ``CatalogueUnavailable``."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    half = path.with_suffix(".tmp")
    half.unlink(missing_ok=True)
    try:
        with duckdb.connect(str(half), config=_WRITING) as connection:
            for suffix, relation in relations.items():
                connection.register("made", relation.rows)
                listed = ", ".join(_stored(column, inside=inside) for column in relation.columns)
                connection.execute(f"CREATE TABLE {quoted(table_of(suffix))} AS SELECT {listed} FROM made")  # noqa: S608
                connection.unregister("made")
        half.chmod(0o600)
        disk.sync(half)
        half.rename(path)
        disk.sync(path.parent)
    except (duckdb.Error, OSError) as error:
        raise CatalogueUnavailable(
            "the view's file cannot be written: is there room in the state directory?"
        ) from (None if isinstance(error, duckdb.Error) else error)
    finally:
        half.unlink(missing_ok=True)


def table_of(suffix: str) -> str:
    """The name of a relation's table in its file."""
    return "rows" if not suffix else f"rows_{quote(suffix, safe='')}"


def _stored(column: ShownColumn, *, inside: bool) -> str:
    return quoted(column.name) if inside else stored(column.name, column.type)


def held(suffix: str, columns: Iterable[ShownColumn], *, inside: bool) -> str:
    """The query that reads a relation from its file as plans expect it: decimals in units of their last digit."""
    listed = ", ".join(quoted(c.name) if inside else _held(c) for c in columns)
    return f"SELECT {listed} FROM {quoted(table_of(suffix))}"  # noqa: S608 - quoted names


def _held(column: ShownColumn) -> str:
    name = quoted(column.name)
    if column.type.oid != NUMERIC.oid:
        return name
    return f"CAST({name} * {10 ** (column.type.scale or 0)} AS BIGINT) AS {name}"


def remove(state: Path, view: str, kept: Iterable[int]) -> None:
    """Remove the files of a view's builds, except those of the epochs ``kept``."""
    stay = {file_of(state, view, epoch) for epoch in kept}
    for path in (state / FOLDER).glob(f"{quote(view, safe='')}-*.duckdb"):
        number = path.stem.rpartition("-")[2]
        if path not in stay and number.isdigit() and path == file_of(state, view, int(number)):
            path.unlink(missing_ok=True)


def sweep(state: Path) -> None:
    """Remove files that a crash left incomplete."""
    for path in (state / FOLDER).glob("*.tmp*"):
        path.unlink(missing_ok=True)
