"""Rows of a public table or a view, streamed from the data source; rows that were read are not kept."""

from collections.abc import Generator, Sequence
from typing import Final

import pyarrow as pa

from dpproxy.algebra.plan import Answer, Output
from dpproxy.engine.output import Portions
from dpproxy.values.errors import PortalState, TooComplex

LARGEST_WHOLE: Final = 64_000_000
"""The most bytes of rows that are kept for a cursor that scrolls."""


class RowStream:
    """A ``plan.Scrollable`` over batches, of which ``held`` have been read already."""

    def __init__(
        self, outputs: Sequence[Output], batches: Generator[pa.Table], held: Sequence[pa.Table]
    ) -> None:
        self._outputs = outputs
        self._batches = batches
        self._held = list(held)
        self.is_open = True
        self._left_early = False

    def take(self, most: int) -> Portions:
        """The next rows, at most ``most``; empty only after the last one. Raises ``PortalState`` after ``close``."""
        if self._left_early:
            raise PortalState(
                "the cursor is closed: its rows were not read for too long", hint="Open it anew."
            )
        if not self._held and self.is_open:
            self._read()
        if not self._held:
            return Portions(self._outputs, _NOTHING)
        table = self._held[0]
        if table.num_rows > most:
            self._held[0] = table.slice(most)
        else:
            del self._held[0]
        return Portions(self._outputs, table.slice(0, most))

    def whole(self) -> Portions:
        """All remaining rows. Raises ``TooComplex`` where they are more than ``LARGEST_WHOLE``."""
        found, size = self._held, sum(table.nbytes for table in self._held)
        self._held = []
        while self.is_open:
            self._read()
            size += sum(table.nbytes for table in self._held)
            found += self._held
            self._held = []
            if size > LARGEST_WHOLE:
                self.close()
                raise TooComplex(
                    f"a cursor that scrolls would hold more than {LARGEST_WHOLE} bytes",
                    hint="Declare it with NO SCROLL, or add LIMIT.",
                )
        return Portions(self._outputs, pa.concat_tables(found) if found else _NOTHING)

    def close(self) -> None:
        """Stop the query."""
        self._left_early = self.is_open
        self.is_open = False
        self._held = []
        self._batches.close()

    def _read(self) -> None:
        try:
            batch = next(self._batches, None)
        except BaseException:
            self.is_open = False
            raise
        if batch is None:
            self.is_open = False
        else:
            self._held.append(batch)


_NOTHING: Final = pa.table({})


def streamed_answer(outputs: Sequence[Output], batches: Generator[pa.Table]) -> Answer:
    """An answer with all its rows where they are one batch; else with a stream, which the caller must close."""
    held = [batch for _ in range(2) if (batch := next(batches, None)) is not None]
    if len(held) > 1:
        return Answer("SELECT", stream=RowStream(outputs, batches, held))
    rows: Sequence[tuple[object, ...]] = Portions(outputs, held[0]) if held else ()
    return Answer(f"SELECT {len(rows)}", rows=rows)
