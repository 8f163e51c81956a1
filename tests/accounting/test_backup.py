import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from dpproxy.accounting import backup
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Charge
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.accounting.sqlite import SQLite
from dpproxy.accounting.verify import verify
from dpproxy.values.errors import StartupError
from tests.accounting.conftest import Home

Make = Callable[..., Charge]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "state") as ledger:
        yield ledger


def test_a_backup_is_one_file_that_verifies_and_serves(ledger: Ledger, tmp_path: Path, make: Make):
    store = ReleaseStore(ledger)
    for number in range(3):
        store.store(ledger.reserve(make(question=str(number))), b"rows")
    ledger.writer.submit(lambda _: None)
    target = tmp_path / "backup" / "ledger.sqlite"
    target.parent.mkdir()
    assert backup.write(SQLite(tmp_path / "state" / "ledger.sqlite"), ledger.seals, target).sequence == 3
    assert [path.name for path in target.parent.iterdir()] == ["ledger.sqlite"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    shutil.copy(tmp_path / "state" / "ledger.key", target.parent)
    with Home(target.parent).open() as restored:
        assert restored.entries() == ledger.entries()
        found = ReleaseStore(restored).find(make(question="1").release, 1)
        assert found is not None
        assert found.payload == b"rows"


def test_a_backup_under_load_is_one_state(ledger: Ledger, tmp_path: Path, make: Make):
    stop = threading.Event()

    def load() -> None:
        for number in count():
            if stop.is_set():
                return
            ledger.reserve(make(question=str(number)))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        heads = []
        for number in range(4):
            target = tmp_path / f"backup{number}"
            head = backup.write(SQLite(tmp_path / "state" / "ledger.sqlite"), ledger.seals, target)
            assert verify(SQLite(target), ledger.seals, None).head == head
            heads.append(head.sequence)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert heads == sorted(heads)
    assert heads[-1] < ledger.verify()


def test_nothing_is_written_over(ledger: Ledger, tmp_path: Path):
    target = tmp_path / "kept"
    target.write_text("mine")
    with pytest.raises(StartupError, match="does not exist yet"):
        backup.write(SQLite(tmp_path / "state" / "ledger.sqlite"), ledger.seals, target)
    assert target.read_text() == "mine"


def test_what_does_not_verify_is_not_kept(tmp_path: Path, make: Make):
    home = Home(tmp_path / "state")
    with home.open() as ledger:
        ledger.reserve(make())
        home.edit("UPDATE account SET nano = 0")
        with pytest.raises(StartupError, match="does not verify"):
            backup.write(SQLite(tmp_path / "state" / "ledger.sqlite"), ledger.seals, tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_restoring_an_old_one_is_a_rollback(tmp_path: Path, make: Make):
    home, mark = Home(tmp_path / "state"), tmp_path / "mark"
    with home.open(high_water=mark) as ledger:
        ledger.reserve(make())
        backup.write(SQLite(tmp_path / "state" / "ledger.sqlite"), ledger.seals, tmp_path / "copy")
        ledger.reserve(make())
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"):
        (home.state / name).unlink(missing_ok=True)
    (tmp_path / "copy").rename(home.state / "ledger.sqlite")
    with pytest.raises(StartupError, match="rolled back: it ends at entry 1"):
        home.open(high_water=mark)
    home.open().close()
