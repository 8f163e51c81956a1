"""What only three or four columns show together is measured, stored and drawn."""

from pathlib import Path

import pytest

from tests.bench import parity, results


def test_figures_and_the_picture_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: parity: begin -->\n<!-- measured: parity: end -->", encoding="utf-8")
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "PAGE", page)
    monkeypatch.setattr(parity, "PICTURE", tmp_path / "parity.png")
    assert parity.main(["--small", "--write"]) == 0
    assert results.read("parity").rows[0] == ["parity", "epsilon", *parity.COMPARED]
    assert (tmp_path / "parity.png").exists()
    assert "the fourth of four" in page.read_text(encoding="utf-8")


def test_what_the_documentation_says_was_measured():
    """Of three columns by both methods, of four by dp_kdtree alone."""
    stored = results.read("parity")

    def share(case: str, method: str) -> float:
        return float(stored.cell((case, "4"), method).removesuffix(" %"))

    three, four = parity.CASES
    assert share(three, "dp_marginals") < 10
    assert share(three, "dp_kdtree") < 5
    assert share(four, "dp_kdtree") < 5
    assert share(four, "dp_marginals") > 30
