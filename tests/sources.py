"""The product's own source, parsed once in a test run."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = sorted([*(ROOT / "dpproxy").rglob("*.py"), *(ROOT / "udfs").rglob("*.py")])


def name(path: Path) -> str:
    """Of a file, from the top."""
    return str(path.relative_to(ROOT))


@cache
def tree(path: Path) -> ast.Module:
    """Of one of our files."""
    return ast.parse(path.read_text(encoding="utf-8"))
