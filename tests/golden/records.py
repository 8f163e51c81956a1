"""Golden files as values: a header of SQL, then records separated by blank lines.

A record is one line of its kind, what it expects and its settings; the statement; for some kinds ``----`` and a
body. Lines that start with # are comments.
"""

import re
from dataclasses import dataclass
from pathlib import Path

KINDS = ("plan", "exact", "answer", "neighbours", "error", "charge")
ACCEPTED = ("plan", "exact", "answer")
"""The kinds whose bodies ``--accept`` rewrites."""
_START = re.compile(rf"({'|'.join(KINDS)})\b(.*)")
_OPTION = re.compile(r"\s*((?:dp\.\w+|\$\d+|as|most)=\S*)")
_CARET = re.compile(r"\s*\^")


@dataclass(frozen=True)
class Record:
    """One record; ``body`` is lines ``first`` to ``last`` (excluded) of the file, counted from 0."""

    kind: str
    words: str
    """What the first line expects, without its settings."""
    options: dict[str, str]
    statement: str
    body: tuple[str, ...]
    line: int
    first: int
    last: int

    @property
    def told(self) -> dict[str, str]:
        """``hint:`` and ``detail:`` of an error."""
        return dict(line.split(": ", 1) for line in self.body if ": " in line)


@dataclass(frozen=True)
class Golden:
    """One file."""

    path: Path
    header: tuple[str, ...]
    """SQL statements without their semicolons."""
    records: tuple[Record, ...]


def read(path: Path) -> Golden:
    """Parse a golden file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [
        n
        for n, line in enumerate(lines)
        if _START.fullmatch(line) and (n == 0 or not lines[n - 1] or lines[n - 1][0] == "#")
    ]
    head = lines[: starts[0]] if starts else lines
    header = "\n".join(line for line in head if not line.startswith("#"))
    statements = tuple(s.strip() for s in re.split(r";[ \t]*(?:--.*)?(?:\n|$)", header) if s.strip())
    return Golden(path, statements, tuple(_record(lines, start) for start in starts))


def _record(lines: list[str], start: int) -> Record:
    found = _START.fullmatch(lines[start])
    assert found is not None
    kind, rest = found[1], found[2]
    options = dict(o.split("=", 1) for o in _OPTION.findall(rest))
    end = next((n for n in range(start, len(lines)) if not lines[n]), len(lines))
    split = next((n for n in range(start, end) if lines[n] == "----"), None)
    if split is None:
        last = next((n for n in range(start + 1, end) if _is_told(lines[n])), end)
        first = last
    else:
        last, first = split, split + 1
    return Record(
        kind, _OPTION.sub("", rest).strip(), options, "\n".join(lines[start + 1 : last]),
        tuple(lines[first:end]), start + 1, first, end,
    )  # fmt: skip


def _is_told(line: str) -> bool:
    return bool(_CARET.fullmatch(line)) or line.startswith(("hint: ", "detail: "))


def caret(record: Record) -> int | None:
    """The position in the statement that the caret stands under; it stands below the statement's last line."""
    line = next((line for line in record.body if _CARET.fullmatch(line)), None)
    if line is None:
        return None
    return record.statement.rfind("\n") + 1 + line.index("^")


def rewrite(path: Path, record: Record, body: list[str]) -> None:
    """Replace the body of one record; the file may have changed above it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    now = next(
        r
        for r in read(path).records
        if (r.kind, r.words, r.options, r.statement)
        == (record.kind, record.words, record.options, record.statement)
    )
    divider = [] if lines[now.first - 1] == "----" else ["----"]
    lines[now.first : now.last] = [*divider, *body]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
