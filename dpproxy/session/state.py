"""The state of a session between statements, and the kinds of statements that it answers by itself."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Final, NoReturn, Protocol, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from dpproxy.algebra.plan import Answer, Settings, Stream
from dpproxy.algebra.request import Prepared
from dpproxy.config.settings import PRESENT
from dpproxy.session.arrays import ListParameters
from dpproxy.session.commands.signals import Send, Signal
from dpproxy.session.messages import StatementText
from dpproxy.session.transaction import Transaction
from dpproxy.values.errors import TooComplex
from dpproxy.values.pgtypes import Column, SqlType
from dpproxy.values.structs import PartlyShown
from dpproxy.wire.copying import CopyLayout

MOST_STATEMENTS: Final = 1000
"""Prepared statements that a session may hold."""
MOST_TEXT: Final = 512_000
"""Bytes of SQL of a session's prepared statements, with those that only a portal still uses."""
MOST_PORTALS: Final = 100
MOST_STREAMS: Final = 8
"""Open portals of a session whose queries still run: each occupies a connection of the engine, and memory."""
MOST_ROW_BYTES: Final = 128_000_000
"""Bytes of unread rows in a session's open portals, from which on it may open no more."""
_VALUE: Final = 100
"""Assumed bytes of one value in memory."""
MOST_VALUES: Final = 4_000_000
"""Bytes of parameters in a session's open portals, as they were sent."""


@runtime_checkable
class Sized(Protocol):
    """Rows that know their size."""

    @property
    def nbytes(self) -> int:
        """Their bytes in memory."""


class Command(Struct, frozen=True):
    """A session command; ``run`` is quick and changes nothing but the session."""

    run: Callable[["SessionState"], Answer]
    columns: tuple[Column, ...] | None = None
    runs_in_failed: bool = False
    """Whether it may run in a failed transaction block."""
    waits: bool = False
    """Whether ``run`` is slow, or checks the policy, and so is called off the event loop."""


class EngineShow(Struct, frozen=True):
    """SHOW of a setting whose value the engine computes."""

    name: str
    columns: tuple[Column, ...]


class WrapperStatement(PartlyShown, Struct, frozen=True):
    """A statement that runs another one and does something with its answer: DECLARE, COPY, EXECUTE."""

    HIDDEN = frozenset({"values"})

    inner: "PreparedStatement"
    finish: Callable[["SessionState", Answer], Answer]
    check: Callable[["SessionState"], None] = lambda _: None
    """Called before the inner statement runs; raises where it may not run now."""
    values: tuple[object, ...] | None = None
    """The parameters of the inner statement; None where they are those of the outer one."""
    columns: tuple[Column, ...] | None = None
    scrolls: bool = False
    """Whether it needs all rows in memory."""


class OuterStatement(Struct, frozen=True):
    """A statement around another one, which is not read yet; ``types`` are the parameter OIDs that it declares."""

    inner: StatementText
    wrap: Callable[["PreparedStatement"], Command | WrapperStatement]
    types: tuple[int, ...] = ()


class DeferredStatement(Struct, frozen=True):
    """A statement whose meaning depends on the session's state: FETCH, EXECUTE."""

    read: Callable[["SessionState"], Command | WrapperStatement]


class CopyOut(Answer, frozen=True):
    """An answer that is sent as COPY data: the rows of ``answer`` in a layout."""

    layout: CopyLayout = field(default_factory=CopyLayout)
    answer: Answer = field(default_factory=lambda: Answer(""))


