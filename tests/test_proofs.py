"""A proof stands beside what it proves, and is read again whenever that changes."""

import hashlib
import re
from pathlib import Path

import pytest

from dpproxy.anonymize.methods import METHODS
from udfs.mechanisms import CHOICES, MECHANISMS

ROOT = Path(__file__).parents[1]
PROOFS = sorted([*(ROOT / "udfs").rglob("*.md"), *(ROOT / "dpproxy").rglob("*.md")])
HEADINGS = ["Precondition", "Pseudocode", "Postcondition", "Proof"]
FIRST = re.compile(r"Proves (\w+\.py) at sha256:([0-9a-f]{64})")


@pytest.mark.parametrize("path", PROOFS, ids=lambda path: path.name)
def test_a_proof_is_of_the_file_as_it_is(path: Path):
    """Of the file of its own name, or of several, with a line for each."""
    first = [FIRST.fullmatch(line) for line in path.read_text(encoding="utf-8").split("\n\n")[0].splitlines()]
    found = [match for match in first if match is not None]
    assert found, "the first line is: Proves <file>.py at sha256:<its hash>"
    assert len(found) > 1 or path.with_suffix(".py").name == found[0][1]
    for match in found:
        proved = path.with_name(match[1])
        now = hashlib.sha256(proved.read_bytes()).hexdigest()
        assert now == match[2], f"{proved.name} has changed: read its proof again, then set its hash to {now}"


@pytest.mark.parametrize("path", PROOFS, ids=lambda path: path.name)
def test_a_proof_has_its_parts_in_order(path: Path):
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [heading for heading in headings if heading in HEADINGS] == HEADINGS


def test_every_mechanism_has_a_proof():
    listed = [*MECHANISMS.values(), *CHOICES.values()]
    private = [type(method) for method in METHODS.values() if method.private]
    files = {found.__module__.rsplit(".", 1)[-1] for found in [*listed, *private]}
    assert files
    assert files <= {path.stem for path in PROOFS}
