import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting import book, schema
from dpproxy.accounting.chain import Head
from dpproxy.accounting.checkpoint import Checkpoints
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.mark import Mark
from dpproxy.accounting.model import NO_DELTA, Account, Charge, Cost, Reset
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.values.errors import LedgerUnavailable, StartupError
from tests.accounting.conftest import Home

COLUMNS = [
    (table, row[1], row[2])
    for table, ddl in schema.TABLES.items()
    for connection in [sqlite3.connect(":memory:")]
    for _ in [connection.execute(ddl)]
    for row in [*connection.execute(f"PRAGMA table_info({table})"), connection.close()]
    if row is not None
]
OTHER = {"INTEGER": "coalesce({c}, 0) + 1000", "BLOB": "CAST({c} || x'00' AS BLOB)", "TEXT": "{c} || '1'"}
BYTES = {"BLOB": "{c} || '\\x00'::bytea"}


_pristine: dict[bool, Home] = {}


@pytest.fixture
def state(
    home: Home, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, make: Callable[..., Charge]
) -> Home:
    """A ledger of four charges and one adoption, with two stored releases."""
    kind = home.server is None
    if kind not in _pristine:
        server = home.server
        made = Home(
            tmp_path_factory.mktemp("pristine") / "state",
            server,
            server.database(name="kept") if server else "",
        )
        with made.open() as ledger:
            store = ReleaseStore(ledger)
            for number, who in enumerate(("ann", "bob", "ann", "eve")):
                store.store(ledger.reserve(make(who, number + 1, question=str(number), budget=99)), b"rows")
            found = store.find(make(question="1").release, 1)
            assert found is not None
            store.adopt(found, make("ann", question="1"))
        _pristine[kind] = made
    return _pristine[kind].copy(tmp_path / "copy")


def refused(state: Home, pattern: str = "refusing to serve") -> bool:
    with pytest.raises(StartupError, match=pattern) as caught:
        state.open()
    assert "\n" not in str(caught.value)
    return True


def test_an_untouched_ledger_verifies(state: Home):
    with state.open() as ledger:
        assert ledger.verify() == 5


@pytest.mark.parametrize(("table", "column", "kind"), COLUMNS)
def test_any_altered_column_is_noticed(state: Home, table: str, column: str, kind: str):
    key = {"entry": "sequence", "debit": "sequence", "release": "origin"}.get(table)
    where = f"WHERE {key} = 2" if key else ""
    on_server = state.server is not None
    other = (OTHER | BYTES if on_server else OTHER)[kind].format(c=f'"{column}"')
    try:
        state.edit(f'UPDATE {"" if on_server else "OR IGNORE"} {table} SET "{column}" = {other} {where}')
    except psycopg.errors.CheckViolation:
        return  # not even this could be done
    assert refused(state)


@pytest.mark.parametrize("sequence", [1, 3, 5])
@pytest.mark.parametrize("table", ["entry", "debit"])
def test_any_dropped_row_is_noticed(state: Home, table: str, sequence: int):
    state.edit(f"DELETE FROM {table} WHERE sequence = {sequence}")
    assert refused(state)


def test_the_first_wrong_entry_is_named(state: Home):
    state.edit("UPDATE entry SET who = 'eve' WHERE sequence = 3")
    assert refused(state, r"ledger .* does not verify at entry 3 \(.*\): refusing to serve")


def test_swapped_entries_are_noticed(state: Home):
    swap = "CASE {c} WHEN 1 THEN 1003 WHEN 3 THEN 1001 END"
    for columns, table in ((("sequence", "origin"), "entry"), (("sequence", "origin"), "debit")):
        sets = ", ".join(f"{c} = {swap.format(c=c)}" for c in columns)
        state.edit(
            f"UPDATE {table} SET {sets} WHERE sequence IN (1, 3)",
            f"UPDATE {table} SET sequence = sequence - 1000, origin = origin - 1000 WHERE sequence > 1000",
        )
    assert refused(state, "at entry 1")


SHORTEN = (
    "DELETE FROM debit WHERE sequence = 5",
    "DELETE FROM entry WHERE sequence = 5",
    (
        "UPDATE account SET nano = (SELECT sum(nano) FROM debit d WHERE (d.kind, d.name, d.member) ="
        " (account.kind, account.name, account.member))"
    ),
)


