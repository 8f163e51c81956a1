import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting import files
from dpproxy.accounting.ledger import Ledger
from dpproxy.values.errors import StartupError
from tests.accounting.conftest import Home

ROOT = Path(files.__file__).parents[2]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_start_makes_files_only_the_owner_may_read(tmp_path: Path):
    with Ledger.open(tmp_path / "state"):
        assert mode(tmp_path / "state") == 0o700
        found = {path.name: mode(path) for path in (tmp_path / "state").iterdir()}
    assert set(found) == {files.KEY, files.LOCK, *(files.DATABASE + tail for tail in ("", "-wal", "-shm"))}
    assert set(found.values()) == {0o600}


def drop(home: Home) -> None:
    """The database without its key."""
    if home.url is None:
        (home.state / files.DATABASE).unlink()
        return
    with psycopg.connect(home.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA dpproxy CASCADE")


def test_half_a_ledger_is_never_replaced(home: Home):
    home.open().close()
    kept = (home.state / files.KEY).rename(home.state / "kept")
    with pytest.raises(StartupError, match=r"lost its key.*refusing to serve.*start anew deliberately"):
        home.open()
    assert not (home.state / files.KEY).exists()
    kept.rename(home.state / files.KEY)
    drop(home)
    with pytest.raises(StartupError, match=r"is missing.*refusing to serve.*start anew deliberately"):
        home.open()
    assert not home.store.exists


def test_moving_both_away_starts_anew(home: Home):
    home.open().close()
    before = (home.state / files.KEY).read_bytes()
    (home.state / files.KEY).unlink()
    drop(home)
    home.open().close()
    assert (home.state / files.KEY).read_bytes() != before


def test_a_first_start_that_was_interrupted_is_finished(home: Home):
    home.open().close()
    key = home.state / files.KEY
    draft = key.with_name(f"{files.KEY}.new")
    # Between the ledger and the name of its key.
    before = key.rename(draft).read_bytes()
    home.open().close()
    assert key.read_bytes() == before
    # Before the ledger: what remains is made anew.
    key.rename(draft)
    drop(home)
    home.open().close()
    assert key.read_bytes() != before
    assert not list(home.state.glob("*.new"))


def test_a_draft_of_another_key_is_not_taken(home: Home):
    home.open().close()
    (home.state / files.KEY).rename(home.state / "kept")
    (home.state / f"{files.KEY}.new").write_text(f"key {'00' * 32}\n")
    with pytest.raises(StartupError, match="lost its key"):
        home.open()


def test_a_given_key_is_not_kept_but_recognised(tmp_path: Path):
    Ledger.open(tmp_path, b"secret of somebody").close()
    assert b"secret" not in (tmp_path / files.KEY).read_bytes()
    Ledger.open(tmp_path, b"secret of somebody").close()
    for wrong in (b"another", None):
        with pytest.raises(StartupError, match=r"not the one configured"):
            Ledger.open(tmp_path, wrong)


@pytest.mark.parametrize("content", [b"", b"key zz", b"\xff\xfe"])
def test_a_broken_key_is_refused(tmp_path: Path, content: bytes):
    Ledger.open(tmp_path).close()
    (tmp_path / files.KEY).write_bytes(content)
    with pytest.raises(StartupError, match=r"ledger key .* cannot be read: refusing to serve"):
        Ledger.open(tmp_path)


MANY = """
import sys
from dpproxy.accounting.ledger import Ledger
Ledger.open(sys.argv[1], url=sys.argv[2] or None).close()
"""


def test_many_processes_may_start_at_once(home: Home):
    command = [sys.executable, "-c", MANY, str(home.state), home.url or ""]
    processes = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.communicate(timeout=60)[1] == ""
        assert process.returncode == 0
    with home.open() as one, home.open() as other:
        assert one.verify() == other.verify() == 0


def test_who_waits_is_told(tmp_path: Path):
    told: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        with files.starting(tmp_path, told.append):
            inside = threading.Event()

            def wait() -> list[str]:
                with files.starting(tmp_path, lambda line: (told.append(line), inside.set())[0]):
                    return [*told]

            second = pool.submit(wait)
            assert inside.wait(10)
            assert not second.done()
        assert second.result(10) == ["waiting for another process that starts here"]


def test_a_directory_that_cannot_be_used_is_one_clear_line(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StartupError, match=r"state directory .* cannot be used"):
        Ledger.open(tmp_path / "file")


def test_a_failed_start_lets_go_of_the_directory(tmp_path: Path):
    Ledger.open(tmp_path).close()
    (tmp_path / files.DATABASE).rename(tmp_path / "kept")
    with pytest.raises(StartupError):
        Ledger.open(tmp_path)
    (tmp_path / "kept").rename(tmp_path / files.DATABASE)
    Ledger.open(tmp_path).close()
