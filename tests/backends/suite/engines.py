"""The engines that hold the same rows: each test of this folder asks every one of them.

To add one, write how the tables of a DuckDB file get there, and one line in ``ENGINES``. A test that an engine cannot
pass yet has a line in ``MISSING`` with the reason: it must fail, or the line is wrong.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import duckdb
import psycopg
import pytest

from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.opening import open_source
from dpproxy.backends.postgres.prepared import PostgresPrepared
from dpproxy.backends.postgres.server import PostgresServer
from dpproxy.backends.servers.source import Pushed
from dpproxy.backends.source import Source
from dpproxy.backends.spark.server import Spark
from dpproxy.backends.sqlite.server import Sqlite
from dpproxy.config.configuration import load_config
from dpproxy.sql.quoting import quoted
from tests import proxies
from tests.backends.inline import Inline
from tests.postgres import Server
from tests.proxies import Proxy, write_home
from tests.spark import Cluster

Place = Callable[[Path, Path, pytest.FixtureRequest], AbstractContextManager[str]]
"""Has the tables of a DuckDB file where an engine finds them, given a folder: the lines of ``[data.main]``."""
CONFIG = """
[state]
directory = "state"
[data.main]
{data}
[users]
file = "users.toml"
"""
_TYPES = {"VARCHAR": "text", "DOUBLE": "float8", "FLOAT": "float4", "UTINYINT": "int2", "TINYINT": "int2",
          "UBIGINT": "numeric(20)", "HUGEINT": "numeric(38)"}  # fmt: skip
"""Where PostgreSQL calls a type otherwise, or has none."""
READER = "reader"
EMPTY = "empty.duckdb"
"""What a server has beside it: the file of its public tables."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One line of the table below."""

    name: str
    place: Place
    small: Callable[[str, Path], Source] | None = None
    """The source in this process, for a few rows, given the lines and a folder; None where it takes long."""
    examples: int = 150
    """Expressions that are drawn: fewer where a statement takes long."""
    share: float = 0.9
    """Of those that are answered at least; the others are refused."""
    floats: float = 0.5
    """The same over floating-point numbers."""
    prepared: bool = False
    """Rows are cut once, into tables beside the data."""
    fit: Callable[[duckdb.DuckDBPyConnection], None] = lambda _: None
    """Makes of the rows what the engine can hold: what it cannot is NULL, here as there."""


@contextmanager
def _duckdb(file: Path, folder: Path, _: pytest.FixtureRequest) -> Iterator[str]:
    copy = folder / "served.duckdb"
    shutil.copy(file, copy)
    yield f'path = "{copy}"'


@contextmanager
def _postgresql(file: Path, _: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    server: Server = request.getfixturevalue("postgres")
    name = server.database(name="suite")
    with psycopg.connect(server.url(name), autocommit=True) as target:
        fill(file, target)
    yield f'url = "{server.url(name).replace("postgres@", f"{READER}@")}"'
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def _postgresql_prepared(file: Path, folder: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    with _postgresql(file, folder, request) as data:
        url = data.removeprefix('url = "').removesuffix('"')
        with psycopg.connect(url.replace(f"{READER}@", "postgres@"), autocommit=True) as connection:
            connection.execute("CREATE SCHEMA kept")
            connection.execute(f"GRANT USAGE, CREATE ON SCHEMA kept TO {READER}".encode())
        yield f'{data}\nprepared_schema = "kept"'


def fill(file: Path, target: psycopg.Connection[tuple[object, ...]]) -> None:
    """The tables of a DuckDB file in PostgreSQL, and a role that may read them."""
    with duckdb.connect(file, read_only=True) as connection:
        tables: dict[str, list[str]] = {}
        for table, column, kind, nullable in connection.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
            "WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
        ).fetchall():
            known = _TYPES.get(kind, kind.replace("DECIMAL", "numeric"))
            tables.setdefault(table, []).append(f"{quoted(column)} {known}{'' if nullable else ' NOT NULL'}")
        for table, columns in tables.items():
            target.execute(f"CREATE TABLE {quoted(table)} ({', '.join(columns)})".encode())
            names = connection.table(quoted(table)).columns
            shown = ", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in names)
            rows = connection.execute(f"SELECT {shown} FROM {quoted(table)}").fetchall()
            with target.cursor().copy(f"COPY {quoted(table)} FROM STDIN".encode()) as copy:
                for row in rows:
                    copy.write_row([_known(v) for v in row])
    found = target.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [READER]).fetchone()
    if found is None:
        target.execute(f"CREATE ROLE {READER} LOGIN".encode())
    target.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER}".encode())


