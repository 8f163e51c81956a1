"""Recomputed numbers beside printed ones, and tables of them as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Figure:
    """One number as the thesis prints it ("" where it does not) and as recomputed, and why they differ if they do."""

    what: str
    printed: str
    here: float
    why: str = ""

    @property
    def agrees(self) -> str:
        """Whether the printed number is this one: yes if rounded, "cut off" at its last digit, or no."""
        if not self.printed:
            return ""
        printed, off = (
            float(self.printed),
            1.0001 * float(Decimal(1).scaleb(int(Decimal(self.printed).as_tuple().exponent))),
        )
        if abs(self.here - printed) <= off / 2:
            return "yes"
        return "cut off" if 0 < (self.here - printed) * (1 if printed >= 0 else -1) < off else "no"

    @property
    def shown(self) -> str:
        """To as many digits as are printed and one more, or to six significant ones."""
        if not self.printed:
            return f"{self.here:.6g}"
        return f"{self.here:.{max(-int(Decimal(self.printed).as_tuple().exponent), 0) + 1}f}"


def compared(title: str, figures: Sequence[Figure]) -> str:
    """The figures as a table; every one that differs says why."""
    rows = [[f.what, f.printed, f.shown, f.agrees, f.why] for f in figures]
    return table(title, ["", "thesis", "here", "agrees", ""], rows)


def table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A title and aligned columns; all but the first and the last to the right."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *middle = (
            cell.ljust(width) if place in (0, len(cells) - 1) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(["", first, *middle]).rstrip()

    return "\n".join([title, "", line(names), line(["-" * width for width in widths]), *map(line, rows), ""])
