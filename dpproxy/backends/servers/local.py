"""The engine of ours beside a data source that is a server: it starts empty and is given what is not the source's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from dpproxy.backends.duckdb.prepared import prepared_file
from dpproxy.backends.process.remote import Remote
from dpproxy.values.errors import StartupError


def beside(state: Path, secret: bytes, limits: Mapping[str, Any]) -> Remote:
    """A process with an empty database, and a file for what it is given. Raises ``StartupError``."""
    path = state / "snapshot-empty.duckdb"
    try:
        for left in state.glob("copy-*.duckdb"):  # by a process that was ended
            left.unlink(missing_ok=True)
        if not path.exists():
            duckdb.connect(path).close()
            path.chmod(0o600)
        return Remote(path, prepared=prepared_file(state, path, secret), **limits)
    except (OSError, duckdb.Error) as error:
        raise StartupError(f"{path}: could not be written: {type(error).__name__}") from None
