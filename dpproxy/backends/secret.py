"""The truncation secret: which rows of a unit are kept must not be predictable, and must stay the same."""

import os
from pathlib import Path

from dpproxy.system import disk
from dpproxy.values.errors import StartupError

SIZE = 32


def load_secret(state: Path) -> bytes:
    """The 32 bytes in ``truncation.key``, made at the first start. Raises ``StartupError``."""
    path = state / "truncation.key"
    try:
        if not path.exists():
            _create(path)
        secret = path.read_bytes()
    except OSError as error:
        raise StartupError(f"truncation key {path}: {error.strerror}") from error
    if len(secret) != SIZE:
        raise StartupError(f"truncation key {path}: damaged; restore it from a backup")
    return secret


def _create(path: Path) -> None:
    """Written whole under another name first: a crash leaves no half key."""
    draft = path.with_suffix(".new")
    disk.write(draft, os.urandom(SIZE))
    draft.replace(path)
