"""The process of the data from outside: it ends with its parent, and the next one is there when it has ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpproxy.backends.process.child import Child, ChildKeeper
from dpproxy.values.errors import Internal, StartupError
from tests.backends.process.test_worker import file  # noqa: F401 - a fixture

ROOT = Path(__file__).parents[3]


@pytest.fixture
def keeper(file: Path) -> Iterator[ChildKeeper]:  # noqa: F811
    found = ChildKeeper(file, 1, None, None)
    yield found
    found.close()


def ask(child: Child) -> object:
    lane = child.take()
    lane.send([1, "run_public", ["SELECT count(*) FROM t"]])
    header, _ = lane.receive()
    child.give(lane)
    return header


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{number}/stat").read_text(encoding="ascii").split()[2] != "Z"


def gone(number: int, seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while is_alive(number) and time.monotonic() < until:
        time.sleep(0.02)
    return not is_alive(number)


def test_a_killed_process_is_replaced(keeper: ChildKeeper):
    first = keeper.child()
    assert ask(first) == ["done", [[9]]]
    first.kill()
    assert gone(first.process.pid)
    until = time.monotonic() + 10
    while (second := keeper.child()) is first and time.monotonic() < until:
        time.sleep(0.01)
    assert (first.epoch, second.epoch) == (0, 1)
    assert ask(second) == ["done", [[9]]]


def test_a_stopped_process_is_ended_too(keeper: ChildKeeper, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.backends.process.child.FAREWELL", 0.2)
    child = keeper.child()
    os.kill(child.process.pid, signal.SIGSTOP)
    keeper.close()
    assert child.process.returncode == -signal.SIGKILL
    with pytest.raises(Internal):
        keeper.child()


def test_what_cannot_be_opened_is_said_once(tmp_path: Path):
    with pytest.raises(StartupError, match="cannot be opened"):
        ChildKeeper(tmp_path / "none.duckdb", None, None, None)


def test_data_that_have_gone_are_looked_for_again(file: Path, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    monkeypatch.setattr("dpproxy.backends.process.child.LONGEST_START", 1.0)
    keeper = ChildKeeper(file, 1, None, None)
    away = file.rename(file.with_suffix(".away"))
    first = keeper.child()
    first.kill()
    with pytest.raises(Internal, match="not available"):  # noqa: PT012 - that it has ended is seen a little later
        while keeper.child() is first:
            time.sleep(0.01)
    away.rename(file)
    monkeypatch.setattr("dpproxy.backends.process.child.LONGEST_START", 30.0)
    assert ask(keeper.child()) == ["done", [[9]]]
    keeper.close()


def test_one_that_is_being_started_is_ended_too(file: Path):  # noqa: F811
    keeper = ChildKeeper(file, 1, None, None)
    keeper.child().kill()
    time.sleep(0.1)
    keeper.close()
    assert not keeper._thread.is_alive()


PARENT = """
import os, sys, time
from pathlib import Path
from dpproxy.backends.process.child import ChildKeeper
print(ChildKeeper(Path(sys.argv[1]), 1, None, None).child().process.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("stopped", [False, True])
def test_it_ends_with_its_parent(file: Path, *, stopped: bool):  # noqa: F811
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(file)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    number = int(parent.stdout.readline())
    assert is_alive(number)
    if stopped and sys.platform == "linux":  # nothing it does itself would end it
        os.kill(number, signal.SIGSTOP)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(number)
    until = time.monotonic() + 10
    while True:  # its threads end one by one, and the last one gives the file back
        try:
            duckdb.connect(str(file)).close()
        except duckdb.IOException:
            assert time.monotonic() < until
            time.sleep(0.02)
        else:
            break
