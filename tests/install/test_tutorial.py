"""The tutorials of administrators, followed with what a wheel installs and nothing of the source beside it."""

import os
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks
from tests.docs.test_blocks import Page
from tests.install.wheel import ROOT

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(
        shutil.which("psql") is None and not os.environ.get("CI"), reason="psql is not installed"
    ),
]


@pytest.mark.parametrize("name", ["postgresql", "administrator"])
def test_a_stranger_gets_to_the_end(
    name: str, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        sys, "executable", str(installed / "bin" / "python")
    )  # sessions find programs beside it
    path = ROOT / "docs" / "tutorials" / f"{name}.md"
    with ExitStack() as stack:
        page = Page(tmp_path, stack, path.read_text(encoding="utf-8"))
        found = f"$ command -v dpproxy\n{installed / 'bin' / 'dpproxy'}\n"
        assert page.shell.run(Block("a page", 1, "console", "", found)) == []
        wrong = [told for block in blocks(path) for told in page.run(block)]
    assert not wrong, "\n".join(wrong)
