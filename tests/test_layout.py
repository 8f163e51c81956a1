"""Where things are: each module has its own test file, files are short, names say what is inside."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = sorted([*(ROOT / "dpproxy").rglob("*.py"), *(ROOT / "udfs").rglob("*.py")])
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
MOST_LINES = 400
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


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_values_only(path: Path) -> bool:
    """Whether a module defines no function: tables and records are tested where they are used."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return not any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) for node in ast.walk(tree)
    )


def place_of_test(path: Path) -> Path:
    """``tests/wire/test_codec.py`` for ``dpproxy/wire/codec.py``; ``tests/udfs/test_x.py`` for ``udfs/x``."""
    parts = path.relative_to(ROOT).parts
    folders = parts[1:-1] if parts[0] == "dpproxy" else parts[:-1]
    return ROOT.joinpath("tests", *folders, f"test_{path.name}")


@pytest.mark.parametrize("path", PRODUCT, ids=name)
def test_a_module_has_its_own_test_file(path: Path):
    if path.stem in STARTS or is_values_only(path):
        return
    assert place_of_test(path).exists(), f"{name(path)} is to be tested by {name(place_of_test(path))}"


@pytest.mark.parametrize("path", PRODUCT, ids=name)
def test_a_module_is_short(path: Path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES, f"{name(path)} has {lines} lines, {MOST_LINES} at most"


def test_the_median_module_is_short():
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in PRODUCT)
    assert lengths[len(lengths) // 2] <= 150


@pytest.mark.parametrize("path", PRODUCT + TESTS, ids=name)
def test_a_name_says_what_is_inside(path: Path):
    words = {word for part in path.relative_to(ROOT).with_suffix("").parts for word in part.split("_")}
    assert not words & BANNED, f"{name(path)}: another name than {words & BANNED}"


@pytest.mark.parametrize("path", PRODUCT, ids=name)
def test_a_module_says_what_it_is(path: Path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{name(path)} has no docstring"


def test_only_the_packages_stand_at_the_top():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == {"dpproxy", "udfs"}


def test_folders_are_flat():
    for path in PRODUCT:
        assert len(path.relative_to(ROOT).parts) <= 3, f"{name(path)} is too deep"
