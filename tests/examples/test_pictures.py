"""The page of measurements shows what the commands draw: every figure once, small."""

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from PIL import Image

from examples import pictures

PAGE = pictures.OUT.parent / "measured.md"
MOST_BYTES = 300_000


def test_the_page_shows_every_figure_once():
    shown = re.findall(r"\]\(pictures/(\w+)\.png\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(pictures.FIGURES) == sorted(path.stem for path in pictures.OUT.iterdir())


def test_the_pictures_are_small():
    assert sum(path.stat().st_size for path in pictures.OUT.iterdir()) < MOST_BYTES


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
