"""What was measured, as a table and as JSON."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement. Milliseconds unless ``unit`` says otherwise; ``most`` is the target, of ``ratio`` if any."""

    what: str
    proxy: float
    bare: float | None = None
    most: float | None = None
    unit: str = "ms"

    @property
    def ratio(self) -> float | None:
        """Proxy over bare."""
        return None if self.bare is None else self.proxy / self.bare

    @property
    def verdict(self) -> str:
        """``met``, ``MISSED``, or nothing where there is no target."""
        if self.most is None:
            return ""
        measured = self.proxy if self.ratio is None else self.ratio
        return "met" if measured <= self.most else "MISSED"

    @property
    def target(self) -> str:
        """The target as text."""
        if self.most is None:
            return ""
        return f"<= {self.most:g} {self.unit}" if self.ratio is None else f"<= {self.most:g}x"


COLUMNS: dict[str, Callable[[Line], str]] = {
    "": lambda line: line.what,
    "proxy": lambda line: f"{number(line.proxy)} {line.unit}",
    "bare DuckDB": lambda line: "" if line.bare is None else f"{number(line.bare)} {line.unit}",
    "ratio": lambda line: "" if line.ratio is None else f"{line.ratio:.2f}x",
    "target": lambda line: line.target + (", missed" if line.verdict == "MISSED" else ""),
}


def number(value: float) -> str:
    """Three significant digits, or all of those before the point.

    >>> number(0.3456), number(12.34), number(1234.5)
    ('0.346', '12.3', '1234')
    """
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"


def table(lines: Sequence[Line]) -> list[list[str]]:
    """Cells of a table, its head first."""
    return [list(COLUMNS), *([show(line) for show in COLUMNS.values()] for line in lines)]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells, the head first."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = [
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    texts.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(texts)


def conditions(before: float) -> str:
    """When and on what: ``before`` is the load beforehand."""
    day, after = datetime.now(UTC).date(), os.getloadavg()[0]
    return (
        f"Measured on {day}, {os.cpu_count()} cores, load {before:.1f} beforehand and {after:.1f} at the end"
    )


def as_json(lines: Sequence[Line]) -> list[dict[str, object]]:
    """For a file that later runs are compared with."""
    return [
        {**asdict(line), "ratio": line.ratio, "target": line.target, "verdict": line.verdict}
        for line in lines
    ]
