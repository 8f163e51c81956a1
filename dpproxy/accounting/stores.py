"""Which store a ledger is in."""

from pathlib import Path
from typing import Final

from dpproxy.accounting import files
from dpproxy.accounting.sqlite import SQLite
from dpproxy.accounting.store import Address, Store

_SERVER: Final = "server"


def store_of(directory: Path, url: str | None) -> Store:
    """The store of a state directory's ledger: PostgreSQL at ``url``, or a SQLite file without one."""
    return SQLite(directory / files.DATABASE) if url is None else store_at((_SERVER, url))


def store_at(address: Address) -> Store:
    """The store that has this address."""
    kind, place = address
    if kind != _SERVER:
        return SQLite(Path(place))
    from dpproxy.accounting.postgres import PostgresStore  # noqa: PLC0415 - its driver takes long to load

    return PostgresStore(place)
