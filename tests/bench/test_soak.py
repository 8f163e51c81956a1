"""The soak shows that it works; how memory goes takes longer than a test may: `make soak`."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from dpproxy.accounting.ledger import Ledger
from tests.bench.soak import ANALYST, Reading, grown, reading, soak, uncharged


def test_all_kinds_of_traffic_without_a_fault(tmp_path: Path):
    report = soak(tmp_path, 6 / 60, 6, ())
    assert report.faults == []
    assert report.told.keys() >= {name for name, _ in ANALYST} | {"exact", "administered"}
    assert report.readings[-1].memory > 2**20


@pytest.mark.whole
def test_a_kill_loses_connections_and_no_charge(tmp_path: Path):
    report = soak(tmp_path, 12 / 60, 6, ((0.3, signal.SIGKILL),))
    assert report.faults == []
    assert report.told["lost with the proxy"]
    with Ledger.open(tmp_path / "state" / "main") as ledger:
        assert uncharged(report, ledger) == 0
        report.told["fresh"] += len(ledger.entries()) + 1
        assert uncharged(report, ledger) > 0


def test_growth_is_seen():
    def readings(*sizes: int) -> list[Reading]:
        return [Reading(n, size * 2**20, 1, 1, (size * 2**20,)) for n, size in enumerate(sizes)]

    assert grown(readings(*[50] * 6, *[100] * 14)) == 0
    assert grown(readings(*range(100, 300, 10))) > 0.5


def test_a_process_is_read():
    found = reading(os.getpid(), 0.0)
    assert found.files > 2
    assert found.threads >= 1


def test_what_has_ended_holds_nothing():
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert reading(ended.pid, 0.0).memory == 0
    finally:
        ended.wait()


def test_a_client_that_breaks_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_given: object) -> None:
        raise KeyError("no such step")

    monkeypatch.setattr("tests.bench.soak.client", broken)
    report = soak(tmp_path, 1 / 60, 2, ())
    assert report.faults == ["a client ended: KeyError('no such step')"] * 2
    assert "max_connections = 4" in (tmp_path / "dpproxy.toml").read_text()
