import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dpproxy.system import disk


@pytest.mark.parametrize("put", [disk.write, disk.replace])
def test_a_file_is_its_owners_and_alone(tmp_path: Path, put: Callable[[Path, bytes], None]):
    path = tmp_path / "file"
    for content in (b"longer at first", b"then this"):
        put(path, content)
        assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_put_in_its_place_leaves_nothing(tmp_path: Path):
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        disk.replace(tmp_path / "file", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_two_writers_take_turns(tmp_path: Path):
    inside, waits = threading.Event(), threading.Event()

    def enter() -> None:
        with disk.lock(tmp_path, waits.set):
            inside.set()

    with disk.lock(tmp_path):
        other = threading.Thread(target=enter)
        other.start()
        assert waits.wait(10)
        assert not inside.wait(0.1)
    other.join()
    assert inside.is_set()


def test_a_database_that_another_process_has_is_in_use(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    assert not disk.in_use(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    assert not disk.in_use(path)
    program = (
        "import sqlite3; c = sqlite3.connect('a.sqlite', isolation_level=None); c.execute('BEGIN IMMEDIATE'); "
        "print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert disk.in_use(path)
        other.communicate("\n")
