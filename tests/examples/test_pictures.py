"""The page of measurements shows what the commands draw: every figure once, small."""

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from PIL import Image

from examples import pictures

PAGE = pictures.OUT.parent / "measured.md"
MOST_BYTES = 300_000


SCREENS = sorted([*pictures.OUT.glob("web_*.png"), *pictures.OUT.glob("superset_*.png")])
"""Made by tests in a browser."""
FIGURES = sorted(set(pictures.OUT.iterdir()) - set(SCREENS))


def test_the_page_shows_every_figure_once():
    shown = re.findall(r"\]\(pictures/(\w+)\.png\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(pictures.FIGURES) == [path.stem for path in FIGURES]


def test_every_screen_is_shown():
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGE.parent.rglob("*.md"))
    assert [path.name for path in SCREENS if f"pictures/{path.name})" not in pages] == []


@pytest.mark.parametrize(
    ("made", "most"), [(FIGURES, MOST_BYTES), (SCREENS, 1_000_000)], ids=["figures", "screens"]
)
def test_the_pictures_are_small(made: list[Path], most: int):
    assert 0 < sum(path.stat().st_size for path in made) < most


def test_each_picture_stands_below_the_command_that_draws_it():
    sections = (
        PAGE.read_text(encoding="utf-8").partition("\n## The methods in pictures\n")[2].split("\n### ")[1:]
    )
    for section in sections:
        command = re.search(r"`python -m examples\.(\w+)\.(\w+)`", section)
        assert command, section[:30]
        for name in re.findall(r"pictures/(\w+)\.png", section):
            assert name.startswith((command[2], command[1])), name


def test_pictures_are_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    figure = Figure(figsize=(12, 4))
    figure.subplots().plot([1, 2])
    monkeypatch.setattr(pictures, "FIGURES", {"one": lambda: figure})
    assert pictures.main(["--out", str(tmp_path)]) == 0
    with Image.open(tmp_path / "one.png") as made:
        assert made.width == pictures.WIDTH
