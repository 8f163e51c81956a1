"""The systemd unit, as far as systemd checks it without being asked to start anything."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.install.wheel import ROOT

pytestmark = pytest.mark.external

UNIT = ROOT / "docker" / "dpproxy.service"
WORST = 2.5
"""Of systemd's scale from 0, safe, to 10."""
TARGETS = ("sysinit", "basic", "shutdown", "network-online")
"""What the unit names, and every unit by default."""
NOISY = "[Service]\nExecStart=/bin/true\nColour=blue\n"
"""A unit that systemd has something to say about."""


@pytest.fixture
def unit(installed: Path, tmp_path: Path) -> Path:
    """The unit, with the program where it is installed here."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    path = tmp_path / UNIT.name
    path.write_text(UNIT.read_text().replace("/opt/dpproxy/bin", str(installed / "bin")))
    return path


def verified(unit: Path) -> tuple[int, str]:
    """What systemd says of it, with the targets it needs and no other unit of the machine."""
    targets = unit.parent / "targets"
    targets.mkdir()
    for name in TARGETS:
        (targets / f"{name}.target").write_text("[Unit]\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False,
        env={**os.environ, "SYSTEMD_UNIT_PATH": str(targets)},
    )  # fmt: skip
    return done.returncode, done.stderr


def test_systemd_reads_it_without_a_word(unit: Path):
    assert verified(unit) == (0, "")


def test_units_of_other_packages_are_not_looked_at(
    unit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """``network-online.target`` brings in whatever is installed."""
    wants = tmp_path / "host" / "network-online.target.wants"
    wants.mkdir(parents=True)
    (tmp_path / "host" / "noisy.service").write_text(NOISY)
    (wants / "noisy.service").symlink_to("../noisy.service")
    monkeypatch.setenv("SYSTEMD_UNIT_PATH", f"{tmp_path / 'host'}:")
    assert verified(unit) == (0, "")


def test_a_mistake_in_it_is_found(unit: Path):
    unit.write_text(unit.read_text().replace("UMask=", "UMusk="))
    assert "UMusk" in verified(unit)[1]


def test_it_may_do_little(unit: Path):
    command = ["systemd-analyze", "security", "--offline=yes", f"--threshold={WORST * 10:.0f}", unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-400:]


def test_it_waits_for_statements_under_way():
    wait = re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)
    assert wait is not None
    assert int(wait[1]) > 30  # what server.drain is unless configured


def test_its_memory_is_bounded():
    assert re.search(r"^MemoryMax=\d+%$", UNIT.read_text(), re.MULTILINE)
