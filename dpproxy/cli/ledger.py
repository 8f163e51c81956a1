"""The commands of the ledger and of the audit log, which run beside proxies that serve from them."""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from dpproxy.accounting import archive as archiving
from dpproxy.accounting import backup, book, files
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.checkpoint import beginning
from dpproxy.accounting.ledger import verified
from dpproxy.accounting.mark import Mark
from dpproxy.accounting.model import Account, LedgerEntry, Posting, format_epsilon
from dpproxy.accounting.sqlite import SQLite
from dpproxy.accounting.store import Store, faults, first_line
from dpproxy.accounting.stores import store_of
from dpproxy.backends.secret import load_secret
from dpproxy.config.configuration import Config, load_config
from dpproxy.observe import audit_file
from dpproxy.observe.audit_entry import seal
from dpproxy.state.directory import require
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, say, tell, waiting
from dpproxy.terminal.display import as_json, quantity
from dpproxy.values.errors import StartupError


class _Place(Struct, frozen=True):
    """An existing ledger, its key and its mark."""

    store: Store
    seals: Seals
    mark: Mark | None


@contextmanager
def _ledger(config: Config) -> Iterator[_Place]:
    """The ledger of a configuration; its faults become a ``StartupError`` of one line."""
    require(config)
    store = store_of(config.state, config.data.ledger)
    try:
        if not (config.state / files.KEY).exists() or not store.exists:
            raise StartupError(f"{config.state}: expected the state directory of a proxy that has run")
        seals = files.read_key(config.state / files.KEY, None)
        yield _Place(
            store, seals, None if config.data.high_water is None else Mark(config.data.high_water, seals)
        )
    except faults() as error:
        raise StartupError(f"ledger {store.name} cannot be used: {first_line(error)}") from error


@contextmanager
def _other(path: Path) -> Iterator[None]:
    """Turn the faults of a file that the command line names into a ``StartupError`` about it."""
    try:
        yield
    except OSError as error:
        raise StartupError(f"{path}: {error.strerror}") from error
    except faults() as error:
        raise StartupError(f"{path}: {first_line(error)}") from error


def verify(arguments: Arguments) -> int:
    """``dpproxy ledger verify``."""
    config = load_config(arguments.config).of(arguments.database)
    with waiting("verifying") as reach, _ledger(config) as place:
        if arguments.file is None:
            name, head = place.store.name, verified(place.store, place.seals, place.mark, reach=reach).head
            promise = _promise(place.mark)
        else:
            name = str(arguments.file)
            with _other(arguments.file):
                head = verified(SQLite(arguments.file), place.seals, None, reach=reach).head
            promise = _behind(place, head)
    _report(arguments, f"{quantity(head.sequence, 'entry', 'entries')}, all verified; {promise}", name, head)
    return 0


def _report(arguments: Arguments, result: str, name: str, head: Head) -> None:
    """Print the result of a verification as one line, or as JSON."""
    if arguments.json:
        print_result(as_json(["ledger", "entries", "told"], [(name, head.sequence, result)]))
    else:
        say(f"{name}: {result}")


def _promise(mark: Mark | None) -> str:
    if mark is None:
        return "a rollback is not detected, for state.high_water is not configured"
    return "nothing was rolled back"


def _behind(place: _Place, head: Head) -> str:
    now = verified(place.store, place.seals, None).head
    if now.ledger != head.ledger:
        raise StartupError("that is another ledger")
    if now.sequence == head.sequence:
        return "all that the ledger holds"
    return f"the ledger holds {now.sequence}: to restore this would forget what was spent since"