def test_a_dropped_end_is_noticed_even_when_totals_are_mended(state: Home):
    state.edit(*SHORTEN)
    assert refused(state, "at entry 5")
    state.edit("UPDATE head SET sequence = 4, mac = (SELECT mac FROM entry WHERE sequence = 4)")
    assert refused(state, "not sealed")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE account SET nano = 0 WHERE kind = 'budget'",
        "DELETE FROM account WHERE kind = 'user'",
        "INSERT INTO account VALUES ('budget', 'other', '', '', 0, 1, '0', '0')",
        "INSERT INTO debit VALUES (77, 'budget', 'other', '', '', 0, 77, 0, NULL, 1, '0', '0')",
        "UPDATE entry SET delta = 'no number' WHERE sequence = 1",
        "DELETE FROM head",
    ],
)
def test_rows_that_do_not_add_up_are_noticed(state: Home, statement: str):
    state.edit(statement)
    assert refused(state)


def test_another_key_does_not_verify(state: Home):
    (state.state / "ledger.key").write_text(f"key {'00' * 32}\n")
    assert refused(state, "not sealed by this key")


def test_released_answers_may_be_dropped(state: Home):
    state.edit("DELETE FROM release")
    state.open().close()


def test_what_is_altered_while_serving_is_noticed_too(state: Home, make: Callable[..., Charge]):
    with state.open() as ledger:
        state.edit("UPDATE head SET at = at + 1")
        with pytest.raises(StartupError):
            ledger.verify()
        with pytest.raises(LedgerUnavailable):
            ledger.reserve(make())


# --- files --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, make: Callable[..., Charge]) -> Path:
    """The state directory of a ledger of 40 charges in a file."""
    with Ledger.open(tmp_path / "state") as ledger:
        for number in range(40):
            ledger.reserve(make(question=str(number)))
        ledger.writer._database._connect().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return tmp_path / "state"


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entry_no_delete",
        "CREATE TABLE guest (x)",
        "DROP INDEX release_by_key",
        "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM release; END",
    ],
)
def test_altered_tables_are_noticed(folder: Path, statement: str):
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection:
        connection.execute(statement)
    assert refused(Home(folder), "tables are not those of a ledger")


@pytest.mark.parametrize("size", [0, 100, 4096, 9000])
def test_a_truncated_file_is_refused(folder: Path, size: int):
    os.truncate(folder / "ledger.sqlite", size)
    assert refused(Home(folder))


def test_garbage_is_refused(folder: Path):
    (folder / "ledger.sqlite").write_bytes(b"not a database at all" * 500)
    assert refused(Home(folder), "not a database")


def test_a_damaged_page_is_refused_or_says_nothing_else(folder: Path):
    path = folder / "ledger.sqlite"
    whole = path.read_bytes()
    with Ledger.open(folder) as ledger:
        before = ledger.entries()
    noticed = 0
    for start in range(0, len(whole), 4096):
        for place in (start, start + 100, start + 4000):
            damaged = bytearray(whole)
            damaged[place : place + 32] = bytes(byte ^ 0x55 for byte in whole[place : place + 32])
            path.write_bytes(bytes(damaged))
            try:
                with Ledger.open(folder) as ledger:
                    assert ledger.entries() == before
            except StartupError:
                noticed += 1
    assert noticed > len(whole) // 4096  # the rest fell where nothing is written


# --- the high-water mark ------------------------------------------------------------------------------


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    (tmp_path / "other disk").mkdir()
    return tmp_path / "other disk" / "mark"


def reserved(home: Home, make: Callable[..., Charge], mark: Path | None, count: int) -> None:
    with home.open(high_water=mark) as ledger:
        for number in range(count):
            ledger.reserve(make(question=str(number)))


def test_a_restored_older_ledger_is_refused(
    home: Home, tmp_path: Path, make: Callable[..., Charge], mark: Path
):
    reserved(home, make, mark, 3)
    older = home.copy(tmp_path / "older")
    older.open(high_water=mark).close()
    reserved(home, make, mark, 2)
    older.open().close()  # without the second path nothing tells
    for _ in range(2):
        with pytest.raises(
            StartupError, match=r"rolled back: it ends at entry 3, .* stands at 5.*ledger mark"
        ):
            older.open(high_water=mark)
    home.open(high_water=mark).close()


