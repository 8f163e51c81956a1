"""The pictures of docs/measured.md, drawn again and made small: 900 pixels wide, few colours.

    python -m examples.pictures [--out FOLDER]

It takes some minutes, and needs the extra: pip install 'dpproxy[plots]'.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from examples.thesis import (
    kanonymity_figures,
    microaggregation_figures,
    noise_figures,
    refinement_figures,
    tcloseness_figures,
)
from examples.thesis.drawing import draw
from examples.views import utility

OUT = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH = 900
COLOURS = 24
FIGURES = {
    **noise_figures.FIGURES,
    **refinement_figures.FIGURES,
    **kanonymity_figures.FIGURES,
    **microaggregation_figures.FIGURES,
    **tcloseness_figures.FIGURES,
    **utility.FIGURES,
}


def small(path: Path, out: Path) -> None:
    """Write the picture as a small one."""
    picture = Image.open(path).convert("RGB")
    height = round(picture.height * WIDTH / picture.width)
    if picture.width > WIDTH:
        picture = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(out, optimize=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw all of them."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.pictures", description="The pictures of docs/measured.md."
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER")
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in draw(FIGURES, Path(folder)):
            small(path, out / path.name)
            print(out / path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
