import fcntl
import multiprocessing
import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from dpproxy.accounting import mark as module
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.mark import SLOT, Mark, Missing
from dpproxy.values.errors import StartupError

SEALS = Seals(b"k")
GENESIS = SEALS.genesis(b"name", 1)


def head(sequence: int) -> Head:
    return replace(GENESIS, sequence=sequence, at=sequence, mac=bytes([sequence % 256]) * 32)


@pytest.fixture
def mark(tmp_path: Path) -> Mark:
    mark = Mark(tmp_path / "mark", SEALS)
    mark.make(GENESIS)
    return mark


def test_it_only_goes_up(mark: Mark):
    for sequence, then in ((1, 1), (2, 2), (5, 5), (4, 5), (5, 5), (6, 6)):
        mark.advance(head(sequence))
        assert mark.read() == head(then)
    assert mark.path.stat().st_size == 2 * SLOT
    assert stat.S_IMODE(mark.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("cut", [0, 1, 40, SLOT - 1])
def test_a_write_cut_short_leaves_the_mark_before_it(mark: Mark, cut: int):
    for sequence in (1, 2, 3):
        before = mark.path.read_bytes()
        mark.advance(head(sequence))
        after = mark.path.read_bytes()
        slot = next(
            place for place in (0, SLOT) if before[place : place + SLOT] != after[place : place + SLOT]
        )
        torn = bytearray(before)
        torn[slot : slot + cut] = after[slot : slot + cut]
        mark.path.write_bytes(bytes(torn))
        assert mark.read().sequence in {sequence - 1, sequence}
        mark.path.write_bytes(after)
        assert mark.read() == head(sequence)


def test_any_altered_byte_of_a_record_unmakes_it(mark: Mark):
    mark.advance(head(7))
    text = mark.path.read_bytes()
    start = text.index(b"[1", SLOT if b", 7, " in text[SLOT:] else 0)
    for place in range(start, start + len(text[start:].split(b"\n")[0].rstrip())):
        altered = bytearray(text)
        altered[place] ^= 1
        mark.path.write_bytes(bytes(altered))
        assert mark.read() in (GENESIS, head(7))  # the case of a hexadecimal digit says nothing
        assert mark.read() == GENESIS or bytes(altered).lower() == text


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 9000, b"[1]\n" * 3000, b"null"])
def test_a_damaged_one_is_a_mismatch(mark: Mark, content: bytes):
    mark.path.write_bytes(content)
    for use in (mark.read, lambda: mark.advance(head(1))):
        with pytest.raises(Mismatch, match="damaged or of another ledger"):
            use()
    assert mark.path.read_bytes() == content


def test_one_of_another_key_or_ledger_is_a_mismatch(mark: Mark):
    with pytest.raises(Mismatch, match="another ledger"):
        Mark(mark.path, Seals(b"other")).read()
    with pytest.raises(Mismatch, match="another ledger"):
        mark.advance(SEALS.genesis(b"other name", 1))


def test_a_missing_one_is_not_made_by_the_way(mark: Mark):
    mark.path.unlink()
    for use in (mark.read, lambda: mark.advance(head(1))):
        with pytest.raises(Missing, match="is missing"):
            use()
    assert not mark.path.exists()


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    mark = Mark(tmp_path / "file" / "mark", SEALS)
    for use in (mark.read, lambda: mark.make(GENESIS)):
        with pytest.raises(StartupError, match=r"high-water mark .*mark cannot be used \(Not a directory\)"):
            use()


def test_who_holds_it_for_ever_is_not_waited_for_so_long(mark: Mark, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "WAIT", 0.05)
    with mark.path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for use in (mark.read, lambda: mark.advance(head(1))):
            with pytest.raises(
                StartupError, match=r"mark cannot be used \(Resource temporarily unavailable\)"
            ):
                use()
    mark.advance(head(1))


def _advance(path: Path, first: int) -> None:
    mark = Mark(path, SEALS)
    for sequence in range(first, 200, 2):
        mark.advance(head(sequence))


def test_processes_take_turns(mark: Mark):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_advance, args=(mark.path, first)) for first in (1, 2)]
    for process in processes:
        process.start()
    seen = [mark.read().sequence for _ in range(50)]
    for process in processes:
        process.join(20)
        assert process.exitcode == 0
    assert seen == sorted(seen)
    assert mark.read() == head(199)
    assert os.listdir(mark.path.parent) == ["mark"]
