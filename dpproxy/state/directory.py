"""The state directory: a directory for each data source, and the number of the layout."""

from collections.abc import Callable
from pathlib import Path

from dpproxy.accounting import files
from dpproxy.config.configuration import Config
from dpproxy.system import disk
from dpproxy.values.errors import StartupError

LAYOUT = 2
VERSION = "state.version"
"""The file with the number of the layout. No data source can have its name."""


def prepare(config: Config, progress: Callable[[str], None]) -> None:
    """Create the state directory. To be called before anything in it is opened.

    Errors: StartupError where another version wrote it, or a data source seems to have been renamed.
    """
    try:
        config.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with files.starting(config.root, progress):
            check_layout(config.root)
            if not (config.root / VERSION).exists():
                disk.replace(config.root / VERSION, f"{LAYOUT}\n".encode())
            for database in config.sources:
                _check_name(config, database)
    except OSError as error:
        raise StartupError(f"state directory {config.root} cannot be used: {error.strerror}") from error


def require(config: Config) -> None:
    """Refuse a state directory that no proxy has run on, or that this program cannot read. Errors: StartupError."""
    check_layout(config.root)
    if not config.state.is_dir():
        raise StartupError(
            f"{config.state}: expected the state directory of a proxy that has run, "
            "by dpproxy serve or dpproxy policy apply"
        )


def check_layout(root: Path) -> None:
    """Refuse a state directory of another layout; one that is empty is of this one. Errors: StartupError."""
    path = root / VERSION
    if not path.exists() and not (root / files.KEY).exists():
        return
    text = path.read_text(encoding="ascii", errors="replace").strip() if path.exists() else "no number"
    if text != str(LAYOUT):
        raise StartupError(
            f"state directory {root} has layout {text}, and this program reads {LAYOUT}: run the dpproxy that wrote "
            "it, or restore a backup that this one made"
        )


def _check_name(config: Config, database: str) -> None:
    """A data source under another name would begin another ledger, and forget what was spent."""
    if (config.root / database / files.KEY).exists():
        return
    known = {
        path.parent.name for path in config.root.glob(f"*/{files.KEY}") if path.parent.name.isidentifier()
    }
    if lost := sorted(known - set(config.databases)):
        raise StartupError(
            f'data source "{database}" has no state in {config.root}, and "{lost[0]}" there is the state of none: '
            f"if it was renamed, rename {config.root / lost[0]} to {database}; if not, move that away"
        )
