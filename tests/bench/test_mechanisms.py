"""The section runs; no time is asserted."""

import json
import stat
import sys
from pathlib import Path

from tests.bench import mechanisms
from tests.bench.report import markdown


def test_without_peers_their_columns_are_empty():
    measured = list(mechanisms.measure(None, small=True))
    assert all(line.ours > 0 for line in measured if line.unit != "Spearman")
    assert all(line.peers == (None, None) for line in measured)
    assert len(markdown(mechanisms.rows(measured)).splitlines()) == len(measured) + 2


def test_peers_stand_beside(tmp_path: Path):
    """An interpreter that answers at once stands for theirs."""
    answer = {
        "rates": {"one": {"OpenDP": 5e4}},
        "microseconds": {"three": {"diffprivlib": 17.0}},
        "spearman": {"OpenDP": 0.47},
    }
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\nprint({json.dumps(json.dumps(answer))})\n")
    python.chmod(stat.S_IRWXU)
    text = markdown(mechanisms.rows(list(mechanisms.measure(python, small=True))))
    assert "| 50 k/s " in text
    assert "| 17.0 us " in text
    assert "| +0.470 " in text


def test_noise_that_takes_its_time_is_correlated():
    """Sizes and times rise together."""
    sizes = iter(range(30))

    def slower() -> int:
        size = next(sizes)
        sum(range(2000 * size))
        return size

    assert mechanisms.correlation(slower, 30) > 0.5


def test_a_rate_that_is_too_low_is_missed():
    line = mechanisms.Measured("x", "values/s", 9e5, (None, None), ">= 1,000 k/s", met=False)
    assert mechanisms.target(line) == ">= 1,000 k/s, missed"
    assert mechanisms.shown(line.ours, line.unit) == "900 k/s"
