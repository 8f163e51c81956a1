"""Whether what was printed is what a page shows: by letters, but for the rows of tables, whose numbers may be noise.

``...`` stands for anything in a line; alone on a line, for any number of lines.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_RULE = re.compile(r"\s*\|?-+(\+-+)*\|?(\.\.\.)?\s*").fullmatch
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")


class Line(NamedTuple):
    """A line without widths, and whether it is a row of a table."""

    text: str
    is_row: bool = False


def unlike(shown: Sequence[str], printed: Sequence[str]) -> str:
    """The first difference, "" where there is none."""
    expected, found = _lines(shown), _lines(printed)
    at = 0
    for place, line in enumerate(expected):
        if line.text == "...":
            after = expected[place + 1 : place + 2]
            while at < len(found) and not (after and _matches(after[0].text, found[at])):
                at += 1
            continue
        if at >= len(found):
            return f"expected {line.text!r}, and nothing more was printed"
        if not _matches(line.text, found[at]):
            return f"expected {line.text!r}, printed was {found[at].text!r}"
        at += 1
    return "" if at == len(found) else f"printed was {found[at].text!r}, and is not shown"


def _matches(expected: str, found: Line) -> bool:
    if found.is_row:
        expected, text = _NUMBER.sub("#", expected), _NUMBER.sub("#", found.text)
    else:
        text = found.text
    return re.fullmatch(re.escape(expected).replace(r"\.\.\.", ".*"), text) is not None


def _lines(lines: Sequence[str]) -> list[Line]:
    """Without empty lines; a table ends with one, or with the number of its rows."""
    result = []
    in_rows = False
    for line in lines:
        if _RULE(line) and "-" in line:
            in_rows = True
            result.append(Line("---"))
            continue
        in_rows = in_rows and bool(line.strip()) and not re.match(r"\(\d+ rows?\)", line)
        if line.strip():
            result.append(Line(" ".join(line.split()), in_rows))
    return result
