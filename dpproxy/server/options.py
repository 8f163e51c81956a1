"""How a server serves."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """How to serve; times in seconds."""

    host: str = "127.0.0.1"
    port: int = 6432
    """0 for a free one."""
    padding: float = 0.01
    """The outcome of a charged statement leaves so long after its start, at its deadline where that is later, or 2, 4,
    8 ... times; 0 for at once."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    max_connections: int = 100
    login_timeout: float = 60.0
    drain: float = 30.0
    """Seconds that running statements get when the server is told to stop."""
    mock_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """What unknown users' invented salts are made of; kept across restarts, they do not change."""
