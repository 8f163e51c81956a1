"""How a data source is opened: one function for each scheme of `data.NAME.url`, and one for `data.NAME.path`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from dpproxy.backends.duckdb.prepared import prepared_file
from dpproxy.backends.duckdb.snapshot import snapshot
from dpproxy.backends.folding import Folded
from dpproxy.backends.places import check_names, check_read
from dpproxy.backends.process.remote import Remote
from dpproxy.backends.servers.local import beside
from dpproxy.backends.servers.source import Pushed
from dpproxy.backends.source import Opened
from dpproxy.config.configuration import Config
from dpproxy.system.disk import is_sqlite
from dpproxy.values.errors import StartupError

Opener = Callable[[Config, bytes, Callable[[str], None]], Opened]
"""Of the configuration of this one data source, the truncation secret, and who is told of progress.

It may keep files in `config.state`, obeys `config.limits`, and raises ``StartupError`` without a word of
`config.data.url` or of any row.
"""


def open_source(config: Config, secret: bytes, progress: Callable[[str], None]) -> Opened:
    """Open the one data source of a configuration. Raises ``StartupError``."""
    path, schemas = config.data.path, config.data.schemas
    scheme = config.data.scheme if path is None or not is_sqlite(path) else "sqlite"
    if schemas and (scheme == "sqlite" or (path is not None and path.is_dir())):
        raise StartupError(
            f"data.{config.database}.schemas: expected beside a PostgreSQL url or a DuckDB file"
        )
    check_names(schemas, config.database)
    opened = OPENERS[scheme](config, secret, progress)
    try:
        if schemas:
            check_read(schemas, opened.backend.schema(), config.database)
        return replace(opened, backend=Folded(opened.backend)) if config.data.fold_names else opened
    except BaseException:
        opened.backend.close()
        raise


def _files(config: Config, secret: bytes, progress: Callable[[str], None]) -> Opened:
    """A DuckDB file, or a directory of Parquet and CSV files, with the prepared tables beside it."""
    if config.data.path is None:
        raise AssertionError("a source without a scheme has a path")
    source, state = config.data.path, config.state
    path = snapshot(source, state, progress, config.memory)
    prepared = prepared_file(state, path, secret)
    remote = Remote(path, prepared=prepared, schemas=config.data.schemas, **config.limits)

    def renew(between: Callable[[], None]) -> str:
        fresh = snapshot(source, state, progress, config.memory)
        beside: list[Path] = []

        def opened() -> tuple[Path, Path]:
            beside[:] = [prepared_file(state, fresh, secret)]
            return fresh, beside[0]

        if not remote.renew(opened, between):
            raise StartupError(
                f"{source}: a table has other columns than before; restart the proxy to serve them"
            )
        return beside[0].stem

    return Opened(remote, prepared.stem, renew)


def _live(between: Callable[[], None]) -> str:
    """Rows that are read as they are need not be read anew."""
    between()
    return ""


def _sqlite(config: Config, secret: bytes, _progress: Callable[[str], None]) -> Opened:
    """A SQLite file, which others may write: nobody knows the state of it."""
    from dpproxy.backends.sqlite.server import Sqlite  # noqa: PLC0415

    if config.data.path is None:
        raise AssertionError("a source without a scheme has a path")
    server = Sqlite(config.data.path, config.database, config.statement_timeout)
    try:
        pushed = Pushed(server, beside(config.state, secret, config.limits), config.state)
        return Opened(pushed, "", _live)
    except BaseException:
        server.close()
        raise


def _postgresql(config: Config, secret: bytes, _progress: Callable[[str], None]) -> Opened:
    """A PostgreSQL database; its rows change, so nobody knows the state of them."""
    from dpproxy.backends.postgres.prepared import PostgresPrepared  # noqa: PLC0415
    from dpproxy.backends.postgres.server import PostgresServer  # noqa: PLC0415 - each source's driver where it is used

    server = PostgresServer(
        config.data.url or "", config.database, config.statement_timeout, config.data.schemas
    )
    try:
        kept = config.data.prepared_schema
        keeper = None if kept is None else PostgresPrepared(server, kept, config.database, secret)
        pushed = Pushed(server, beside(config.state, secret, config.limits), config.state, keeper)
        return Opened(pushed, "", _live)
    except BaseException:
        server.close()
        raise


def _spark(config: Config, secret: bytes, _progress: Callable[[str], None]) -> Opened:
    """Parquet files behind a Spark Connect server, which others may write: nobody knows the state of them."""
    from dpproxy.backends.spark.prepared import SparkPrepared  # noqa: PLC0415
    from dpproxy.backends.spark.server import Spark  # noqa: PLC0415

    server = Spark(config.data.url or "", config.database, config.statement_timeout)
    try:
        keeper = SparkPrepared(server, config.database, secret) if server.prepared_folder else None
        pushed = Pushed(server, beside(config.state, secret, config.limits), config.state, keeper)
        return Opened(pushed, "", server.renewed)
    except BaseException:
        server.close()
        raise


def nothing_to_read(config: Config) -> str:
    """What to say of a data source in which no table can be read. Raises ``StartupError``."""
    from dpproxy.backends import schemas  # noqa: PLC0415 - the driver of PostgreSQL where it is used

    data = config.data
    if data.scheme == "postgresql":
        role, served, found = schemas.in_postgres(data.url or "", config.database)
        return schemas.nothing_read(served or "", role, found)
    if data.path is not None and not is_sqlite(data.path) and (found := schemas.in_file(data.path)):
        places = "; ".join(f"schema {one.name} has {schemas.listed(one)}" for one in found)
        return f"no table can be read: of a DuckDB file those of schema main are, and {places}"
    return "no table can be read: the data source has none"


OPENERS: Mapping[str, Opener] = {"": _files, "sqlite": _sqlite, "postgresql": _postgresql, "sc": _spark}
