import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dpproxy.accounting import files
from dpproxy.accounting.ledger import Ledger
from dpproxy.errors import StartupError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_start_makes_files_only_the_owner_may_read(tmp_path: Path):
    with Ledger.open(tmp_path / "state"):
        assert mode(tmp_path / "state") == 0o700
        found = {path.name: mode(path) for path in (tmp_path / "state").iterdir()}
    assert set(found) == {files.KEY, files.LOCK, *(files.DATABASE + tail for tail in ("", "-wal", "-shm"))}
    assert set(found.values()) == {0o600}


@pytest.mark.parametrize(("name", "pattern"), [(files.DATABASE, "is missing"), (files.KEY, "lost its key")])
def test_half_a_ledger_is_never_replaced(tmp_path: Path, name: str, pattern: str):
    Ledger.open(tmp_path).close()
    (tmp_path / name).unlink()
    with pytest.raises(StartupError, match=f"{pattern}.*refusing to serve.*start anew deliberately"):
        Ledger.open(tmp_path)
    assert not (tmp_path / name).exists()


def test_moving_both_files_away_starts_anew(tmp_path: Path):
    Ledger.open(tmp_path).close()
    before = (tmp_path / files.KEY).read_bytes()
    for name in (files.DATABASE, files.KEY):
        (tmp_path / name).unlink()
    Ledger.open(tmp_path).close()
    assert (tmp_path / files.KEY).read_bytes() != before


def test_a_first_start_that_was_interrupted_is_finished(tmp_path: Path):
    Ledger.open(tmp_path).close()
    # Between the two renames: the key has its name, the database not yet.
    (tmp_path / files.DATABASE).rename(tmp_path / f"{files.DATABASE}.new")
    Ledger.open(tmp_path).close()
    # Before both: remains are made anew.
    for name in (files.DATABASE, files.KEY):
        (tmp_path / name).rename(tmp_path / f"{name}.new")
    Ledger.open(tmp_path).close()
    assert not list(tmp_path.glob("*.new"))


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
    with pytest.raises(StartupError, match=r"ledger key .* refusing to serve"):
        Ledger.open(tmp_path)


def test_a_second_proxy_on_the_same_state_does_not_start(tmp_path: Path):
    program = "import sys, pathlib, dpproxy.accounting.files as files; files.lock(pathlib.Path(sys.argv[1]))"
    with Ledger.open(tmp_path):
        with pytest.raises(StartupError, match=r"another proxy .* already uses"):
            Ledger.open(tmp_path)
        other = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)],
            cwd=Path(files.__file__).parents[2], capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert "already uses the state directory" in other.stderr
    Ledger.open(tmp_path).close()


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
