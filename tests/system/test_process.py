import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from dpproxy.system.process import serving, terminable
from dpproxy.values.errors import StartupError
from tests.proxies import PASSWORD, write_home

POLICY = "ALTER TABLE t SET PRIVACY PUBLIC;"
OWNER = """
import sys, time
from pathlib import Path
from dpproxy.system.process import serving
with serving(Path(sys.argv[1])) as (process, _):
    print(process.pid, flush=True)
    time.sleep(600)
"""


def test_a_server_runs_for_as_long_as_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DPPROXY_SERVER_LISTEN", "not an address")
    file = write_home(tmp_path, ["CREATE TABLE t AS SELECT 1 AS x"], POLICY)
    with serving(file) as (process, address):
        with psycopg.connect(f"postgresql://root@{address}/main", password=PASSWORD) as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]
        assert process.poll() is None
    assert process.poll() == 0


def test_a_server_that_does_not_start_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(StartupError, match="did not start"), serving(tmp_path / "none.toml"):
        pass
    assert "no such configuration file" in capfd.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's death signal")
def test_a_server_ends_with_whoever_started_it_however_that_ends(tmp_path: Path):
    file = write_home(tmp_path, ["CREATE TABLE t AS SELECT 1 AS x"], POLICY)
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(file)], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        server = int(owner.stdout.readline())
        assert _runs(server)
        owner.send_signal(signal.SIGKILL)
    until = time.monotonic() + 30
    while _runs(server) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(server)


def test_a_server_whose_parent_has_gone_does_not_start():
    done = subprocess.run(
        [sys.executable, "-m", "dpproxy.system.process", "1", "dpproxy", "serve"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_a_command_that_is_terminated_tidies_up():
    before = signal.getsignal(signal.SIGTERM)
    tidied = []
    with pytest.raises(KeyboardInterrupt), terminable():  # noqa: PT012 - what is raised is what is tidied up after
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            tidied.append(True)
    assert tidied
    assert signal.getsignal(signal.SIGTERM) is before


def _runs(process: int) -> bool:
    """Not so once it has ended, though nobody may have asked for its status."""
    try:
        return Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
