import logging
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dpproxy.accounting.checkpoint import Checkpoints
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.mark import Mark
from dpproxy.accounting.model import Charge
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.values.errors import LedgerUnavailable, StartupError
from tests.accounting.conftest import Home


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    (tmp_path / "other").mkdir()
    return tmp_path / "other" / "mark"


@pytest.fixture
def state(home: Home, make: Callable[..., Charge], mark: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Four charges, all before a checkpoint beside the mark."""
    monkeypatch.setattr("dpproxy.accounting.ledger.EVERY", 1)
    monkeypatch.setattr("dpproxy.accounting.background.EVERY", 3)
    monkeypatch.setattr("dpproxy.accounting.background.DELAY", 0.05)
    monkeypatch.setattr("dpproxy.accounting.background.POLL", 0.05)
    with home.open(high_water=mark) as ledger:
        for number in range(4):
            ledger.reserve(make(question=str(number)))
    home.open(high_water=mark).close()
    return home


def soon(is_so: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def checkpoint(ledger: Ledger, mark: Path) -> int:
    found = Checkpoints.of(mark.parent, Mark(mark, ledger.seals), ledger.seals).read()
    return 0 if found is None else found.place.sequence


def test_the_rest_is_verified_while_it_is_open(state: Home, mark: Path):
    with state.open(high_water=mark) as ledger:
        assert ledger.authentic._until == 4
        assert soon(lambda: ledger.authentic._until == 0)
        assert ledger.verify() == 4


def test_a_ledger_that_grows_gets_another_checkpoint(state: Home, mark: Path, make: Callable[..., Charge]):
    with state.open(high_water=mark) as ledger:
        assert checkpoint(ledger, mark) == 4
        for number in range(3):
            ledger.reserve(make(question=f"more {number}"))
        assert soon(lambda: checkpoint(ledger, mark) == 7)
    with state.open(high_water=mark) as ledger:
        assert ledger.authentic._until == 7


def test_what_was_altered_before_the_checkpoint_stops_all_answers(
    state: Home, mark: Path, make: Callable[..., Charge], caplog: pytest.LogCaptureFixture
):
    state.edit("UPDATE entry SET who = 'eve' WHERE sequence = 2")

    def is_stopped() -> bool:
        try:
            ledger.reserve(make(question="after"))
        except LedgerUnavailable:
            return True
        return False

    with caplog.at_level(logging.ERROR), state.open(high_water=mark) as ledger:
        assert soon(is_stopped)
        for use in (ledger.moment, ledger.entries, lambda: ReleaseStore(ledger).find(bytes(32), 1)):
            with pytest.raises(LedgerUnavailable):
                use()
    assert "does not verify at entry 2" in caplog.text
    with pytest.raises(StartupError, match="does not verify at entry 2"):
        state.open(high_water=mark)


def test_what_could_not_be_verified_is_tried_again(
    state: Home, mark: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    import dpproxy.accounting.background as module  # noqa: PLC0415

    real, calls = module.running, [0]

    def failing(order: dict[str, object]) -> object:
        calls[0] += 1
        if calls[0] == 1:
            raise OSError("no process can be started")
        return real(order)

    monkeypatch.setattr(module, "running", failing)
    with state.open(high_water=mark) as ledger:
        assert soon(lambda: ledger.authentic._until == 0)
    assert calls[0] == 2
    assert "could not be verified" in caplog.text


def test_closing_does_not_wait_for_it(state: Home, mark: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.accounting.background.DELAY", 0.0)
    for pause in (0.0, 0.05, 0.2):
        ledger = state.open(high_water=mark)
        time.sleep(pause)
        begun = time.monotonic()
        ledger.close()
        assert time.monotonic() - begun < 5
