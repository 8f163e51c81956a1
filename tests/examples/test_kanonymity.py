"""Chapters 2 and 3 of the thesis: what is not random agrees to every digit, the rest within what chance does."""

import sys
from pathlib import Path

import pytest

from examples.thesis import kanonymity, kanonymity_figures


def test_microaggregation_agrees_to_every_digit():
    found = list(kanonymity.microaggregation())
    assert len(found) == 8
    assert [figure.what for figure in found if figure.agrees != "yes"] == []


def test_changes_of_correlations_agree():
    """MDAV-ID is not random. Two builds of MDAV-SWAP have a standard deviation of 3.5 %: 25 % is seven of it."""
    assert kanonymity.change("mdav", 25).mean == pytest.approx(0.11, abs=0.005)
    assert kanonymity.change("mdav_swap", 25, builds=2).mean == pytest.approx(0.091, rel=0.25)
    assert kanonymity.change("ir_swap", 25, builds=3).mean < 0.02


def test_for_uninformed_intruders_correlations_change_half_as_much():
    """Standard deviations are .0012 and .0019 a build: both limits are five of the mean or more away."""
    assert kanonymity.change("mdav_swap", 5, builds=4, intruder="uninformed").mean == pytest.approx(
        0.019, abs=0.004
    )
    assert kanonymity.change("mdav_swap", 5).mean == pytest.approx(0.037, abs=0.01)


def test_declared_widths_keep_correlations_better():
    assert kanonymity.change("mdav", 11, "range").mean < kanonymity.change("mdav", 11).mean / 2


def test_the_command_prints_its_tables_and_draws_its_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kanonymity, "BUILDS", 1)
    assert kanonymity.main(["--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "MDAV-ID, k = 300" in printed
    assert "correct links, percent, k = 30" in printed
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == sorted(kanonymity_figures.FIGURES)


def test_without_the_extra_the_tables_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(kanonymity, "tables", lambda: iter(["a table"]))
    monkeypatch.setitem(sys.modules, "examples.thesis.kanonymity_figures", None)
    assert kanonymity.main([]) == 1
    captured = capsys.readouterr()
    assert captured.out == "a table\n"
    assert "pip install 'dpproxy[plots]'" in captured.err
