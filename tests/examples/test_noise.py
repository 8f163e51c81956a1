"""Chapter 4 of the thesis is reproduced, and every deviation explained."""

import sys
from pathlib import Path

import pytest

from examples.thesis import noise
from examples.thesis.noise_figures import FIGURES
from examples.thesis.tables import Figure

Captured = pytest.CaptureFixture[str]
NOT_PRINTED = {
    "99 % region, half-width of component 1": 6.6885,
    "95 % region, half-width of component 1": 4.7877,
    "90 % region, half-width of component 1": 3.9084,
    "99 % region, area": 1789.5,
    "95 % region, area": 916.9,
    "90 % region, area": 611.0,
}
BEST = ("1.918", "3.971", "6.658", "9.998", "14.000", "18.667", "30.000", "44.000")


@pytest.fixture(scope="module")
def compared() -> list[Figure]:
    return [*noise.one_query(), *noise.density_of_theorem_1(), *noise.two_queries()]


def test_a_number_is_the_printed_one_or_says_why_not(compared: list[Figure]):
    for figure in compared:
        assert figure.agrees != "cut off", figure.what
        assert (figure.agrees == "no") == bool(figure.why), figure.what


def test_what_the_thesis_does_not_print_or_prints_wrongly(compared: list[Figure]):
    found = {figure.what: figure.here for figure in compared}
    for what, value in NOT_PRINTED.items():
        assert found[what] == pytest.approx(value, rel=1e-4)


def test_the_density_of_the_corrected_theorem_has_mass_one():
    printed, corrected = noise.density_of_theorem_1()
    assert printed.here > 1.5
    assert corrected.here == pytest.approx(1)


def test_every_table_and_figure_is_made(tmp_path: Path, capsys: Captured):
    assert noise.main(["--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    for variance in BEST:
        assert variance in shown
    for name in FIGURES:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{name}.png" in shown


def test_without_matplotlib_the_tables_remain(monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    monkeypatch.setitem(sys.modules, "examples.thesis.noise_figures", None)
    monkeypatch.setattr(noise, "tables", lambda: ["a table"])
    assert noise.main([]) == 1
    captured = capsys.readouterr()
    assert captured.out == "a table\n"
    assert "dpproxy[plots]" in captured.err
