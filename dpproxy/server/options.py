"""The options of a server."""

import secrets
from pathlib import Path

from msgspec import Struct, field

from dpproxy.values.structs import PartlyShown


class Options(PartlyShown, Struct, frozen=True):
    """The options of a server; times in seconds."""

    HIDDEN = frozenset({"mock_key", "page_key"})

    host: str = "127.0.0.1"
    port: int = 6432
    """0 for a free one."""
    padding: float = 0.01
    """The outcome of a charged statement leaves this long after its start, or at its deadline where that is later, or
    at 2, 4, 8 ... times that; 0 sends it at once."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    max_connections: int = 100
    login_timeout: float = 60.0
    drain: float = 30.0
    """Seconds that running statements get when the server is told to stop."""
    mock_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """The key from which salts for unknown users are derived; constant across restarts, so that they do not change."""
    page_key: str = field(default_factory=lambda: secrets.token_hex(32))
    """What the page proves itself with where it says which address a login comes from."""
