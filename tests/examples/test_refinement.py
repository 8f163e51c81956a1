"""Chapter 5 of the thesis: every number printed there is found, or its difference is explained."""

import sys
from pathlib import Path

import pytest

from examples.thesis import refinement, refinement_figures


def test_the_numbers_agree_or_say_why_not():
    found = [*refinement.unit_interval(), *refinement.booleans(), *refinement.corrections()]
    assert [figure.what.strip() for figure in found if figure.agrees != "yes"] == [
        *["probability that Laplace noise stays in [0, 1]"] * 4,
        "mass of the refined prior as printed, epsilon ln 2",
        "delta that moving delta / 2 reaches, statistical, epsilon ln 2, delta 0.001",
    ]
    assert all(figure.why for figure in found if figure.agrees != "yes")
    laplace = [figure.here for figure in found if "Laplace" in figure.what]
    assert laplace == pytest.approx([0.0488, 0.2929, 0.3935, 0.6321], abs=5e-5)


def test_the_command_prints_its_tables_and_draws_its_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert refinement.main(["--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("yes\n") + printed.count("yes  ") >= 18
    assert "0.3 * point(0) + 0.7 * normal(5, 1)" in printed
    drawn = sorted(path.stem for path in tmp_path.glob("*.png"))
    assert drawn == sorted(refinement_figures.FIGURES)
    assert all(path.stat().st_size > 10_000 for path in tmp_path.glob("*.png"))
    assert all(f"figure: {tmp_path / name}.png" in printed for name in drawn)


def test_without_the_extra_the_tables_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(refinement, "tables", lambda: iter(["a table"]))
    monkeypatch.setitem(sys.modules, "examples.thesis.refinement_figures", None)
    assert refinement.main([]) == 1
    captured = capsys.readouterr()
    assert captured.out == "a table\n"
    assert "pip install 'dpproxy[plots]'" in captured.err