def test_an_older_ledger_that_was_continued_is_refused(
    home: Home, tmp_path: Path, make: Callable[..., Charge], mark: Path
):
    reserved(home, make, mark, 3)
    older = home.copy(tmp_path / "older")
    reserved(home, make, mark, 2)
    reserved(older, make, None, 4)
    with pytest.raises(StartupError, match=r"at entry 5 \(it was rolled back and continued"):
        older.open(high_water=mark)


def test_a_missing_mark_is_refused_once_there_are_entries(
    home: Home, make: Callable[..., Charge], mark: Path
):
    home.open(high_water=mark).close()
    mark.unlink()
    reserved(home, make, mark, 1)
    mark.unlink()
    with pytest.raises(StartupError, match=r"mark .* is missing.*refusing to serve.*ledger mark --config"):
        home.open(high_water=mark)
    assert not mark.exists()


def test_a_ledger_begun_anew_is_not_the_one_of_the_mark(
    home: Home, tmp_path: Path, make: Callable[..., Charge], mark: Path
):
    reserved(home, make, mark, 1)
    server = home.server
    anew = Home(tmp_path / "anew", server, server.database() if server else "")
    with pytest.raises(StartupError, match="of another ledger"):
        anew.open(high_water=mark)


def test_a_crash_between_the_commit_and_the_mark_is_no_rollback(
    home: Home, make: Callable[..., Charge], mark: Path
):
    reserved(home, make, mark, 1)
    behind = mark.read_bytes()
    reserved(home, make, mark, 1)
    mark.write_bytes(behind)
    reserved(home, make, mark, 1)
    assert mark.read_bytes() != behind


def test_a_mark_that_goes_missing_while_serving_answers_nothing(
    home: Home, make: Callable[..., Charge], mark: Path
):
    with home.open(high_water=mark) as ledger:
        ledger.reserve(make())
        kept = mark.rename(mark.with_name("kept"))
        for _ in range(3):
            with pytest.raises(LedgerUnavailable):
                ledger.reserve(make())
        with pytest.raises(StartupError, match="is missing"):
            ledger.verify()
        assert len(ledger.entries()) == 2  # the first of them is charged, and answered to nobody
        kept.rename(mark)
        assert ledger.reserve(make()).sequence == 3
        assert ledger.verify() == 3


def test_a_log_cut_off_at_a_commit_is_refused(tmp_path: Path, make: Callable[..., Charge], mark: Path):
    home = Home(tmp_path / "state")
    log = home.state / "ledger.sqlite-wal"
    with home.open(high_water=mark) as ledger:
        sizes = []
        for number in range(3):
            ledger.reserve(make(question=str(number)))
            sizes.append(log.stat().st_size)
        crashed = home.copy(tmp_path / "crashed")
    crashed.copy(tmp_path / "whole").open(high_water=mark).close()
    os.truncate(crashed.state / "ledger.sqlite-wal", sizes[1])
    crashed.copy(tmp_path / "blind").open().close()
    with pytest.raises(StartupError, match="rolled back: it ends at entry 2"):
        crashed.open(high_water=mark)


# --- from a checkpoint on -----------------------------------------------------------------------------


