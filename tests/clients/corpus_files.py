"""Files of statements in the form of a tool: for each what it expects, then the statement.

A statement starts with a line ``-- KIND TITLE`` and may have lines of remarks ``-- WORD: ...`` below it:

* ``look``: a question to the catalogue, or of the session. The same columns, types and rows as PostgreSQL's.
* ``ask``: over the tables of ``shop.py``. The same columns and types, and but for the last digits the same values.
* ``refuse 42501``: refused with this SQLSTATE; ``why`` says what privacy demands.

==========  =========================================================================================
remark      what it says
==========  =========================================================================================
but         ``COLUMN, COLUMN: reason``. The values of these columns differ, or are not defined
rows        the reason why rows differ, or are not defined; columns and types are still compared
types       ``COLUMN, COLUMN: reason``. The types of these columns differ
keys        how many columns are keys of groups: groups that nobody is in are shown too
why         the reason of a refusal
parameters  values of ``$1`` and so on, as JSON
==========  =========================================================================================
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).with_name("corpus")
REMARKS = ("but", "rows", "types", "keys", "why", "parameters")
_START = re.compile(r"-- (look|ask|refuse (\w{5})) (.+)")
_REMARK = re.compile(rf"-- ({'|'.join(REMARKS)}): (.+)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One of a tool; ``place`` is its file and line."""

    place: str
    kind: str
    title: str
    sqlstate: str | None
    sql: str
    remarks: dict[str, str] = field(default_factory=dict)

    @property
    def parameters(self) -> list[str | None]:
        """As texts."""
        return list(json.loads(self.remarks.get("parameters", "[]")))

    def columns(self, remark: str) -> frozenset[str]:
        """Names of columns that a remark is about."""
        names, _, reason = self.remarks.get(remark, ": -").partition(": ")
        assert reason.strip(), f"{self.place}: {remark} without a reason"
        return frozenset(name.strip() for name in names.split(",") if name.strip())


def read(path: Path) -> Iterator[Statement]:
    """The statements of a file; a line that is neither a remark nor a statement's is an error."""
    for number, block in _blocks(path.read_text(encoding="utf-8").splitlines()):
        found = _START.fullmatch(block[0])
        place = f"{path.stem}:{number}"
        assert found is not None, f"{place}: {block[0]}"
        heads = [line for line in block[1:] if line.startswith("-- ")]
        remarks = dict(m.groups() for m in map(_REMARK.fullmatch, heads) if m is not None)
        assert len(remarks) == len(heads), f"{place}: {heads}"
        sql = "\n".join(line for line in block[1:] if not line.startswith("-- ")).strip().removesuffix(";")
        assert sql, f"{place}: no statement"
        yield Statement(place, found[1].split()[0], found[3], found[2], sql, remarks)


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Each from its first line to the next one's; what stands above the first is about the file."""
    starts = [n for n, line in enumerate(lines) if _START.fullmatch(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield start + 1, lines[start:end]


def corpus() -> Iterator[Statement]:
    """All of all tools."""
    for path in sorted(FOLDER.glob("*.sql")):
        yield from read(path)
