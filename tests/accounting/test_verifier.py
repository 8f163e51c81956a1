from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dpproxy.accounting import verifier
from dpproxy.accounting.chain import Mismatch
from dpproxy.accounting.model import Charge
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.accounting.verifier import execute, parallel, running
from dpproxy.accounting.verify import verify
from tests.accounting.conftest import Home


@pytest.fixture
def state(home: Home, make: Callable[..., Charge], monkeypatch: pytest.MonkeyPatch) -> Home:
    """Eight charges and their answers; pieces are small enough for two processes."""
    monkeypatch.setattr(verifier, "SMALL", 4)
    monkeypatch.setattr(verifier, "LEAST", 4)
    monkeypatch.setattr(verifier.os, "sched_getaffinity", lambda _: {0, 1})
    with home.open() as ledger:
        for number in range(8):
            ReleaseStore(ledger).store(ledger.reserve(make(question=str(number), nano=number + 1)), b"rows")
    return home


def seals(state: Home) -> verifier.Seals:
    with state.open() as ledger:
        return ledger.seals


def test_two_processes_find_what_one_finds(state: Home):
    key = seals(state)
    alone = verify(state.store, key, None)
    assert verify(state.store, key, None, walking=parallel(state.store, key)) == alone
    assert alone.head.sequence == 8
    assert {key[0] for key in alone.sums} == {key[0] for key in alone.walked.paid} - {"session"}


def test_the_first_piece_is_of_an_entry_at_least(state: Home, monkeypatch: pytest.MonkeyPatch):
    key = seals(state)
    monkeypatch.setattr(verifier, "_PAGES", 1.0)  # as of many processors
    assert verify(state.store, key, None, walking=parallel(state.store, key)).head.sequence == 8


@pytest.mark.parametrize("sequence", [2, 4, 5, 7])
@pytest.mark.parametrize("table", ["entry", "debit", "release"])
def test_each_half_notices_what_was_altered_in_it(state: Home, sequence: int, table: str):
    key = seals(state)
    column = "origin" if table == "release" else "sequence"
    state.edit(f"UPDATE {table} SET nano = nano + 1 WHERE {column} = {sequence}")
    with pytest.raises(Mismatch) as caught:
        verify(state.store, key, None, walking=parallel(state.store, key))
    assert caught.value.sequence in (sequence, None)


def test_a_release_beyond_the_end_is_noticed(state: Home):
    key = seals(state)
    state.edit("INSERT INTO release SELECT origin + 8, key, nano, payload, mac FROM release WHERE origin = 1")
    with pytest.raises(Mismatch, match="a stored release was altered"):
        verify(state.store, key, None, walking=parallel(state.store, key))


def order(state: Home, key: verifier.Seals, **more: object) -> verifier.Order:
    return {"task": "checkpoint", "key": key.key.hex(), "store": state.store.address, "mark": None, **more}


def test_a_process_verifies_and_leaves_a_checkpoint(state: Home, tmp_path: Path):
    path = tmp_path / "checkpoint"
    with running(order(state, seals(state), checkpoint=str(path), whole=True)) as (outcome, _):
        assert outcome() == {"verified": 8, "begin": 0}
    assert path.exists()


def test_what_is_wrong_is_an_outcome(state: Home, tmp_path: Path):
    asked = order(state, seals(state), checkpoint=str(tmp_path / "checkpoint"), whole=False)
    state.edit("UPDATE entry SET who = 'eve' WHERE sequence = 3")
    with running(asked) as (outcome, _):
        assert outcome() == {"altered": "the chain is broken", "at": 3}


def test_what_cannot_be_read_is_no_alteration(state: Home, tmp_path: Path):
    asked = order(state, seals(state), checkpoint=str(tmp_path / "no" / "checkpoint"), whole=True)
    found = execute(asked, state.store) if state.url is None else {"failed": ""}
    assert list(found) == ["failed"]


def test_a_process_that_was_killed_is_told_as_a_fault(state: Home, tmp_path: Path):
    asked = order(state, seals(state), checkpoint=str(tmp_path / "checkpoint"), whole=True)
    with running(asked) as (outcome, kill):
        kill()
        with pytest.raises(OSError, match="ended"):
            outcome()


def test_the_place_of_a_piece_must_be_there(state: Home):
    with closing(state.store.connect(writing=False)) as connection, pytest.raises(Mismatch):
        verifier._place(connection, 99)