@pytest.fixture
def since(home: Home, make: Callable[..., Charge], mark: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Four charges before a checkpoint, three after it: one for a release of before, one a reset."""
    monkeypatch.setattr("dpproxy.accounting.ledger.EVERY", 4)
    monkeypatch.setattr("dpproxy.accounting.background.DELAY", 1000.0)
    with home.open(high_water=mark) as ledger:
        store = ReleaseStore(ledger)
        for number in range(4):
            store.store(ledger.reserve(make(nano=number + 1, question=str(number))), b"rows")
    with home.open(high_water=mark) as ledger:
        store = ReleaseStore(ledger)
        found = store.find(make(question="1").release, 1)
        assert found is not None
        store.adopt(found, make("eve", question="1"))
        ledger.reset(Reset("root", Account.user("research", "ann"), "why", "what", 1, 1))
        ledger.reserve(make(nano=9, question="after"))
    return home


def begun(state: Home, mark: Path | None) -> int:
    """The entry after which the start verified."""
    with state.open(high_water=mark) as ledger:
        return ledger.authentic._until


def test_a_start_verifies_what_was_written_since(since: Home, mark: Path):
    with since.open(high_water=mark) as ledger:
        assert ledger.authentic._until == 4
        assert ledger.spent(Account.user("research", "ann")) == 9
        assert ledger.spent(Account.budget("research")) == 1 + 2 + 3 + 4 + 9
        assert ledger.verify() == 7


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET who = 'bob' WHERE sequence = 5",
        "DELETE FROM debit WHERE sequence = 7 AND kind = 'ceiling'",
        "UPDATE account SET nano = nano - 1 WHERE kind = 'ceiling'",
        "UPDATE account SET nano = 0 WHERE kind = 'user' AND member = 'eve'",
        "UPDATE account SET rho = '0' WHERE kind = 'budget'",
        "UPDATE account SET delta = delta || '/' WHERE kind = 'budget'",
        "UPDATE account SET delta = delta || '/-1' WHERE kind = 'budget'",
        "UPDATE account SET delta = delta || '/ 1' WHERE kind = 'budget'",
        "UPDATE account SET delta = delta || '/0' WHERE kind = 'budget'",
        "UPDATE account SET delta = '\u0660' WHERE kind = 'budget'",
        "DELETE FROM account WHERE kind = 'user' AND member = 'ann'",
        "INSERT INTO account VALUES ('budget', 'other', '', '', 0, 1, '0', '0')",
        "INSERT INTO debit VALUES (6, 'budget', 'other', '', '', 0, 5, 7, NULL, 1, '0', '0')",
        "UPDATE entry SET mac = (SELECT mac FROM entry WHERE sequence = 3) WHERE sequence = 4",
    ],
)
def test_what_limits_rest_on_is_verified_at_the_start(since: Home, mark: Path, statement: str):
    since.edit(statement)
    with pytest.raises(StartupError, match="does not verify"):
        since.open(high_water=mark)


def test_an_entry_of_before_is_not_and_by_command_it_is(since: Home, mark: Path):
    since.edit("UPDATE entry SET who = 'eve' WHERE sequence = 2")
    with since.open(high_water=mark) as ledger, pytest.raises(StartupError, match="at entry 2"):
        ledger.verify()


def test_a_checkpoint_that_was_altered_or_lost_has_everything_verified(since: Home, mark: Path):
    path = mark.with_name("mark.checkpoint")
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"budget"', b'"budgex"'))
    assert begun(since, mark) == 0  # and then there is another, at the end
    assert begun(since, mark) == 7
    path.unlink()
    assert begun(since, mark) == 0


def test_a_checkpoint_beyond_the_mark_vouches_for_nothing(since: Home, mark: Path):
    with since.open() as ledger:
        seals = ledger.seals
        found = Checkpoints.of(mark.parent, Mark(mark, seals), seals).read()
        assert found is not None
        with closing(since.store.connect(writing=False)) as connection:
            third = book.read_mac(connection, 3)
        assert third is not None
        head = Mark(mark, seals).read()
        Mark(mark, seals).make(Head(head.format, head.ledger, 3, head.at, third))
    assert begun(since, mark) == 0


def test_a_rollback_behind_the_checkpoint_is_a_rollback(
    home: Home, tmp_path: Path, make: Callable[..., Charge], mark: Path, monkeypatch: pytest.MonkeyPatch
):
    reserved(home, make, mark, 3)
    older = home.copy(tmp_path / "older")
    monkeypatch.setattr("dpproxy.accounting.ledger.EVERY", 1)
    reserved(home, make, mark, 2)
    home.open(high_water=mark).close()
    with pytest.raises(StartupError, match="rolled back: it ends at entry 3"):
        older.open(high_water=mark)
    reserved(older, make, None, 4)
    with pytest.raises(StartupError, match=r"at entry 5 \(it was rolled back and continued"):
        older.open(high_water=mark)


@pytest.mark.parametrize("from_checkpoint", [False, True])
def test_a_loss_without_rho_is_refused(
    since: Home,
    mark: Path,
    make: Callable[..., Charge],
    monkeypatch: pytest.MonkeyPatch,
    *,
    from_checkpoint: bool,
):
    """Limits under ZCDP would not count it, whoever has the key and writes it."""
    with since.open(high_water=mark) as ledger, monkeypatch.context() as then:
        then.setattr(Cost, "of", classmethod(lambda cls, nano, delta=NO_DELTA: cls(nano, delta)))
        ledger.reserve(make(nano=10**9, question="without rho"))
    if not from_checkpoint:
        Checkpoints.of(mark.parent, Mark(mark, ledger.seals), ledger.seals).forget()
    with pytest.raises(StartupError, match="a row holds what no ledger writes"):
        since.open(high_water=mark)