class PreparedStatement(Struct, frozen=True):
    """A prepared statement; ``source`` and ``action`` are None for the empty one."""

    source: StatementText | None
    action: Command | EngineShow | WrapperStatement | Prepared | Signal | None
    parameters: tuple[SqlType, ...] = ()
    lists: ListParameters | None = None
    """Its list parameters, if any."""

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of its answer, None where it has no result set."""
        return None if self.action is None else self.action.columns

    @property
    def size(self) -> int:
        """Bytes of its text."""
        return 0 if self.source is None else len(self.source.text.encode())

    @property
    def charged(self) -> bool:
        """True where running it may debit the ledger."""
        if isinstance(self.action, WrapperStatement):
            return self.action.inner.charged
        return isinstance(self.action, Prepared) and self.action.charged

    def is_undone(self) -> bool:
        """Whether a failed transaction undoes it completely."""
        is_engines = isinstance(self.action, Prepared)
        return not self.charged and (not is_engines or self.columns is not None)

    @property
    def runs_in_failed(self) -> bool:
        """Whether it may run in a failed transaction block."""
        return self.action is None or (isinstance(self.action, Command) and self.action.runs_in_failed)

    def settings(self, transaction: Transaction) -> Settings:
        """The session's settings, with those of the statement's hint and, where its plan depends on it, the time."""
        hint = self.source.hint if self.source else {}
        is_of_present = isinstance(self.action, Prepared) and self.action.is_of_present
        present = {PRESENT: transaction.present()} if is_of_present else {}
        return {**transaction.settings, **hint, **present} if hint or present else transaction.settings


class Portal(PartlyShown, Struct):
    """A statement with its parameters; its answer is computed once and sent in parts."""

    HIDDEN = frozenset({"values", "answer"})

    statement: PreparedStatement
    values: tuple[object, ...]
    formats: tuple[int, ...]
    answer: Answer | None = None
    number: int = field(default_factory=count().__next__)
    """Portals that are opened later have greater ones."""
    position: int = 0
    """The number of rows sent so far; for a cursor, the row it is on."""
    size: int = 0
    """Bytes of its parameters, as they were sent."""
    scrolls: bool = False
    """Whether it may be read backwards."""
    outlives: bool = False
    """True for WITH HOLD: it stays when its transaction commits."""
    committed: bool = False
    """Whether a transaction that it outlives has committed; then a later rollback does not close it."""

    @property
    def row_bytes(self) -> int:
        """An estimate of the bytes of its rows in memory."""
        if self.answer is None:
            return 0
        rows = self.answer.rows
        return rows.nbytes if isinstance(rows, Sized) else len(rows) * len(self.answer.columns or ()) * _VALUE

    def part(self, limit: int) -> Sequence[tuple[object, ...]]:
        """The next rows of a computed answer, at most ``limit``, all of them for 0."""
        rows = self.answer.rows if self.answer else ()
        end = len(rows) if limit == 0 else min(len(rows), self.position + limit)
        part = rows[self.position : end]
        self.position = end
        return part


class SessionState(Struct):
    """The state of one session between its messages."""

    transaction: Transaction
    statements: dict[str, PreparedStatement] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)
    streams: list[Stream] = field(default_factory=list)
    """The open streams of its portals."""
    reading: list[Portal] = field(default_factory=list)
    """The portals whose rows the running statement sends."""
    send: Send = lambda _process, _ends: False
    """Cancels or ends another session."""

    def hold_stream(self, stream: Stream | None) -> None:
        """Add a stream, which ``sweep`` closes once no portal has it.

        Errors: ``TooComplex`` where there are too many; the stream is closed then.
        """
        if stream is None:
            return
        self.streams = [held for held in self.streams if held.is_open]
        if len(self.streams) >= MOST_STREAMS:
            self.sweep()
        if len(self.streams) >= MOST_STREAMS:
            stream.close()
            _refuse_more(f"{MOST_STREAMS} portals and cursors with rows to come", "close")
        self.streams.append(stream)

    def sweep(self) -> None:
        """Close the streams that no portal has any more."""
        wanted = {id(p.answer.stream) for p in self.portals.values() if p.answer is not None}
        wanted |= {id(p.answer.answer.stream) for p in self.portals.values() if isinstance(p.answer, CopyOut)}
        self.let_go([stream for stream in self.streams if id(stream) not in wanted])

    def let_go(self, streams: Sequence[Stream]) -> None:
        """Close streams, and forget them."""
        for stream in streams:
            stream.close()
        self.streams = [stream for stream in self.streams if stream.is_open]

    def hold_statement(self, name: str, statement: PreparedStatement) -> None:
        """Store a prepared statement under a name.

        Errors: ``TooComplex``.
        """
        if len(self.statements) >= MOST_STATEMENTS:
            _refuse_more(f"{MOST_STATEMENTS} prepared statements", "deallocate")
        held = {id(s): s for s in self.statements.values()}
        held |= {id(portal.statement): portal.statement for portal in self.portals.values()}
        if sum(s.size for s in held.values()) + statement.size > MOST_TEXT:
            _refuse_more(f"{MOST_TEXT} bytes of SQL in prepared statements", "deallocate")
        self.statements[name] = statement

    def check_room(self, name: str, size: int) -> None:
        """Refuse a new portal of this name where the session's others already take too much.

        ``size`` is the bytes of its parameters. Errors: ``TooComplex``.
        """
        others = [portal for held, portal in self.portals.items() if held != name]
        if len(others) >= MOST_PORTALS:
            _refuse_more(f"{MOST_PORTALS} open portals", "close")
        if sum(portal.size for portal in others) + size > MOST_VALUES:
            _refuse_more(f"{MOST_VALUES} bytes of parameters in open portals", "close")
        if sum(portal.row_bytes for portal in others) >= MOST_ROW_BYTES:
            _refuse_more(f"{MOST_ROW_BYTES} bytes of rows in open portals", "close")

    def copy(self) -> "SessionState":
        """A copy on which commands are tried; it does not check whether the caller may still read rows."""
        return replace(
            self,
            transaction=self.transaction.copy(),
            statements=dict(self.statements),
            reading=[],
            portals={
                name: replace(portal, answer=portal.answer and replace(portal.answer, still=None))
                for name, portal in self.portals.items()
            },
        )

    def commit(self) -> None:
        """End the transaction; portals end with it."""
        self.transaction.commit()
        self._keep(lambda portal: portal.outlives)
        for portal in self.portals.values():
            portal.committed = True

    def rollback(self) -> None:
        """Undo the transaction's settings; portals end with it."""
        self.transaction.rollback()
        self._keep(lambda portal: portal.committed)

    def fail(self) -> None:
        """A statement was refused: its transaction fails, or is rolled back; portals since the last savepoint end.

        So do those that it was reading: the client may have only a part of the rows that they have passed.
        """
        self.transaction.fail()
        failed, self.reading = {id(portal) for portal in self.reading}, []
        self._keep(lambda portal: id(portal) not in failed)
        self._end_since_savepoint()

    def save(self, name: str) -> None:
        """SAVEPOINT. Errors: ``TooComplex``."""
        self.transaction.save(name, max((portal.number for portal in self.portals.values()), default=-1))

    def rollback_to(self, name: str) -> None:
        """ROLLBACK TO: undo what SET did since, close the portals opened since. Errors: ``UnknownSavepoint``."""
        self.transaction.rollback_to(name)
        self._end_since_savepoint()

    def _end_since_savepoint(self) -> None:
        newest = self.transaction.newest_kept
        self._keep(lambda portal: portal.committed or portal.number <= newest)

    def _keep(self, stays: Callable[[Portal], bool]) -> None:
        self.portals = {name: portal for name, portal in self.portals.items() if stays(portal)}


def _refuse_more(limit: str, verb: str) -> NoReturn:
    raise TooComplex(f"more than {limit} in one session", hint=f"{verb} those no longer needed")
