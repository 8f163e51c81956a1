"""Figures to files."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure


def draw(figures: Mapping[str, Callable[[], Figure]], folder: Path) -> Iterator[Path]:
    """Write every figure; the paths, as they are written."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in figures.items():
        figure = make()
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=120)
        plt.close(figure)
        yield path
