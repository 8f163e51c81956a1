import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from dpproxy.accounting.chain import Head, Seals
from dpproxy.accounting.checkpoint import Checkpoint, Checkpoints
from dpproxy.accounting.mark import Mark
from dpproxy.accounting.model import Account, Cost, key_of
from dpproxy.accounting.walk import ChainPlace

SEALS = Seals(bytes(32))
HEAD = Head(1, b"l" * 16, 7, 123, b"m" * 32)
USER, CEILING = key_of(Account.user("b", "ännä")), key_of(Account.ceiling("people", "g:north"))
SUMS = {USER: Cost(5), CEILING: Cost(7, Fraction(1, 3), Fraction(2, 7))}


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "ledger.checkpoint", SEALS)


def test_what_was_written_is_read(kept: Checkpoints):
    kept.write(HEAD, SUMS)
    assert kept.read() == Checkpoint(HEAD.ledger, ChainPlace(7, HEAD.mac, 123), SUMS)


def test_it_lies_beside_the_mark(tmp_path: Path):
    assert Checkpoints.of(tmp_path, None, SEALS).path == tmp_path / "ledger.checkpoint"
    mark = Mark(tmp_path / "other" / "mark", SEALS)
    assert Checkpoints.of(tmp_path, mark, SEALS).path == tmp_path / "other" / "mark.checkpoint"


def test_none_is_read_where_there_is_none_or_it_was_forgotten(kept: Checkpoints):
    assert kept.read() is None
    kept.write(HEAD, SUMS)
    kept.forget()
    kept.forget()
    assert kept.read() is None


def test_one_that_was_altered_or_has_another_key_is_not_read(kept: Checkpoints):
    kept.write(HEAD, SUMS)
    whole = kept.path.read_bytes()
    for place in range(len(whole)):
        kept.path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert kept.read() is None
    for size in range(len(whole)):
        kept.path.write_bytes(whole[:size])
        assert kept.read() is None
    kept.path.write_bytes(whole)
    assert kept.read() is not None
    assert Checkpoints(kept.path, Seals(b"1" * 32)).read() is None


WRITE = """
import sys
from pathlib import Path
from tests.accounting.test_checkpoint import CEILING, HEAD, SEALS, SUMS, Checkpoints
from msgspec.structs import replace
from dpproxy.accounting.model import Cost
kept = Checkpoints(Path(sys.argv[1]), SEALS)
print("ready", flush=True)
for number in range(1, 10**9):
    kept.write(replace(HEAD, sequence=number), {**SUMS, CEILING: Cost(number)})
"""


@pytest.mark.parametrize("wait", [0.01, 0.03, 0.05, 0.08])
def test_a_kill_leaves_the_one_before_or_the_next(kept: Checkpoints, wait: float):
    kept.write(HEAD, SUMS)
    process = subprocess.Popen([sys.executable, "-c", WRITE, str(kept.path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(wait)
    process.kill()
    process.wait()
    process.stdout.close()
    found = kept.read()
    assert found is not None
    assert found.sums[CEILING].nano == found.place.sequence