@contextmanager
def _connect(file: Path, folder: Path, port: int) -> Iterator[str]:
    """The tables of a DuckDB file as Parquet files, in the same types but for HUGEINT, which is none there."""
    lake = folder / "lake"
    lake.mkdir(exist_ok=True)
    with duckdb.connect(file, read_only=True) as connection:
        tables = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        for table in tables:
            held = connection.table(_quoted(table))
            shown = [
                f"CASE WHEN {_quoted(name)} IS NOT NULL THEN CAST(greatest(least({_quoted(name)}, {_MOST}), -{_MOST}) "
                f"AS DECIMAL(38,0)) END AS {_quoted(name)}"
                if str(kind) == "HUGEINT"
                else _quoted(name)
                for name, kind in zip(held.columns, held.types, strict=True)
            ]
            held.select(", ".join(shown)).write_parquet(str(lake / f"{table}.parquet"))
    yield f'url = "sc://127.0.0.1:{port}/;folder={lake};tables={quote(",".join(tables))}"'


_MOST = 10**38 - 1
"""The largest whole number of a DECIMAL: far outside the bounds of every column."""


_SQLITE = {"DOUBLE": "REAL", "FLOAT": "REAL", "VARCHAR": "TEXT", "TINYINT": "INT", "UTINYINT": "INT"}
"""What SQLite calls a type otherwise."""
_UNHELD = {
    "DOUBLE": "isnan({0})",
    "FLOAT": "isnan({0})",
    "VARCHAR": "contains({0}, chr(0))",
    "DATE": "NOT isfinite({0}) OR year({0}) NOT BETWEEN 1 AND 9999",
    "TIMESTAMP": "NOT isfinite({0}) OR year({0}) NOT BETWEEN 1 AND 9999",
}
"""What SQLite has no value for, or is not read there, by type."""


def _columns(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for table, column, kind in connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
    ).fetchall():
        found.setdefault(table, []).append((column, kind))
    return found


def _without_unheld(connection: duckdb.DuckDBPyConnection) -> None:
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    for table, columns in _columns(connection).items():
        for column, kind in columns:
            if kind in _UNHELD and table in tables:
                name = quoted(column)
                connection.execute(
                    f"UPDATE {quoted(table)} SET {name} = NULL WHERE {_UNHELD[kind].format(name)}"
                )


