"""A stored table is read as it was written, and fills its place in the page."""

from pathlib import Path

import pytest

from tests.bench import results
from tests.bench.results import Result

PAGE = "Text.\n\n<!-- measured: x: begin -->\nold\n<!-- measured: x: end -->\n\nMore.\n"
STORED = Result("Measured.", [["", "a", "b"], ["row", "1", ""]])


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "PAGE", tmp_path / "page.md")
    results.PAGE.write_text(PAGE, encoding="utf-8")
    return results.PAGE


def test_writing_stores_the_cells_and_fills_the_page(page: Path):
    results.write("x", STORED)
    assert results.read("x") == STORED
    assert page.read_text(encoding="utf-8") == PAGE.replace("old", f"\n{STORED}\n")
    results.write("x", STORED)
    assert page.read_text(encoding="utf-8").count("Measured.") == 1


def test_a_place_without_a_stored_table_is_an_error(page: Path):
    with pytest.raises(FileNotFoundError):
        results.filled(page.read_text(encoding="utf-8"))


def test_a_cell_is_of_the_first_row_that_begins_so():
    result = Result("", [["k", "n", "v"], ["a", "1", "x"], ["a", "2", "y"]])
    assert result.cell(("a",), "v") == "x"
    assert result.cell(("a", "2"), "v") == "y"
    assert str(result).splitlines()[0] == "| k | n | v |"