def export(arguments: Arguments) -> int:
    """``dpproxy ledger export``."""
    write = _write_json if arguments.json or arguments.format == "json" else _write_csv
    with _ledger(load_config(arguments.config).of(arguments.database)) as place:
        head = verified(place.store, place.seals, place.mark).head
        with closing(place.store.connect(writing=False)) as connection:
            found = (entry for entry in book.entries(connection) if entry.sequence <= head.sequence)
            if arguments.output is None:
                write(found, sys.stdout)
                sys.stdout.flush()
                return 0
            with _other(arguments.output):
                # Readable by its owner alone: it says who has run which statements.
                made = os.open(arguments.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                file = os.fdopen(made, "w", encoding="utf-8", newline="")
            with file:
                write(found, file)
    say(f"{arguments.output}: {quantity(head.sequence, 'entry', 'entries')}, all verified")
    return 0


def _instant(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="microseconds")


_FIELDS: dict[str, Callable[[LedgerEntry], object]] = {
    "sequence": lambda entry: entry.sequence,
    "at": lambda entry: _instant(entry.at),
    "kind": lambda entry: entry.kind,
    "who": lambda entry: entry.who,
    "what": lambda entry: entry.label,
    "mechanism": lambda entry: entry.mechanism,
    "epsilon": lambda entry: format_epsilon(entry.nano),
    "delta": lambda entry: entry.delta,
    "rho": lambda entry: entry.rho,
    "policy_version": lambda entry: entry.policy_version,
    "data_version": lambda entry: entry.data_version,
    "origin": lambda entry: entry.origin,
    "note": lambda entry: entry.note,
    "statement": lambda entry: entry.statement.hex(),
    "release": lambda entry: entry.release.hex(),
}
"""What stands in an entry, hashes in hexadecimal; delta and rho are exact."""


def _fields(entry: LedgerEntry) -> dict[str, object]:
    return {name: read(entry) for name, read in _FIELDS.items()}


def _debit(posting: Posting) -> dict[str, object]:
    account = posting.account
    return {
        "account": account.kind.value,
        "name": account.name,
        "member": account.member,
        "block": account.block,
        "window": account.window,
        "limit_epsilon": None if posting.limit is None else format_epsilon(posting.limit),
        "debited_epsilon": format_epsilon(posting.nano),
        "debited_delta": posting.delta,
        "debited_rho": posting.rho,
    }


_DEBITED = tuple(_debit(Posting(Account.session(""), None, 0)))


def _write_csv(found: Iterator[LedgerEntry], file: TextIO) -> None:
    """One line for each account debited; an entry that debits none has one line."""
    writer = csv.DictWriter(file, (*_FIELDS, *_DEBITED), lineterminator="\n")
    writer.writeheader()
    for entry in found:
        for debit in [_debit(posting) for posting in entry.postings] or [{}]:
            writer.writerow(_fields(entry) | debit)


def _write_json(found: Iterator[LedgerEntry], file: TextIO) -> None:
    """One list, an entry on each line."""
    before = "[\n"
    for entry in found:
        file.write(before + json.dumps(_fields(entry) | {"debits": [_debit(p) for p in entry.postings]}))
        before = ",\n"
    file.write("[]\n" if before == "[\n" else "\n]\n")


def back_up(arguments: Arguments) -> int:
    """``dpproxy ledger backup``."""
    config = load_config(arguments.config).of(arguments.database)
    with _ledger(config) as place:
        if not isinstance(place.store, SQLite):
            raise StartupError(
                "a ledger in PostgreSQL is backed up by its own tools: pg_dump --schema=dpproxy"
            )
        head = backup.write(place.store, place.seals, arguments.file)
    read_with = f"it is read with {config.state / files.KEY}"
    _report(
        arguments,
        f"{quantity(head.sequence, 'entry', 'entries')}, all verified; {read_with}",
        str(arguments.file),
        head,
    )
    return 0


def archive(arguments: Arguments) -> int:
    """``dpproxy ledger archive``."""
    try:
        before = datetime.fromisoformat(arguments.before).replace(tzinfo=UTC)
    except ValueError:
        raise StartupError(f"--before {arguments.before}: expected a day such as 2026-01-31") from None
    with (
        waiting("verifying") as reach,
        _ledger(load_config(arguments.config).of(arguments.database)) as place,
    ):
        head = verified(place.store, place.seals, place.mark, reach=reach).head
        if place.mark is not None:
            place.mark.advance(head)
        last = archiving.last_before(place.store, int(before.timestamp()) * 1_000_000)
        with closing(place.store.connect(writing=False)) as connection:
            begin = beginning(place.store, connection, place.seals, head).place.sequence
        if last <= begin:
            raise StartupError(
                "no entry may leave: those of the newest data version stay, and none is older than that day"
            )
        with _other(arguments.file):
            end = archiving.write(place.store, place.seals, arguments.file, last)
    _report(
        arguments,
        f"{quantity(end.sequence - begin, 'entry', 'entries')} left the ledger, all verified; "
        f"{head.sequence - end.sequence} stay",
        str(arguments.file),
        end,
    )
    return 0


def mark(arguments: Arguments) -> int:
    """``dpproxy ledger mark``."""
    with _ledger(load_config(arguments.config).of(arguments.database)) as place:
        if place.mark is None:
            raise StartupError("state.high_water is not configured: there is no mark to make")
        head = verified(place.store, place.seals, None).head
        was = _was(place.mark)
        place.mark.make(head)
    _report(
        arguments, f"the high-water mark stands at entry {head.sequence}{was}", str(place.mark.path), head
    )
    return 0


def _was(mark: Mark) -> str:
    try:
        return f"; it stood at {mark.read().sequence}"
    except Mismatch as error:
        return f"; before: {error}"


def log_verify(arguments: Arguments) -> int:
    """``dpproxy log verify``."""
    config = load_config(arguments.config).of(arguments.database)
    require(config)
    state = config.state
    if not (state / audit_file.FILE).exists():
        raise StartupError(f"{state / audit_file.FILE}: expected the audit log of a proxy that has run")
    file = audit_file.AuditFile(state, seal(load_secret(state)))
    file.open()
    try:
        count = file.verify()
    except audit_file.AlteredLog as error:
        tell(f"{state / audit_file.FILE}: {error}")
        return 1
    finally:
        file.close()
    say(f"{state / audit_file.FILE}: {quantity(count, 'entry', 'entries')}, all verified")
    return 0