@contextmanager
def _sqlite(file: Path, folder: Path, _: pytest.FixtureRequest) -> Iterator[str]:
    """The tables of a DuckDB file as they are in SQLite: days and moments are texts, a DECIMAL is a number."""
    target = folder / "served.sqlite"
    target.unlink(missing_ok=True)
    with duckdb.connect(file) as connection, sqlite3.connect(target) as sqlite:
        _without_unheld(connection)
        for table, columns in _columns(connection).items():
            names = ", ".join(f"{quoted(c)} {_SQLITE.get(kind, kind)}" for c, kind in columns)
            sqlite.execute(f"CREATE TABLE {quoted(table)} ({names})")
            shown = ", ".join(
                quoted(c)
                if kind
                in ("BOOLEAN", "DOUBLE", "FLOAT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "UTINYINT")
                else f"CAST({quoted(c)} AS VARCHAR)"
                for c, kind in columns
            )
            rows = connection.execute(f"SELECT {shown} FROM {quoted(table)}").fetchall()
            marks = ", ".join("?" * len(columns))
            sqlite.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", rows)
    sqlite.close()
    yield f'path = "{target}"'


def _on_sqlite(data: str, folder: Path) -> Source:
    path = Path(data.removeprefix('path = "').removesuffix('"'))
    return Pushed(Sqlite(path, "main", 30.0), Inline(DuckDB(folder / EMPTY)), folder)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _spark(file: Path, folder: Path, request: pytest.FixtureRequest) -> AbstractContextManager[str]:
    cluster: Cluster = request.getfixturevalue("spark_cluster")
    return _connect(file, folder, cluster.port)


def _sail(file: Path, folder: Path, request: pytest.FixtureRequest) -> AbstractContextManager[str]:
    return _connect(file, folder, request.getfixturevalue("sail_port"))


_EDGES = {
    "5881580-07-10": "5874897-12-31",
    "290309-12-22 (BC) 00:00:00": "4713-01-01 00:00:00 BC",
    str(2**127 - 1): "9" * 38,
    str(-(2**127)): "-" + "9" * 38,
}
"""The ends of an engine's types are not those of another."""


def _known(value: object) -> object:
    return _EDGES.get(value, value) if isinstance(value, str) else value


def _url(data: str) -> str:
    return data.partition("\n")[0].removeprefix('url = "').removesuffix('"')


def _on_postgresql(data: str, folder: Path) -> Source:
    return Pushed(PostgresServer(_url(data), "main", 30.0), Inline(DuckDB(folder / EMPTY)), folder)


def _on_prepared(data: str, folder: Path) -> Source:
    server = PostgresServer(_url(data), "main", 30.0)
    local = Inline(DuckDB(folder / EMPTY, prepared=folder / "given.duckdb"))
    return Pushed(server, local, folder, PostgresPrepared(server, "kept", "main", bytes(32)))


def _on_sail(data: str, folder: Path) -> Source:
    return Pushed(Spark(_url(data), "main", 30.0), Inline(DuckDB(folder / EMPTY)), folder)


ENGINES = (
    Engine("duckdb", _duckdb),
    Engine("sqlite", _sqlite, _on_sqlite, fit=_without_unheld, share=0.75, floats=0.4),
    Engine("postgresql", _postgresql, _on_postgresql),
    Engine("postgresql+prepared", _postgresql_prepared, _on_prepared, prepared=True),
    Engine("spark", _spark, examples=25, share=0.6, floats=0.3),
    Engine("sail", _sail, _on_sail, share=0.7, floats=0.3),
)
_LIBRARY = "the JVM computes another last digit than the C library"
_UNKNOWN = {
    "ln(abs(real4))": _LIBRARY,
    "power(unit8, 3)": _LIBRARY,
    "exp(unit8)": _LIBRARY,
    "round(real4 * 0.1, 2)": "Spark rounds the shortest decimal, DuckDB the binary number",
    **dict.fromkeys(
        ("big / -7", "1 - price / nullif(age, 0) >= 0.1", "abs(-price / 0.7) IN (10, 20)",
         "width_bucket(price / 7.0, 0, 100, 30)", "round(age / 3.0, 2)", "floor(2 - price / 0.7)"),
        "Spark's div of decimals is a bigint",
    ),
}  # fmt: skip
MISSING: Mapping[tuple[str, str], str] = {
    **{
        (name, "test_windows_of_one_unit_move_no_more_than_is_paid"): "no window is printed for it"
        for name in ("spark", "sail")
    },
    **{(name, text): reason for name in ("spark", "sail") for text, reason in _UNKNOWN.items()},
    ("sqlite", "sqrt(real4)"): "of what is below zero it is NaN, which SQLite has not",
    (
        "sqlite",
        "test_moments_with_a_time_zone_are_those_of_the_session",
    ): "no column is a moment with a time zone",
    ("sqlite", "wide + huge"): "numbers of more than 15 digits are not served",
    ("sqlite", "price * rate"): "numbers of more than 15 digits are not served",
}
"""By engine and test, or its expression, what is missing."""


@contextmanager
def serving(engine: Engine, file: Path, folder: Path, request: pytest.FixtureRequest) -> Iterator[Source]:
    """The tables of a DuckDB file, as the product opens them."""
    folder.mkdir(parents=True, exist_ok=True)
    with engine.place(file, folder, request) as data:
        (folder / "dpproxy.toml").write_text(CONFIG.format(data=data), encoding="utf-8")
        config = load_config(folder / "dpproxy.toml", {})
        config.state.mkdir(parents=True, exist_ok=True)
        source = open_source(config, bytes(32), lambda _: None)
        try:
            yield source.backend
        finally:
            source.backend.close()


@contextmanager
def opened(engine: Engine, file: Path, folder: Path, request: pytest.FixtureRequest) -> Iterator[Source]:
    """The tables of a DuckDB file, opened without a process beside this one."""
    assert engine.small is not None
    with engine.place(file, folder, request) as data:
        duckdb.connect(folder / EMPTY).close()
        source = engine.small(data, folder)
        try:
            yield source
        finally:
            source.close()


_FILES = re.compile(r'^path = "data.duckdb"$', re.MULTILINE)


@contextmanager
def proxied(
    engine: Engine, ddl: Sequence[str], policy: str, folder: Path, request: pytest.FixtureRequest
) -> Iterator[Proxy]:
    """A proxy over tables that are made in a DuckDB file and brought to the engine."""
    file = folder / "rows.duckdb"
    with duckdb.connect(file) as connection:
        for statement in ddl:
            connection.execute(statement)
    home = write_home(folder / "home", (), policy)
    with engine.place(file, folder, request) as data:
        home.write_text(_FILES.sub(lambda _: data, home.read_text()), encoding="utf-8")
        with proxies.serving(home) as proxy:
            yield proxy
