"""Entries that left a ledger: what they add up to, the chain, and what is asked again stay as they were."""

import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from dpproxy.accounting import archive, backup, files
from dpproxy.accounting.chain import Seals
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import LimitReached
from dpproxy.accounting.model import Account, Charge
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.accounting.sqlite import SQLite
from dpproxy.accounting.verify import verify
from dpproxy.values.errors import StartupError
from tests.accounting.conftest import Home

Make = Callable[..., Charge]
ANN, BUDGET = Account.user("research", "ann"), Account.budget("research")
ALL = (
    ANN,
    Account.user("research", "eve"),
    BUDGET,
    Account.ceiling("people"),
    Account.session("s", "research"),
)
NEVER = 2**62


@pytest.fixture
def home(home: Home, tmp_path: Path, make: Make) -> Home:
    """Seven entries of data version 1, an adoption among them, then three of data version 2, all with answers."""
    with home.open(high_water=tmp_path / "mark") as ledger:
        ask(ledger, *(make(nano=n + 1, question=str(n), login="s") for n in range(6)))
        found = ReleaseStore(ledger).find(make(question="1").release, 1)
        assert found is not None
        ReleaseStore(ledger).adopt(found, make("eve", question="1"))
        ask(ledger, *(newer(make(nano=7, question=f"new {n}", login="t")) for n in range(3)))
    return home


def newer(charge: Charge) -> Charge:
    return replace(charge, data_version=2)


def ask(ledger: Ledger, *charges: Charge) -> None:
    for charge in charges:
        ReleaseStore(ledger).store(ledger.reserve(charge), b"rows")
    ledger.writer.submit(lambda _: None)


def move(home: Home, name: str = "old.sqlite", before: int = NEVER) -> int:
    last = archive.last_before(home.store, before)
    return archive.write(home.store, seals(home), home.state.parent / name, last).sequence


def seals(home: Home) -> Seals:
    return files.read_key(home.state / files.KEY, None)


def begun(home: Home) -> Ledger:
    return home.open(high_water=home.state.parent / "mark")


def spent(ledger: Ledger) -> list[object]:
    return [ledger.paid(account) for account in ALL]


