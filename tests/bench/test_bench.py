"""The benchmark runs from end to end over few rows; no time is asserted."""

import json
from pathlib import Path

import pytest

from tests.bench.__main__ import main
from tests.bench.mechanisms import WORKS
from tests.bench.report import Line, as_json, table


def test_the_quick_run_prints_a_table_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "numbers.json"
    assert main(["--small", "--json", str(file)]) == 0
    captured = capsys.readouterr()
    lines = json.loads(file.read_text(encoding="utf-8"))
    assert len(captured.out.splitlines()) == len(lines) + 11  # four tables
    assert all(line["proxy"] > 0 for line in lines if "proxy" in line)
    assert {line["what"] for line in lines} >= {"20 regions, 10 M rows", "smallest statement, charged"}
    assert {line["what"] for line in lines} >= {f"{work.name}, from SQL" for work in WORKS}
    assert {f"TPC-H q{n:02d}" for n in (1, 2, 8, 16, 22)} <= {line["what"] for line in lines}
    assert "smallest statement, charged" in captured.err


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        (Line("a ratio", proxy=29, bare=10, most=3), "met"),
        (Line("a ratio", proxy=31, bare=10, most=3), "MISSED"),
        (Line("a time", proxy=5.9, most=6), "met"),
        (Line("a time", proxy=6.1, most=6), "MISSED"),
        (Line("no target", proxy=100, bare=1), ""),
    ],
)
def test_a_verdict_compares_the_ratio_or_the_time(line: Line, verdict: str):
    assert line.verdict == verdict
    assert as_json([line])[0]["verdict"] == verdict
    assert ("missed" in table([line])[1][-1]) == (verdict == "MISSED")
