"""The rows of an answer as messages, portion by portion, so that other sessions are served between two of them."""

from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import Final, TypeGuard, cast

from msgspec import Struct, field

from dpproxy.algebra.plan import Answer, Stream
from dpproxy.session.state import CopyOut
from dpproxy.session.work import Steps, work
from dpproxy.values.errors import Unsupported
from dpproxy.values.pgtypes import Column
from dpproxy.wire import messages as m
from dpproxy.wire.bulk import Columnar, data_rows
from dpproxy.wire.copying import copy_messages
from dpproxy.wire.rows import encode_rows

ROWS_AT_ONCE: Final = 2000
MANY_AT_ONCE: Final = 20_000
"""Rows of one portion that are held by column."""

Row = tuple[object, ...]


class LimitedStream(Struct):
    """A ``plan.Stream`` of the next ``limit`` rows of another stream, which stays open."""

    stream: Stream
    limit: int

    @property
    def is_open(self) -> bool:
        """Whether there may be more rows."""
        return self.limit > 0 and self.stream.is_open

    def take(self, most: int) -> Sequence[Row]:
        """The next rows."""
        found = self.stream.take(min(most, self.limit)) if self.limit else ()
        self.limit -= len(found)
        return found

    def close(self) -> None:
        """Do nothing: the owner of the stream closes it."""


def check_described(described: Sequence[Column] | None, answered: Sequence[Column] | None) -> None:
    """Refuse an answer whose types differ from those described to the client, which would misread the bytes.

    Raises:
        Unsupported: as PostgreSQL says where a table was changed meanwhile.
    """
    if described is None or answered is None:
        return
    if [column.type.oid for column in described] != [column.type.oid for column in answered]:
        raise Unsupported("cached plan must not change result type", hint="Prepare the statement again.")


def send_answer(answer: Answer, formats: Sequence[int]) -> Steps[str]:
    """Send all rows of an answer, or its COPY data; returns the command tag."""
    if isinstance(answer, CopyOut):
        return (yield from _copied(answer))
    if answer.stream is None:
        yield from send_rows(answer.columns or (), formats, answer.rows)
        return answer.tag
    count = yield from send_stream(answer, answer.stream, formats, 0)
    return f"{answer.tag} {count}"


def send_rows(columns: Sequence[Column], formats: Sequence[int], rows: Sequence[Row]) -> Steps[None]:
    """Send rows that are in memory; large portions are encoded off the event loop."""
    by_column = bool(columns) and _is_columnar(rows)
    most = MANY_AT_ONCE if by_column else ROWS_AT_ONCE
    for start in range(0, len(rows), most):
        portion = partial(_framed, columns, formats, rows[start : start + most])
        framed = (yield from work(portion, continues=True)) if by_column or len(rows) > most else portion()
        yield m.DataRows(framed)


def send_stream(answer: Answer, stream: Stream, formats: Sequence[int], limit: int) -> Steps[int]:
    """Send the next rows of a stream, at most ``limit``, or all for 0; returns their number. MOVE sends none."""
    count = 0
    while not limit or count < limit:
        most = min(MANY_AT_ONCE, limit - count) if limit else MANY_AT_ONCE
        rows, framed = yield from work(partial(_next, answer, stream, most, formats), continues=True)
        if not rows:
            break
        count += rows
        if framed:
            yield m.DataRows(framed)
    return count


def _next(answer: Answer, stream: Stream, most: int, formats: Sequence[int]) -> tuple[int, bytes]:
    answer.check()  # before each portion: rights may be revoked while a stream is read
    rows = stream.take(most)
    return len(rows), _framed(answer.columns, formats, rows) if answer.columns and len(rows) else b""


def _framed(columns: Sequence[Column], formats: Sequence[int], rows: Sequence[Row]) -> bytes:
    if columns and _is_columnar(rows):
        return data_rows(columns, formats, rows.arrays())
    return encode_rows(columns, formats, rows)


def _is_columnar(rows: Sequence[Row]) -> TypeGuard[Columnar]:
    return not isinstance(rows, list | tuple) and isinstance(rows, Columnar)  # checking a Protocol is slow


class _Counted(Struct):
    """The portions of an answer's stream, with a count of the rows read."""

    answer: Answer
    stream: Stream
    count: int = field(default=0)

    def __iter__(self) -> Iterator[Sequence[Row]]:
        while rows := self._next():
            self.count += len(rows)
            yield rows

    def _next(self) -> Sequence[Row]:
        self.answer.check()
        return self.stream.take(MANY_AT_ONCE)


def _copied(answer: CopyOut) -> Steps[str]:
    columns, stream = answer.answer.columns or (), answer.answer.stream
    parts = None if stream is None else _Counted(answer.answer, stream)
    yield m.CopyOutResponse(answer.layout.code, len(columns))
    pieces = cast("Generator[bytes]", copy_messages(answer.layout, columns, parts or answer.answer.rows))
    while framed := (yield from work(partial(next, pieces, b""), continues=True)):
        yield m.CopyRows(framed)
    yield m.CopyOutDone()
    return answer.tag if parts is None else f"{answer.tag} {parts.count}"
