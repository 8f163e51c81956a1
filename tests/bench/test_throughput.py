"""The load asks what it says, and the numbers are of its waits; no speed is asserted."""

import os

import pytest

from tests.bench import throughput
from tests.bench.load import Waited


def test_the_command_prints_both_kinds(capsys: pytest.CaptureFixture[str]):
    assert throughput.main(["--small"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"{os.cpu_count()} cores" in lines[0]
    assert [line.split("|")[1].strip() for line in lines[4:]] == ["replayed", "freshly charged"]


def test_the_worst_connection_is_told_from_the_rest():
    even = [0.01] * 98
    waited = Waited([[*even, 0.02, 0.02], [*even, 0.2, 0.2]], seconds=2.0, client=0.1, warm=0)
    assert waited.rate == 100
    assert waited.milliseconds(0.5) == 10
    assert waited.starved == pytest.approx(20)
    assert Waited([even, []], seconds=2.0, client=0.1, warm=0).starved == float("inf")


def test_a_rate_or_a_spread_that_misses_is_said():
    waited = Waited([[0.01] * 100], seconds=1.0, client=0.1, warm=0)
    assert throughput.Measured("x", 100, waited, 0.1, 0.1).met
    slow = throughput.Measured("x", 101, waited, 0.1, 0.1)
    assert not slow.met
    assert slow.row[2] == ">= 101, missed"
