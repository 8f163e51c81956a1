"""The table of methods is what the documentation says it is."""

import re
from pathlib import Path

import pytest

from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import Method

PAGE = (Path(__file__).parents[2] / "docs" / "views-methods.md").read_text(encoding="utf-8")
SYNTACTIC = [method for method in METHODS.values() if not method.private]


@pytest.mark.parametrize("method", SYNTACTIC, ids=lambda method: method.name)
def test_every_option_is_documented_with_its_method(method: Method):
    section = re.search(rf"^### `{method.name}`\n(.*?)^###? ", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert f"| `{method.name}` |" in PAGE
    for option in method.options:
        assert f"`{option}`" in section.group(1)
    assert all(help_line for help_line in method.options.values())
