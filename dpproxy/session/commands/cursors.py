"""DECLARE, FETCH, MOVE and CLOSE: a cursor is a portal whose query runs, and is charged, when it is declared."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra.plan import Answer, Stream
from dpproxy.session.messages import Words
from dpproxy.session.rows import LimitedStream
from dpproxy.session.state import (
    Command,
    DeferredStatement,
    OuterStatement,
    Portal,
    PreparedStatement,
    SessionState,
    WrapperStatement,
)
from dpproxy.session.transaction import Status
from dpproxy.sql.lexer import TokenKind
from dpproxy.values.errors import (
    DuplicatePortal,
    InvalidParameter,
    NoTransaction,
    PortalState,
    UnknownPortal,
    Unsupported,
)

_MOST: Final = 2**31 - 1
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,10}").fullmatch


class _Declared(Struct):
    """The options of DECLARE."""

    name: str
    scrolls: bool | None = None
    """None where neither SCROLL nor NO SCROLL is written: it scrolls if all its rows are in memory."""
    outlives: bool = False


def read_declare(words: Words) -> OuterStatement:
    """DECLARE, after its first word."""
    declared = _Declared(words.label())
    start = words.position
    while (option := words.accept_one("binary", "insensitive", "asensitive", "no", "scroll")) is not None:
        if option == "binary":
            raise Unsupported(
                "DECLARE BINARY is not supported",
                hint="ask for binary results where you FETCH",
                position=start,
            )
        if option == "no":
            words.expect("scroll")
        if option in ("no", "scroll"):
            declared.scrolls = option == "scroll"
    words.expect("cursor")
    if (hold := words.accept_one("with", "without")) is not None:
        declared.outlives = hold == "with"
        words.expect("hold")
    words.expect("for")
    return OuterStatement(words.inner(*words.rest()), partial(_declare, declared))


def _declare(declared: _Declared, inner: PreparedStatement) -> WrapperStatement:
    def check(state: SessionState) -> None:
        status, several = state.transaction.status, state.transaction.several
        if status is Status.IDLE and not several and not declared.outlives:
            raise NoTransaction(
                "DECLARE CURSOR can only be used in transaction blocks",
                hint="start one with BEGIN, or write WITH HOLD",
            )
        if declared.name in state.portals:
            raise DuplicatePortal(f'cursor "{declared.name}" already exists', hint="CLOSE it first")
        state.check_room(declared.name, 0)

    def finish(state: SessionState, answer: Answer) -> Answer:
        scrolls = answer.stream is None if declared.scrolls is None else declared.scrolls
        state.portals[declared.name] = Portal(
            inner, (), (), answer, scrolls=scrolls, outlives=declared.outlives
        )
        return Answer("DECLARE CURSOR", notices=answer.notices)

    return WrapperStatement(inner, finish, check, scrolls=declared.scrolls is True)


def read_close(words: Words) -> Command:
    """CLOSE, after its first word."""
    if words.accept("all"):
        words.end()
        return Command(_close_all)
    name = words.label()
    words.end()
    return Command(partial(_close, name))


def _close(name: str, state: SessionState) -> Answer:
    del state.portals[_cursor(name, state)]
    return Answer("CLOSE CURSOR")


def _close_all(state: SessionState) -> Answer:
    state.portals.clear()
    return Answer("CLOSE CURSOR ALL")


def _cursor(name: str, state: SessionState) -> str:
    if name not in state.portals or state.portals[name].statement.columns is None:
        raise UnknownPortal(f'cursor "{name}" does not exist', hint="DECLARE it in this transaction")
    return name


# --- moving

Direction = Callable[[int, int], tuple[range, int]]
"""From a cursor's position and the number of rows to the rows that it returns and its new position.

