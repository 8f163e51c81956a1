"""Where an engine writes rows that do not fit into memory: a directory for the engines of one server.

An engine removes what it wrote when it ends in order; what one that was killed has left is removed here: when the next
one is started, and when a server starts on the same state directory.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "spill-"


class Spill:
    """One such directory, which is this server's as long as it lives: the kernel lets go of its lock.

    Errors: OSError where it cannot be made.
    """

    def __init__(self, state: Path) -> None:
        for old in state.glob(f"{PREFIX}*"):
            _remove_left(old)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=state.absolute()))
            descriptor = _lock(self.path)
            if descriptor is not None and self.path.exists():
                break  # else another server took it for one that was left
        self._descriptor = descriptor

    def clear(self) -> None:
        """Remove what is inside: the engine that wrote it is gone."""
        for left in self.path.glob("*"):
            left.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._descriptor)


def _remove_left(path: Path) -> None:
    """Remove the directory of a server that is gone."""
    descriptor = _lock(path)
    if descriptor is not None:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _lock(path: Path) -> int | None:
    """Hold a directory; None where another process does, or where it is gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