def test_sums_chain_and_answers_stay_and_the_file_is_a_ledger(home: Home, make: Make):
    with begun(home) as ledger:
        before, entries = spent(ledger), ledger.entries()
    assert move(home) == 7
    with begun(home) as ledger:
        assert spent(ledger) == before
        assert ledger.entries() == entries[7:]
        assert ledger.verify() == 10
        store = ReleaseStore(ledger)
        found = store.find(newer(make(question="new 0")).release, 1, ANN)
        assert found is not None
        assert (found.payload, ANN in found.payers) == (b"rows", True)
        assert store.adopt(found, newer(make("eve", question="new 0"))) is not None
        assert store.find(make(question="1").release, 1) is None
        assert ledger.reserve(newer(make(question="more"))).sequence == 12
        with pytest.raises(LimitReached):
            ledger.reserve(make(nano=1, budget=ledger.spent(BUDGET)))
    old = verify(SQLite(home.state.parent / "old.sqlite"), seals(home), None)
    assert old.head.sequence == 7
    with closing(sqlite3.connect(home.state.parent / "old.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (7,)
        assert connection.execute("SELECT count(*) FROM release").fetchone() == (6,)


def test_more_is_archived_later_and_each_file_follows_the_one_before(home: Home, make: Make):
    move(home)
    with begun(home) as ledger:
        ask(ledger, replace(make(question="newest"), data_version=3))
        before = spent(ledger)
    assert move(home, "next.sqlite") == 10
    with begun(home) as ledger:
        assert (spent(ledger), ledger.verify()) == (before, 11)
    with closing(sqlite3.connect(home.state.parent / "next.sqlite")) as connection:
        assert connection.execute("SELECT min(sequence), max(sequence) FROM entry").fetchone() == (8, 10)
    assert verify(SQLite(home.state.parent / "next.sqlite"), seals(home), None).head.sequence == 10


def test_what_is_of_the_newest_data_or_not_old_enough_stays(home: Home):
    with begun(home) as ledger:
        third = ledger.entries()[2]
    assert archive.last_before(home.store, third.at) == 2
    assert archive.last_before(home.store, NEVER) == 7


def test_a_proxy_that_serves_goes_on(home: Home, make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive, "PORTION", 2)
    with home.open() as first, home.open() as second:
        before = spent(first)
        move(home)
        first.reserve(newer(make(question="more")))
        assert second.reserve(newer(make(question="even more"))).sequence == 12
        assert first.spent(BUDGET) == second.spent(BUDGET) == before[2].nano + 2  # type: ignore[attr-defined]


def test_a_late_answer_to_what_was_archived_holds_up_no_other(home: Home, make: Make):
    with home.open() as ledger:
        store = ReleaseStore(ledger)
        late = ledger.reserve(newer(make(question="late")))
        ask(ledger, replace(make(question="newest"), data_version=3))
        assert move(home) == late.sequence == 11
        store.store(late, b"rows")
        new = ledger.reserve(replace(make(question="more"), data_version=3))
        store.store(new, b"rows")
        until = time.monotonic() + 20
        while ledger.writer.waiting():
            assert time.monotonic() < until
            time.sleep(0.02)
        assert store.is_settled(new.sequence)
        assert ledger.verify() == 13


def test_a_proxy_that_was_idle_since_before_goes_on(make: Make, tmp_path: Path):
    other = Home(tmp_path / "other")
    with other.open() as idle, other.open() as busy:
        ask(busy, make(question="1"), newer(make(question="2")))
        idle.reserve(newer(make(question="3")))
        ask(busy, replace(make(question="4"), data_version=3))
        move(other, "of other.sqlite")
        assert idle.reserve(make(question="5")).sequence == 5
        assert idle.verify() == 5


def test_an_interrupted_one_leaves_a_whole_ledger(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive, "PORTION", 3)
    with begun(home) as ledger:
        before = spent(ledger)
    leave = archive._leave
    portions = iter([True, False])
    monkeypatch.setattr(archive, "_leave", lambda *given: next(portions) and leave(*given))
    move(home)
    with begun(home) as ledger:
        assert (spent(ledger), ledger.verify()) == (before, 10)
        assert [entry.sequence for entry in ledger.entries()] == list(range(4, 11))
    monkeypatch.setattr(archive, "_leave", leave)
    move(home, "again.sqlite")
    with begun(home) as ledger:
        assert (spent(ledger), ledger.verify()) == (before, 10)


def test_a_checkpoint_of_before_it_does_not_fit_and_one_of_after_does(
    home: Home, make: Make, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dpproxy.accounting.ledger.EVERY", 1)
    monkeypatch.setattr("dpproxy.accounting.background.DELAY", 1000.0)
    home.open().close()
    with home.open() as ledger:
        ask(ledger, replace(make(question="newest"), data_version=3))
    move(home)
    with home.open() as ledger:
        assert ledger.authentic._until == 0
    with home.open() as ledger:
        assert ledger.authentic._until == 11
        found = ReleaseStore(ledger).find(make(question="newest").release, 1, ANN)
        assert found is not None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE archived SET seal = body",
        "UPDATE archived SET body = seal",
        "DELETE FROM entry WHERE sequence = 8",
        "DROP TABLE archived",
        "DELETE FROM archived",
        "UPDATE account SET nano = nano - 1 WHERE nano > 0",
    ],
)
def test_what_was_altered_is_noticed_at_the_next_start(home: Home, statement: str):
    move(home)
    if statement.startswith("DROP"):
        with closing(home.store.connect(writing=True)) as connection:
            connection.execute(statement)
    else:
        home.edit(statement)
    with pytest.raises(StartupError, match="does not verify"):
        begun(home)


def test_the_record_of_an_older_state_or_a_checkpoint_does_not_stand_for_it(home: Home, make: Make):
    move(home)
    with closing(home.store.connect(writing=False)) as connection:
        older = home.store.archived(connection)
    assert older is not None
    with begun(home) as ledger:
        ask(ledger, replace(make(question="newest"), data_version=3))
    move(home, "next.sqlite")
    with closing(home.store.connect(writing=True)) as connection:
        connection.execute("UPDATE archived SET body = ?, seal = ?", older)
    with pytest.raises(StartupError, match="does not verify at entry 8"):
        begun(home)


def test_a_backup_of_what_is_left_verifies_and_serves(home: Home, tmp_path: Path):
    move(home)
    (tmp_path / "copy").mkdir()
    assert backup.write(home.store, seals(home), tmp_path / "copy" / "ledger.sqlite").sequence == 10
    shutil.copy(home.state / files.KEY, tmp_path / "copy")
    with begun(home) as ledger, Home(tmp_path / "copy").open() as copy:
        assert (spent(copy), copy.entries()) == (spent(ledger), ledger.entries())


def test_a_file_that_exists_stays(home: Home, tmp_path: Path):
    (tmp_path / "old.sqlite").write_text("mine")
    with pytest.raises(StartupError, match="does not exist yet"):
        move(home)
    with begun(home) as ledger:
        assert len(ledger.entries()) == 10
