"""The figures of privacy against utility are drawn."""

from fractions import Fraction
from pathlib import Path

import pytest

from examples.views import utility


def test_both_figures_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(
        utility, "loss", lambda *_: {"matched_information_loss": 0.5, "linkage_informed": 10.0}
    )
    assert utility.main(["--out", str(tmp_path)]) == 0
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == sorted(utility.FIGURES)
    assert capsys.readouterr().out.count("figure: ") == 2


def test_a_loss_is_of_a_real_build():
    assert 0 < utility.loss("dp_kdtree", {"epsilon": Fraction(10)})["matched_information_loss"] < 0.3
    assert "linkage_informed" in utility.loss("mdav_swap", {"k": 50})
