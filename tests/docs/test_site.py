"""The documentation builds as one site: every link and anchor leads somewhere, every page is in the navigation."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, name

RECIPE = next(
    line for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines() if "-m sphinx" in line
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as ``make docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = RECIPE.strip().replace("$(BIN)/python", sys.executable)
    command = command.replace("build/doctrees", str(folder / "doctrees")).replace(
        " site", f" {folder / 'site'}"
    )
    done = subprocess.run(command.split(), cwd=ROOT, check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_a_warning_is_an_error():
    assert "--fail-on-warning" in RECIPE


def test_every_page_is_built(site: Path):
    for path in PAGES:
        assert (site / path.relative_to(ROOT)).with_suffix(".html").exists(), name(path)
    assert (site / "index.html").exists()


def test_nothing_is_fetched_from_elsewhere(site: Path):
    text = (site / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(
        r"<(?:script|img)[^>]+src=\"([^\"]+)\"|<link[^>]+stylesheet[^>]+href=\"([^\"]+)\"", text
    )
    assert loaded
    assert not [link for link in loaded if "://" in "".join(link)]
