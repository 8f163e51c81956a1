"""Answers and refusals as text for a terminal."""

import json
from collections.abc import Sequence
from decimal import Decimal

WIDEST = 100
"""The most characters of a cell in a table with several columns."""
WIDEST_ALONE = 160
PLACES = {float: 4, Decimal: 9}
"""Decimal places that are shown, nine of an epsilon; a smaller number is shown in full."""


def render(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; numbers to the right.

    >>> print(render(["sex", "count"], [("Female", 9), ("Male", 10)]))
     sex    | count
    --------+-------
     Female |     9
     Male   |    10
    """
    widest = WIDEST_ALONE if len(names) == 1 else WIDEST
    cells = [[_cell(value, widest) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    right = [_is_number(column) for column in zip(*rows, strict=True)] if rows else [False] * len(names)

    def line(values: Sequence[str]) -> str:
        padded = (
            value.rjust(width) if to_right else value.ljust(width)
            for value, width, to_right in zip(values, widths, right, strict=True)
        )
        return f" {' | '.join(padded)}".rstrip()

    return "\n".join([line(names), "+".join("-" * (width + 2) for width in widths), *map(line, cells)])


def as_json(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The rows as one JSON list of objects; exact decimals and moments are texts.

    >>> print(as_json(["budget", "spent"], [("b", Decimal("0.1"))]))
    [
      {"budget": "b", "spent": "0.1"}
    ]
    """
    lines = [json.dumps(dict(zip(names, row, strict=True)), default=str) for row in rows]
    return "[\n  " + ",\n  ".join(lines) + "\n]" if lines else "[]"


def records(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Column below column, whole; what has no value is left out.

    >>> print(records(["name", "user", "spent"], [("b", None, 9), ("b", "ann", 4)]))
    -[ 1 ]
    name  | b
    spent | 9
    -[ 2 ]
    name  | b
    user  | ann
    spent | 4
    """
    longest = max(map(len, names))
    return "\n".join(
        line
        for number, row in enumerate(rows, start=1)
        for line in (
            f"-[ {number} ]",
            *(
                f"{name.ljust(longest)} | {_cell(value, None)}"
                for name, value in zip(names, row, strict=True)
                if value is not None
            ),
        )
    )


def answer(
    names: Sequence[str], rows: Sequence[Sequence[object]], *, in_json: bool, width: int | None = None
) -> str:
    """Rows as JSON, or as a table; as records where a table is wider than the terminal."""
    if in_json:
        return as_json(names, rows)
    table = render(names, rows)
    is_wide = width is not None and max(map(len, table.splitlines())) > width
    return records(names, rows) if rows and is_wide else table


def quantity(number: int, one: str, many: str) -> str:
    """A number with its noun.

    >>> quantity(1, "entry", "entries"), quantity(0, "entry", "entries")
    ('1 entry', '0 entries')
    """
    return f"{number} {one if number == 1 else many}"


def _is_number(column: Sequence[object]) -> bool:
    known = [value for value in column if value is not None]
    return bool(known) and all(isinstance(value, int | float | Decimal) for value in known)


def _cell(value: object, widest: int | None) -> str:
    if isinstance(value, float | Decimal):
        short = round(value, PLACES[type(value)])
        text = f"{short if short or not value else Decimal(str(value)):f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = "" if value is None else str(value)
    return text if widest is None or len(text) <= widest else f"{text[: widest - 3]}..."


def caret(text: str, position: int) -> list[str]:
    r"""The line of an offset, and a caret under it.

    >>> print("\n".join(caret("SELECT a,\n  b FROM t", 12)))
    LINE 2:   b FROM t
              ^
    """
    before = text[:position]
    number, start = before.count("\n") + 1, before.rfind("\n") + 1
    lead = f"LINE {number}: "
    return [lead + text[start:].split("\n", 1)[0], " " * (len(lead) + position - start) + "^"]


def spoken(*lines: str, detail: str | None, hint: str | None) -> str:
    """Lines, then a detail and a hint where there are any.

    >>> print(spoken("ERROR:  42703: no column", detail=None, hint="write b"))
    ERROR:  42703: no column
    HINT:  write b
    """
    more = [f"{word}:  {text}" for word, text in (("DETAIL", detail), ("HINT", hint)) if text]
    return "\n".join([*lines, *more])
