"""A state on a disk that cannot be written: its ledger is verified where it lies, or it is said what to do."""

# ruff: noqa: F811 - fixtures of other files

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.accounting.ledger import Ledger
from tests.accounting.conftest import make  # noqa: F401 - a fixture
from tests.cli.test_ledger import CONFIG, Make, ledger, run  # noqa: F401 - a fixture among them
from tests.crash.test_bad_input import Mount, mounting

FILE, LOG, INDEX = "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Mount]:
    with mounting(tmp_path / "state") as mount:
        mount("size=8m")
        yield mount


@pytest.fixture
def file(tmp_path: Path, disk: Mount) -> Path:
    del disk
    path = tmp_path / "dpproxy.toml"
    path.write_text(CONFIG.format(more='high_water = "mark"'), encoding="utf-8")
    return path


def killed(state: Path, make: Make, *names: str) -> None:
    """One more entry, and the files as a proxy that is killed leaves them."""
    beside = state.parent / "beside"
    beside.mkdir()
    with Ledger.open(state, high_water=state.parents[1] / "mark") as opened:
        opened.reserve(make("eve", question="four"))
        for name in names:
            shutil.copy2(state / name, beside)
    for path in state.glob(f"{FILE}*"):
        path.unlink()
    for name in names:
        (beside / name).rename(state / name)


def test_a_ledger_that_was_closed_is_verified_in_place(
    disk: Mount,
    file: Path,
    ledger: Path,
    capsys: pytest.CaptureFixture[str],
):
    assert not (ledger / LOG).exists()
    disk("ro")
    name = ledger / FILE
    for words in (("verify",), ("verify", "--file", name)):
        status, out, told = run(capsys, file, *words)
        assert (status, told) == (0, "")
        assert out.startswith(f"dpproxy: {name}: 3 entries, all verified; ")
    status, out, _ = run(capsys, file, "export")
    assert (status, out.count("\n")) == (0, 1 + 3 * 4)


def test_with_its_log_and_the_logs_index_it_is_verified_in_place_to_its_last_entry(
    disk: Mount,
    file: Path,
    ledger: Path,
    make: Make,
    capsys: pytest.CaptureFixture[str],
):
    killed(ledger, make, FILE, LOG, INDEX)
    disk("ro")
    assert run(capsys, file, "verify")[1].startswith(f"dpproxy: {ledger / FILE}: 4 entries, all verified")


def test_a_log_is_never_left_out(
    disk: Mount,
    file: Path,
    ledger: Path,
    make: Make,
    capsys: pytest.CaptureFixture[str],
):
    """Without it the ledger verifies, too, and holds less: what was spent last would be forgotten."""
    killed(ledger, make, FILE, LOG)
    disk("ro")
    status, out, told = run(capsys, file, "verify")
    assert (status, out) == (2, "")
    assert f"copy {FILE}, with {FILE}-wal where there is one, to a directory" in told
    copied = file.parent / "copied"
    copied.mkdir()
    for name in (FILE, LOG):
        shutil.copy(ledger / name, copied)
    copy = copied / FILE
    disk("rw")
    status, out, _ = run(capsys, file, "verify", "--file", copy)
    assert (status, out) == (0, f"dpproxy: {copy}: 4 entries, all verified; all that the ledger holds\n")
