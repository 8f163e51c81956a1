"""The systemd unit, as far as systemd checks it without being asked to start anything."""

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


@pytest.fixture
def unit(installed: Path, tmp_path: Path) -> Path:
    """The unit, with the program where it is installed here."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    path = tmp_path / UNIT.name
    path.write_text(UNIT.read_text().replace("/opt/dpproxy/bin", str(installed / "bin")))
    return path


def test_systemd_reads_it_without_a_word(unit: Path):
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_may_do_little(unit: Path):
    command = ["systemd-analyze", "security", "--offline=yes", f"--threshold={WORST * 10:.0f}", unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-400:]


def test_it_waits_for_statements_under_way():
    wait = re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)
    assert wait is not None
    assert int(wait[1]) > 30  # what server.drain is unless configured
