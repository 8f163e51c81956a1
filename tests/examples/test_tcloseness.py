"""Chapter 7 of the thesis."""

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from examples.thesis import tcloseness, tcloseness_figures


def test_the_numbers_agree_or_say_why_not():
    found = list(tcloseness.example())
    assert [figure.what for figure in found if figure.agrees != "yes"] == [found[-1].what]
    assert found[-1].why


def test_quotas_are_solved_for_where_literal_ones_do_not_add_up():
    assert tcloseness.literal(24, 2, 3, Fraction(3, 2))
    text = tcloseness.adding_up()
    every, even = (line.split() for line in text.splitlines()[4:6])
    assert every[-1] == even[-1] == even[-2] == "100%"
    assert int(every[-2].rstrip("%")) < 100


def test_more_t_keeps_more():
    low, high = tcloseness.on_census(Fraction(5, 4)), tcloseness.on_census(Fraction(5))
    assert low.achieved <= 1.25
    assert high.achieved <= 5
    assert high.own > low.own
    assert high.within < low.within < 1


def test_the_command_prints_its_tables_and_draws_its_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    for module in (tcloseness, tcloseness_figures):
        monkeypatch.setattr(module, "FACTORS", (Fraction(3, 2), Fraction(3)))
    monkeypatch.setattr(tcloseness, "adding_up", lambda: "")  # Asked above, and slow.
    assert tcloseness.main(["--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for text in ("t achieved", "t = 3, epsilon = 1.099", "Adult, occupation", "FEDTAX and FICA together"):
        assert text in printed
    assert [path.stem for path in tmp_path.glob("*.png")] == list(tcloseness_figures.FIGURES)


def test_without_the_extra_the_tables_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(tcloseness, "tables", lambda: iter(["a table"]))
    monkeypatch.setitem(sys.modules, "examples.thesis.tcloseness_figures", None)
    assert tcloseness.main([]) == 1
    captured = capsys.readouterr()
    assert captured.out == "a table\n"
    assert "pip install 'dpproxy[plots]'" in captured.err
