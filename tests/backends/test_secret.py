"""The truncation secret: made once, kept, private, and never silently replaced."""

from pathlib import Path

import pytest

from dpproxy.backends.secret import SIZE, load_secret
from dpproxy.values.errors import StartupError


def test_it_is_made_once_and_stays(tmp_path: Path):
    made = load_secret(tmp_path)
    assert len(made) == SIZE
    assert load_secret(tmp_path) == made
    assert (tmp_path / "truncation.key").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["truncation.key"]


def test_two_proxies_have_two(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert load_secret(tmp_path / "a") != load_secret(tmp_path / "b")


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33])
def test_a_damaged_one_is_not_replaced(tmp_path: Path, content: bytes):
    (tmp_path / "truncation.key").write_bytes(content)
    with pytest.raises(StartupError, match="damaged"):
        load_secret(tmp_path)
    assert (tmp_path / "truncation.key").read_bytes() == content


def test_a_half_written_one_is_overwritten(tmp_path: Path):
    (tmp_path / "truncation.new").write_bytes(b"half")
    assert len(load_secret(tmp_path)) == SIZE


def test_a_directory_that_cannot_be_used(tmp_path: Path):
    with pytest.raises(StartupError, match="No such file"):
        load_secret(tmp_path / "missing")
