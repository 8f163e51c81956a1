"""Both tables come from small runs; no time is asserted."""

import tempfile
from pathlib import Path

import pytest

from tests.bench import scale


def test_each_number_of_rows_has_a_line_for_each_statement(capsys: pytest.CaptureFixture[str]):
    assert scale.main(["--rows", "2000", "--rounds", "1"]) == 0
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines() if line[:3] == "| 2"]
    assert [line[2].strip() for line in lines] == list(scale.STATEMENTS)


def test_proxies_share_a_ledger():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server runs as somebody else
        found = list(scale.shared(Path(folder), 0.1, connections=2, rounds=1))
    assert [len(cells) for cells in found] == [len(scale.PROXY_HEADER)] * 4


def test_a_row_is_of_medians():
    cells = scale.row(1000, "x", 2.0, [(0.3, 0.1), (0.2, 0.4), (0.1, 0.2)], [(0.1, 0.1)], 3 << 20)
    assert cells == [
        "1,000",
        "x",
        "2.00 s",
        "200 ms",
        "100 ms",
        "2.00x",
        "200 ms",
        "100 ms",
        "2.00x",
        "3 MiB",
    ]
