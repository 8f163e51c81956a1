"""The code blocks of the documentation: where they stand, their language, and what a comment above them says.

A comment in the line above a block says how it is run, where its language alone does not:

    <!-- duckdb -->               SQL of the extension, not of the proxy, as all SQL of the page from there on
    <!-- file: NAME -->           the block is the content of a file that later blocks of the page use
    <!-- grammar -->              it is read by test_reference.py
    <!-- drawing -->             it is the drawing of architecture.md, and nothing to run
    <!-- not run: REASON -->      it is not run
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"])
_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>.+?) -->\n)?```(?P<language>.*)\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Block:
    """One block; ``line`` is that of its first line of text."""

    page: str
    line: int
    language: str
    mark: str
    text: str

    @property
    def reason(self) -> str:
        """Why it is not run, "" where it is."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else ""

    @property
    def file(self) -> str:
        """The file it is the content of, "" where it is none."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def name(path: Path) -> str:
    """A page as it is called in messages."""
    return str(path.relative_to(ROOT))


def blocks(path: Path) -> list[Block]:
    """Every block of a page, in order."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(
            name(path),
            text.count("\n", 0, found.start("text")) + 1,
            found["language"],
            found["mark"] or "",
            found["text"],
        )
        for found in _BLOCK.finditer(text)
    ]