Positions count from 1; 0 is before the first row, the number of rows plus 1 is after the last.
"""


def _here(at: int, size: int) -> tuple[range, int]:
    """The row that the cursor is on."""
    return range(at, at + (1 <= at <= size)), at


def _forward(count: int) -> Direction:
    def direction(at: int, size: int) -> tuple[range, int]:
        last = at + count
        return range(at + 1, min(size, last) + 1), min(size + 1, last)

    return direction if count else _here


def _backward(count: int) -> Direction:
    def direction(at: int, _: int) -> tuple[range, int]:
        last = max(0, at - count)
        return range(at - 1, max(1, last) - 1, -1), last

    return direction if count else _here


def _absolute(place: int) -> Direction:
    def direction(_: int, size: int) -> tuple[range, int]:
        at = place if place >= 0 else max(0, size + 1 + place)
        return _here(min(size + 1, at), size)

    return direction


def _relative(step: int) -> Direction:
    return lambda at, size: _absolute(max(0, at + step))(at, size)


_NAMED: Final[dict[str, Direction]] = {
    "next": _forward(1),
    "prior": _backward(1),
    "first": _absolute(1),
    "last": _absolute(-1),
}
_BACK: Final = frozenset({"prior", "first", "last"})


def read_fetch(words: Words, *, shows: bool = True) -> DeferredStatement:
    """FETCH or MOVE, after its first word."""
    direction, is_back = _read_direction(words)
    words.accept_one("from", "in")
    name = words.label()
    words.end()
    return DeferredStatement(partial(_bind, name, direction, is_back, shows))


def _read_direction(words: Words) -> tuple[Direction, bool]:
    """The direction, and whether it may go backwards."""
    if words.is_last:
        return _forward(1), False
    word = words.accept_one(*_NAMED, "absolute", "relative", "forward", "backward")
    match word:
        case "absolute":
            return _absolute(_read_number(words)), True
        case "relative":
            step = _read_number(words)
            return _relative(step), step != 0
        case "forward" | "backward" | None:
            count = _read_count(words)
            is_back = (word == "backward") is (count >= 0) and count != 0
            return (_backward if is_back else _forward)(abs(count)), is_back
        case _:
            return _NAMED[word], word in _BACK


def _read_count(words: Words) -> int:
    if words.accept("all"):
        return _MOST
    # FORWARD FROM c, FORWARD c, FROM c
    if words.is_last or words.at("from") or words.at("in"):
        return 1
    return _read_number(words)


def _read_number(words: Words) -> int:
    start = words.position
    if not (words.at("+") or words.at("-") or words.token.kind is TokenKind.NUMBER):
        words.refuse()
    text = words.value()
    if not _WHOLE(text) or abs(int(text)) > _MOST:
        raise InvalidParameter("a cursor moves by a whole number of rows", position=start)
    return int(text)


def _bind(
    name: str,
    direction: Direction,
    is_back: bool,  # noqa: FBT001
    shows: bool,  # noqa: FBT001
    state: SessionState,
) -> Command | WrapperStatement:
    found = state.portals[_cursor(name, state)]
    columns = found.statement.columns

    def run(state: SessionState) -> Answer:
        portal = state.portals[_cursor(name, state)]
        held = portal.answer or Answer("")
        held.check()
        if is_back and not portal.scrolls:
            _refuse_back()
        if held.stream is not None:
            ahead = _ahead(portal, held.stream, direction, shows=shows)
            state.reading.append(portal)
            return replace(ahead, still=held.still)
        state.reading.append(portal)
        places, portal.position = direction(portal.position, len(held.rows))
        if not shows:
            return Answer(f"MOVE {len(places)}")
        return Answer(
            f"FETCH {len(places)}", portal.statement.columns, _at(places, held.rows), still=held.still
        )

    def finish(state: SessionState, answer: Answer) -> Answer:
        portal = state.portals[_cursor(name, state)]
        portal.answer = portal.answer or answer
        return replace(run(state), notices=answer.notices)

    shown = columns if shows else None
    if found.answer is None:  # a portal of the extended protocol that has not run yet
        return WrapperStatement(found.statement, finish, values=found.values, columns=shown)
    return Command(run, shown, waits=True)


def _at(places: range, rows: Sequence[tuple[object, ...]]) -> Sequence[tuple[object, ...]]:
    """The rows at these positions, as one slice: a loop over millions would hold up other sessions."""
    if not places:
        return ()
    end = places.stop - 1
    return rows[places.start - 1 : end if end >= 0 else None : places.step]


def _ahead(portal: Portal, stream: Stream, direction: Direction, *, shows: bool) -> Answer:
    """The next rows of a cursor that only moves forward; their number is not known yet."""
    places, at = direction(portal.position, _MOST)
    is_here = at == portal.position  # FETCH 0: before the first row and after the last there is none
    if (places and is_here and stream.is_open) or places.step < 0:
        _refuse_back()
    portal.position = at
    columns = portal.statement.columns
    wanted = LimitedStream(stream, 0 if is_here else len(places))
    return Answer("FETCH", columns, stream=wanted) if shows else Answer("MOVE", stream=wanted)


def _refuse_back() -> NoReturn:
    raise PortalState("cursor can only scan forward", hint="declare it with SCROLL")
