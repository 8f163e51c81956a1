"""Where things are: each module has its own test file, files are short, names say what is inside."""

import ast
from pathlib import Path

import pytest

from tests.sources import PRODUCT, ROOT, name, tree

TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
MOST_LINES = 600
BANNED = {
    "util",
    "utils",
    "helper",
    "helpers",
    "common",
    "manager",
    "managers",
    "base",
    "misc",
    "shared",
    "stuff",
}
STARTS = {"__init__", "__main__"}
"""Modules that only name or start others."""


def is_values_only(path: Path) -> bool:
    """Whether a module defines no function: tables and records are tested where they are used."""
    return not any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) for node in ast.walk(tree(path))
    )


def place_of_test(path: Path) -> Path:
    """``tests/wire/test_bulk.py`` for ``dpproxy/wire/bulk.py``; ``tests/udfs/test_x.py`` for ``udfs/x``."""
    parts = path.relative_to(ROOT).parts
    folders = parts[1:-1] if parts[0] == "dpproxy" else parts[:-1]
    return ROOT.joinpath("tests", *folders, f"test_{path.name}")


def test_modules_have_test_files_of_their_own():
    for path in PRODUCT:
        if path.stem not in STARTS and not is_values_only(path):
            assert place_of_test(path).exists(), (
                f"{name(path)} is to be tested by {name(place_of_test(path))}"
            )


def test_modules_are_short():
    lengths = sorted((len(path.read_text(encoding="utf-8").splitlines()), name(path)) for path in PRODUCT)
    assert lengths[-1][0] <= MOST_LINES, f"{lengths[-1]}: {MOST_LINES} lines at most"
    assert lengths[len(lengths) // 2][0] <= 150


def test_names_say_what_is_inside():
    for path in PRODUCT + TESTS:
        words = {word for part in path.relative_to(ROOT).with_suffix("").parts for word in part.split("_")}
        assert not words & BANNED, f"{name(path)}: another name than {words & BANNED}"


def test_modules_say_what_they_are():
    for path in PRODUCT:
        assert ast.get_docstring(tree(path)), f"{name(path)} has no docstring"


def test_only_the_packages_stand_at_the_top():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == {"dpproxy", "udfs"}


def test_folders_are_flat():
    for path in PRODUCT:
        assert len(path.relative_to(ROOT).parts) <= 4, f"{name(path)} is too deep"


def test_a_file_is_run_by_one_worker(request: pytest.FixtureRequest):
    """Its servers and tables are made once. Where groups are not told to the workers, nothing else fails."""
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith("@sources")
