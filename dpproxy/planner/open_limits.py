"""How much work a free statement may ask for: it could be asked again and again."""

from collections.abc import Iterable

from dpproxy.analysis.typed import Typed
from dpproxy.errors import TooComplex

LARGEST_ANSWER = 64_000_000
"""Characters of an answer, counted before it is computed."""

MOST_JOINED = 10_000_000
"""Rows of a join of relations that are all smaller."""


def width(values: Iterable[Typed]) -> int:
    """Characters of a row."""
    return sum(32 if value.longest is None else value.longest + 8 for value in values)


def check_answer(rows: int, values: Iterable[Typed], at: int | None) -> None:
    """Refuse an answer that would not fit."""
    if rows * width(values) > LARGEST_ANSWER:
        raise TooComplex(
            f"the answer would have {rows} rows and more than {LARGEST_ANSWER} characters",
            hint="Select fewer columns, group by fewer or coarser ones, or add LIMIT.",
            position=at,
        )


def check_join(rows: int, sides: Iterable[int], at: int | None) -> None:
    """Refuse a join that multiplies its sides."""
    if rows > max(MOST_JOINED, *sides):
        raise TooComplex(
            f"the join would have up to {rows} rows, more than {MOST_JOINED}",
            hint="Join on columns that are unique on one side: JOIN ... ON a.x = b.x.",
            position=at,
        )
