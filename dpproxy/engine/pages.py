"""Rows of the catalogue that are made a page at a time."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from msgspec.structs import replace

from dpproxy.algebra.plan import Answer
from dpproxy.values.errors import TooComplex

Rows = list[tuple[object, ...]]
MOST_WHOLE: Final = 100_000
"""Rows that are kept for a cursor that scrolls."""


class Paging:
    """A ``plan.Scrollable`` over rows that are made as they are read."""

    def __init__(self, portions: Generator[Rows], held: Rows) -> None:
        self._portions = portions
        self._held = held
        self.is_open = True

    def take(self, most: int) -> Rows:
        """The next rows, at most so many; none after the last, and only then."""
        while self.is_open and not self._held:
            self._read()
        rows, self._held = self._held[:most], self._held[most:]
        return rows

    def whole(self) -> Rows:
        """All that is left. Raises ``TooComplex`` where that is more than ``MOST_WHOLE`` rows."""
        while self.is_open and len(self._held) <= MOST_WHOLE:
            self._read()
        if len(self._held) > MOST_WHOLE:
            self.close()
            raise TooComplex(
                f"a cursor that scrolls would hold more than {MOST_WHOLE} rows",
                hint="Declare it with NO SCROLL, or add LIMIT.",
            )
        rows, self._held = self._held, []
        return rows

    def close(self) -> None:
        """Have no more made."""
        self.is_open = False
        self._held = []

    def _read(self) -> None:
        try:
            rows = next(self._portions, None)
        except BaseException:
            self.is_open = False
            raise
        if rows is None:
            self.is_open = False
        else:
            self._held = self._held + rows


def listed(pages: Iterator[Rows], answer: Callable[[Rows], Answer], limit: int | None, offset: int) -> Answer:
    """The answer over all pages, made of the answer over each: whole where it is short, else a stream."""
    first = answer(next(pages, []))
    second = next(pages, None)  # read, and not answered before the first rows are sent
    portions = _cut(_answers(first, [] if second is None else chain([second], pages), answer), limit, offset)
    held = next(portions, [])
    if second is None or len(held) == limit:
        return replace(first, tag=f"SELECT {len(held)}", rows=held)
    return replace(first, tag="SELECT", rows=(), stream=Paging(portions, held))


def _answers(
    first: Answer, pages: Iterable[Rows], answer: Callable[[Rows], Answer]
) -> Generator[Sequence[tuple[object, ...]]]:
    yield first.rows
    for page in pages:
        yield answer(page).rows


def _cut(
    portions: Generator[Sequence[tuple[object, ...]]], limit: int | None, offset: int
) -> Generator[Rows]:
    """The rows after ``offset``, at most ``limit``; portions may be empty."""
    left = limit
    while left is None or left > 0:
        portion = next(portions, None)
        if portion is None:
            return
        rows = list(portion[offset:])
        offset = max(0, offset - len(portion))
        if left is not None:
            rows = rows[:left]
            left -= len(rows)
        yield rows
