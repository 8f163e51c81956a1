"""Back up the state directory while proxies serve from it, and restore it.

The order makes the copy sound: releases and views were charged before they were written, and the ledger is copied after
them, so that it has the charges of everything in the copy.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from dpproxy.accounting import backup as ledger_backup
from dpproxy.accounting import files
from dpproxy.accounting.chain import Mismatch
from dpproxy.accounting.mark import MAKE, Mark
from dpproxy.accounting.sqlite import SQLite
from dpproxy.accounting.store import faults, first_line
from dpproxy.accounting.stores import store_of
from dpproxy.accounting.verifier import parallel
from dpproxy.accounting.verify import verify
from dpproxy.accounting.walk import Reach, unheard
from dpproxy.backends.secret import load_secret
from dpproxy.config.configuration import Config
from dpproxy.observe import audit_file as audit
from dpproxy.observe.audit_entry import seal
from dpproxy.policy import store as policy
from dpproxy.state.directory import VERSION, check_layout, require
from dpproxy.state.role_settings import FILE as ROLES
from dpproxy.system import disk
from dpproxy.terminal.display import quantity
from dpproxy.values.errors import StartupError
from dpproxy.views import files as views
from dpproxy.views import manifest

KEYS = (files.KEY, "truncation.key")
LOGIN, USERS = "login.key", "users.toml"
ATTEMPTS = 5
"""Attempts to copy the views while no build replaces them."""


def back_up(config: Config, target: Path, reach: Reach = unheard) -> list[str]:
    """Copy the state of all data sources, and the users, to ``target``, which appears only once it is complete.

    Returns a line for each source; ``reach`` is told which part of a ledger is verified. Errors: StartupError, after
    which nothing is left behind.
    """
    if target.exists():
        raise StartupError(f"{target}: expected a directory that does not exist yet")
    draft = target.with_name(f"{target.name}.new")
    with _telling(target):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True, mode=0o700)
        try:
            lines = [_copy_out(config.of(name), draft / name, reach) for name in config.databases]
            for name, path in _of_all(config).items():
                if path.exists():
                    shutil.copy2(path, draft / name)
            os.sync()
            draft.rename(target)
            disk.sync(target.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return lines


def restore(
    config: Config, source: Path, names: Sequence[str], reach: Reach = unheard
) -> tuple[list[str], bool]:
    """Restore data sources that have no state; returns a line for each, and whether all of them can be served.

    ``reach`` is told which part of a ledger is verified. Errors: StartupError where the copy is incomplete, or would
    replace a state; nothing is changed then.
    """
    if not (source / VERSION).exists():
        raise StartupError(f"{source}: expected a directory that dpproxy backup has made")
    check_layout(source)
    for name in names:
        _require_room(config.of(name), source)
    with _telling(config.root):
        config.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, path in _of_all(config).items():
            if not path.exists() and (source / name).exists():
                shutil.copy2(source / name, path)
        for name in names:
            _copy_in(config.of(name), source / name, reach)
        os.sync()
        found = [_standing(config.of(name), reach) for name in names]
    return [line for line, _ in found], all(is_served for _, is_served in found)


def _of_all(config: Config) -> dict[str, Path]:
    """The files that all data sources share, by their names in a copy."""
    return {**{name: config.root / name for name in (VERSION, LOGIN, ROLES)}, USERS: config.users}


# --- out --------------------------------------------------------------------------------------------


def _copy_out(config: Config, target: Path, reach: Reach) -> str:
    """One data source: views first, for they rest on what is charged, and the policy last, which rests on nothing."""
    require(config)
    target.mkdir(mode=0o700)
    _copy_views(config.state / views.FOLDER, target / views.FOLDER)
    for key in KEYS:
        shutil.copy2(config.state / key, target / key)
    _copy_database(config.state / audit.FILE, target / audit.FILE)
    entries = _entries(target)
    ledger = _copy_ledger(config, target, reach)
    _copy_database(config.state / policy.FILE, target / policy.FILE)
    policy.PolicyStore.open(target).close()
    return (
        f"{config.database}: {ledger}; {quantity(entries, 'entry', 'entries')} of the audit log, all verified"
    )


def _copy_ledger(config: Config, target: Path, reach: Reach) -> str:
    store = store_of(config.state, config.data.ledger)
    if not isinstance(store, SQLite):
        return f"its ledger is in {store.name}: now back that up by pg_dump --schema=dpproxy"
    head = ledger_backup.write(
        store, files.read_key(target / files.KEY, None), target / files.DATABASE, reach
    )
    return f"{quantity(head.sequence, 'entry', 'entries')} of the ledger, all verified"


def _copy_views(source: Path, target: Path) -> None:
    """Files are written once: those of the builds on record are a whole if the record is the same afterwards."""
    if not (source / manifest.FILE).exists():
        return
    for _ in range(ATTEMPTS):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(mode=0o700)
        _copy_database(source / manifest.FILE, target / manifest.FILE)
        try:
            for path in source.glob("*.duckdb"):
                shutil.copy2(path, target / path.name)
        except FileNotFoundError:
            continue
        if _rows(source / manifest.FILE) == _rows(target / manifest.FILE):
            return
    raise StartupError(f"{source}: expected a moment without a build; try again")


def _rows(path: Path) -> list[object]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT * FROM build ORDER BY view, epoch").fetchall()


def _copy_database(source: Path, target: Path) -> None:
    disk.write(target, b"")
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as found,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        found.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # no second file beside it


def _entries(folder: Path) -> int:
    """How many entries the audit log in a folder has, all verified. Errors: StartupError."""
    log = audit.AuditFile(folder, seal(load_secret(folder)))
    log.open()
    try:
        return log.verify()
    except audit.AlteredLog as error:
        raise StartupError(f"{folder / audit.FILE}: {error}") from error
    finally:
        log.close()


# --- back -------------------------------------------------------------------------------------------


def _require_room(config: Config, source: Path) -> None:
    if not (source / config.database / files.KEY).exists():
        held = ", ".join(sorted(path.parent.name for path in source.glob(f"*/{files.KEY}"))) or "none"
        raise StartupError(f"{source}: expected the state of {config.database}; it has that of {held}")
    if config.state.exists():
        raise StartupError(
            f"{config.state}: expected no state to be there; stop the proxies and move it away, for it may hold what "
            "was spent since"
        )


def _copy_in(config: Config, source: Path, reach: Reach) -> None:
    """Copy under another name first, and rename: the state is never incomplete."""
    draft = config.state.with_name(f"{config.database}.new")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(source, draft)
    draft.chmod(0o700)
    try:
        _entries(draft)
        if config.data.ledger is None:
            seals = files.read_key(draft / files.KEY, None)
            copied = SQLite(draft / files.DATABASE)
            verify(copied, seals, None, walking=parallel(copied, seals, reach))
    except Mismatch as error:
        shutil.rmtree(draft)
        raise StartupError(f"{source}: its ledger does not verify ({error})") from error
    draft.rename(config.state)
    disk.sync(config.root)


def _standing(config: Config, reach: Reach) -> tuple[str, bool]:
    """A line about a restored ledger, and whether its high-water mark, and so the proxy, accepts it."""
    store, path = store_of(config.state, config.data.ledger), config.data.high_water
    seals = files.read_key(config.state / files.KEY, None)
    try:
        mark = None if path is None else Mark(path, seals)
        head = verify(store, seals, mark, walking=parallel(store, seals, reach)).head
    except Mismatch as error:
        return (
            f"{config.database}: put back, and not served: {error}; to accept that deliberately: {MAKE}",
            False,
        )
    unknown = (
        "" if path is not None else "; what was spent since is forgotten, for there is no high-water mark"
    )
    return (
        f"{config.database}: put back, {quantity(head.sequence, 'entry', 'entries')} of the ledger{unknown}",
        True,
    )


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StartupError(f"{error.filename or path}: {error.strerror}") from error
    except faults() as error:
        raise StartupError(f"{path}: {first_line(error)}") from error
