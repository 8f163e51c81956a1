"""The state directory: a directory for each data source, the number of the layout, and the upgrade of an old one.

In layout 1 the state directory was that of the only data source, and its layout was not written down.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from dpproxy.accounting import files
from dpproxy.config.configuration import Config
from dpproxy.system import disk
from dpproxy.values.errors import StartupError

LAYOUT = 2
VERSION = "state.version"
"""The file with the number of the layout. No data source can have its name."""
OLD_STATE = "before-layout-2"
"""The directory with a copy of the files of layout 1."""
_MOVED = b"moved to "
"""The beginning of the file that replaces the ledger's key of layout 1."""
_MADE_ANEW = ("snapshot-*", "prepared-*")
"""Files that are made from the data again."""
_FIRST = (
    "views",
    "policy.sqlite*",
    "audit.sqlite*",
    "truncation.*",
    "ledger.lock",
    "ledger.sqlite*",
    "ledger.key*",
)
"""The files of layout 1, in the order in which they are moved: an older program refuses an incomplete set."""


def prepare(config: Config, progress: Callable[[str], None]) -> None:
    """Create the state directory, or upgrade its layout. To be called before anything in it is opened.

    Errors: StartupError where a newer program wrote it, an older one serves from it, or a data source seems to have
    been renamed.
    """
    try:
        config.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with files.starting(config.root, progress):
            is_older = layout(config.root) == 1
            if is_older:
                _renew(config, progress)
            if not (config.root / VERSION).exists():
                _write_layout(config.root)
            if is_older:  # a key without a ledger: the program of layout 1 refuses to begin another
                disk.write(config.root / files.KEY, _MOVED + f"{config.databases[0]}\n".encode())
            for database in config.sources:
                _check_name(config, database)
    except OSError as error:
        raise StartupError(f"state directory {config.root} cannot be used: {error.strerror}") from error


def require(config: Config) -> None:
    """Refuse a state directory that no proxy has run on, or that this program cannot read. Errors: StartupError."""
    if layout(config.root) == 1:
        raise StartupError(
            f"{config.root}: expected a state of layout {LAYOUT}; dpproxy serve renews this one"
        )
    if not config.state.is_dir():
        raise StartupError(
            f"{config.state}: expected the state directory of a proxy that has run, "
            "by dpproxy serve or dpproxy policy apply"
        )


def layout(root: Path) -> int:
    """The layout of a state directory; that of this program where nothing is there yet. Errors: StartupError."""
    path = root / VERSION
    if not path.exists():
        return 1 if any(_matches(root, _FIRST)) else LAYOUT
    text = path.read_text(encoding="ascii", errors="replace").strip()
    if not text.isdigit():
        raise StartupError(f"{path}: expected the number of a layout")
    if int(text) > LAYOUT:
        raise StartupError(
            f"state directory {root} has layout {text}, and this program knows those up to {LAYOUT}: run the newer "
            "dpproxy that wrote it, or restore a backup of before"
        )
    return int(text)


def _write_layout(root: Path) -> None:
    disk.replace(root / VERSION, f"{LAYOUT}\n".encode())


def _matches(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    paths = chain.from_iterable(sorted(root.glob(pattern)) for pattern in patterns)
    return (path for path in paths if path.name != files.KEY or not path.read_bytes().startswith(_MOVED))


def _renew(config: Config, progress: Callable[[str], None]) -> None:
    """Upgrade layout 1: copy it, then move it into the data source's directory; repeatable after an interruption."""
    root = config.root
    if len(config.databases) > 1:
        listed = ", ".join(config.databases)
        raise StartupError(
            f"state directory {root} was written for one data source, and it does not say which of {listed}: "
            "serve that one alone once, which gives it a directory of its own"
        )
    if any(map(disk.in_use, _matches(root, ("*.sqlite", "*.duckdb")))):
        raise StartupError(f"state directory {root}: an older dpproxy serves from it; stop it first")
    target = root / config.databases[0]
    _save(root)
    target.mkdir(exist_ok=True, mode=0o700)
    for path in _matches(root, _MADE_ANEW + _FIRST):
        path.rename(target / path.name)
    disk.sync(target)
    disk.sync(root)
    progress(f"the state of {target.name} is now in {target}; a copy as it was is in {root / OLD_STATE}")


def _save(root: Path) -> None:
    draft, whole = root / f"{OLD_STATE}.new", root / OLD_STATE
    if whole.exists():
        return
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    for path in _matches(root, _FIRST):
        if path.is_dir():
            shutil.copytree(path, draft / path.name)
        else:
            shutil.copy2(path, draft / path.name)
    os.sync()
    draft.rename(whole)


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
