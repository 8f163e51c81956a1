"""What the commands of this folder share: their options, and tables that are printed before figures are drawn."""

import argparse
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

OUT = Path(__file__).with_name("out")


def options(name: str, about: str | None) -> argparse.ArgumentParser:
    """The options of every command; ``about`` is its module's docstring."""
    parser = argparse.ArgumentParser(
        prog=f"python -m examples.thesis.{name}", description=(about or "").splitlines()[0]
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER", help="where figures go")
    return parser


def show(name: str, tables: Iterable[str], out: Path) -> int:
    """Print the tables and write the figures of ``<name>_figures``; status 1 where matplotlib is missing."""
    for text in tables:
        print(text)
    try:
        figures = import_module(f"examples.thesis.{name}_figures").FIGURES
        from examples.thesis.drawing import draw  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        sys.stderr.write(f"no figures, {error.name} is missing: pip install 'dpproxy[plots]'\n")
        return 1
    for path in draw(figures, out):
        print(f"figure: {path}")
    return 0
