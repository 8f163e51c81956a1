"""The stages run from end to end over few rows; no time is asserted."""

from pathlib import Path

from tests.bench.data import QUICK
from tests.bench.stages import STATEMENTS, measure


def test_every_statement_is_measured_in_three_forms(tmp_path: Path):
    lines = list(measure(tmp_path, QUICK, 1))
    assert [line[0] for line in lines] == list(STATEMENTS)
    assert all(len(line) == 4 and all("x)" in cell for cell in line[1:]) for line in lines)
