"""Hostile bytes for some seconds: `make fuzz` has longer."""

import os
import random
from pathlib import Path

import pytest

from tests.bench import fuzz as module
from tests.bench.fuzz import CHANGES, conversation, fuzz, greeting, left_behind, pieces
from tests.bench.soak import Reading


def test_hostile_bytes_find_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "GROWTH", 300 << 20)  # so short a time is all warming up
    seed = int.from_bytes(os.urandom(4), "big")
    report = fuzz(tmp_path, 10 / 60, 6, 300, seed)
    assert report.faults == [], f"seed {seed}"
    assert report.told["after the login"] > 20
    assert report.told["before the login"] > 10
    assert report.told["came and went"] == 300
    assert report.told["honest"] > 0


def test_what_is_left_behind_is_seen():
    def held(memory: int, files: int, threads: int) -> Reading:
        return Reading(0.0, memory << 20, files, threads, ())

    before = held(500, 40, 30)
    assert left_behind(before, held(520, 45, 40)) == []
    assert left_behind(before, held(100, 1, 1)) == []
    assert len(left_behind(before, held(700, 400, 300))) == 3


def test_bytes_are_changed_in_every_way():
    chance = random.Random(1)
    whole = b"Q\0\0\0\x0dSELECT 1\0"
    for change in set(CHANGES):
        assert isinstance(change(b"", chance), bytes)
        found = {change(whole, chance) for _ in range(50)}
        assert len(found) > 5 or found == {whole}
    assert b"".join(pieces(whole, chance)) == whole
    assert len({conversation(chance) for _ in range(50)} | {greeting(chance) for _ in range(50)}) > 90
