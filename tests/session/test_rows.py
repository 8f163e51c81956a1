"""Rows of a stream through every statement that gives rows: no more are made than are asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from msgspec import Struct
from msgspec.structs import replace as replaced

from dpproxy.algebra.plan import Answer
from dpproxy.algebra.request import Request
from dpproxy.session.rows import LimitedStream
from dpproxy.session.session import Session
from dpproxy.session.state import MOST_STREAMS
from dpproxy.values.errors import NotGranted, NumberOutOfRange
from dpproxy.values.pgtypes import INT8, Column
from dpproxy.wire import messages as m
from tests.fake_engine import FakeEngine, drive, logged_in

COLUMNS = (Column("i", INT8),)


class Counting(Struct):
    """The numbers to ``most``; ``breaks`` raises once it was taken as far."""

    most: int
    breaks: int = -1
    given: int = 0
    is_open: bool = True
    closed: bool = False

    def take(self, most: int) -> Sequence[tuple[object, ...]]:
        if self.given >= self.breaks >= 0:
            self.is_open = False
            raise NumberOutOfRange("a number is out of range")
        first, self.given = self.given, min(self.most, self.given + min(most, 3))
        self.is_open = self.given > first
        return [(n,) for n in range(first, self.given)]

    def whole(self) -> Sequence[tuple[object, ...]]:
        found = []
        while rows := self.take(self.most):
            found += rows
        return found

    def close(self) -> None:
        self.is_open, self.closed = False, True


@dataclass
class Streaming(FakeEngine):
    """``SELECT many`` is a stream."""

    most: int = 10
    breaks: int = -1
    opened: list[Counting] = field(default_factory=list)
    still: Callable[[], object] | None = None

    def run(self, request: Request, *, only_at_hand: bool = False) -> Answer | None:
        if only_at_hand or request.prepared.sql != "SELECT many":
            return super().run(request, only_at_hand=only_at_hand)
        self.opened.append(Counting(self.most, self.breaks))
        return Answer("SELECT", request.prepared.columns, stream=self.opened[-1], still=self.still)


@pytest.fixture
def engine() -> Streaming:
    return Streaming()


@pytest.fixture
def session(engine: Streaming) -> Session:
    return logged_in(engine)


def say(session: Session, sql: str) -> list[m.Backend]:
    return drive(session, m.Query(sql))


def rows(said: Sequence[m.Backend]) -> list[int]:
    """The numbers in the rows that were sent, as text."""
    data = b"".join(message.framed for message in said if isinstance(message, m.DataRows))
    found = []
    while data:
        size = int.from_bytes(data[1:5], "big") + 1
        found.append(int(data[11:size]))
        data = data[size:]
    return found


def tags(said: Sequence[m.Backend]) -> list[str]:
    return [message.text for message in said if isinstance(message, m.CommandComplete)]


def errors(said: Sequence[m.Backend]) -> list[str]:
    return [message.sqlstate for message in said if isinstance(message, m.ErrorResponse)]


def test_a_query_sends_all_of_it(session: Session):
    said = say(session, "SELECT many; SELECT 1")
    assert rows(said) == [*range(10), 1]
    assert tags(said) == ["SELECT 10", "SELECT 1"]
    assert not session.is_reading


def test_a_portal_goes_on_where_it_stopped(session: Session, engine: Streaming):
    for message in (m.Parse("", "SELECT many", ()), m.Bind("p", "", (), (), ())):
        drive(session, message)
    said = drive(session, m.Execute("p", 4))
    assert rows(said) == [0, 1, 2, 3]
    assert isinstance(said[-1], m.PortalSuspended)
    assert engine.opened[0].given == 4
    assert session.is_reading
    assert rows(drive(session, m.Execute("p", 6))) == [*range(4, 10)]
    said = drive(session, m.Execute("p", 6))
    assert (rows(said), tags(said)) == ([], ["SELECT 0"])
    assert not session.is_reading


def test_what_nobody_can_read_any_more_is_closed_at_once(session: Session, engine: Streaming):
    endings = [
        (m.Close(b"P", "p"),), (m.Sync(),), (m.Query("SELECT 1"),), (m.Query("SELEC"),), (m.Parse("", "SELEC", ()),),
    ]  # fmt: skip
    for ending in endings:
        for message in (m.Parse("", "SELECT many", ()), m.Bind("p", "", (), (), ()), m.Execute("p", 2)):
            drive(session, message)
        assert not engine.opened[-1].closed
        for message in ending:
            drive(session, message)
        assert engine.opened[-1].closed
        drive(session, m.Sync())
    for message in (m.Parse("", "SELECT many", ()), m.Bind("", "", (), (), ()), m.Execute("", 2)):
        drive(session, message)
    drive(session, m.Bind("", "", (), (), ()))  # which takes the place of the one before
    assert engine.opened[-1].closed
    drive(session, m.Execute("", 2))
    session.close()
    assert engine.opened[-1].closed


def test_cursors_of_a_transaction_stay_open_and_end_with_it(session: Session, engine: Streaming):
    say(session, "BEGIN; DECLARE c CURSOR FOR SELECT many; DECLARE h CURSOR WITH HOLD FOR SELECT many")
    cursor, held = engine.opened
    assert rows(say(session, "FETCH 2 FROM c")) == [0, 1]
    said = say(session, "MOVE 3 IN c; FETCH c; FETCH FORWARD 2 FROM c; SELECT 1")
    assert (rows(said), tags(said)) == ([5, 6, 7, 1], ["MOVE 3", "FETCH 1", "FETCH 2", "SELECT 1"])
    said = say(session, "FETCH ALL FROM c")
    assert (rows(said), tags(said)) == ([8, 9], ["FETCH 2"])
    assert tags(say(session, "FETCH 5 FROM c")) == ["FETCH 0"]
    assert rows(say(session, "FETCH 1 FROM h")) == [0]
    say(session, "COMMIT")
    assert not cursor.is_open
    assert not held.closed
    assert errors(say(session, "FETCH c")) == ["34000"]
    assert rows(say(session, "FETCH ALL FROM h")) == [*range(1, 10)]
    say(session, "BEGIN; DECLARE c CURSOR FOR SELECT many; SELEC")
    say(session, "ROLLBACK; BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT many")
    say(session, "ROLLBACK")
    assert engine.opened[-1].closed
    say(session, "BEGIN; DECLARE c CURSOR FOR SELECT many")
    say(session, "CLOSE c")
    assert engine.opened[-1].closed


@pytest.mark.parametrize("where", ["PRIOR", "FIRST", "BACKWARD 2", "0", "ABSOLUTE 1", "RELATIVE -1", "-3"])
def test_a_cursor_goes_back_where_it_says_scroll(session: Session, engine: Streaming, where: str):
    say(session, "BEGIN; DECLARE c CURSOR FOR SELECT many")
    say(session, "FETCH 3 FROM c")
    assert errors(say(session, f"FETCH {where} FROM c")) == ["55000"]
    say(session, "ROLLBACK; BEGIN; DECLARE c SCROLL CURSOR FOR SELECT many")
    assert engine.opened[-1].given == 10
    assert rows(say(session, "FETCH 3 FROM c")) == [0, 1, 2]
    assert errors(say(session, f"FETCH {where} FROM c")) == []


def test_fetch_itself_is_given_in_parts(session: Session, engine: Streaming):
    say(session, "BEGIN; DECLARE c CURSOR FOR SELECT many")
    for message in (m.Parse("", "FETCH 5 FROM c", ()), m.Bind("p", "", (), (), ())):
        drive(session, message)
    assert rows(drive(session, m.Execute("p", 2))) == [0, 1]
    said = drive(session, m.Execute("p", 0))
    assert (rows(said), tags(said)) == ([2, 3, 4], ["FETCH 3"])
    assert not engine.opened[0].closed


@pytest.mark.parametrize("options", ["", "(FORMAT csv, HEADER)", "(FORMAT binary)"])
def test_copy_takes_from_the_stream(session: Session, engine: Streaming, options: str):
    def copied(most: int) -> tuple[bytes, list[str]]:
        engine.most = most
        said = say(session, f"COPY (SELECT many) TO STDOUT {options}")
        return b"".join(x.framed for x in said if isinstance(x, m.CopyRows)), tags(said)

    for most in (10, 3, 0):
        data, tag = copied(most)
        assert tag == [f"COPY {most}"]
        assert data.count(b"d") >= most
        assert data.count(b"PGCOPY") == ("binary" in options)
        assert data.endswith(b"\xff\xff") == ("binary" in options)


def test_an_error_midway_is_a_clean_one(session: Session, engine: Streaming):
    engine.breaks = 6
    said = say(session, "SELECT many")
    assert (rows(said), errors(said), tags(said)) == ([*range(6)], ["22003"], [])
    assert isinstance(said[-1], m.ReadyForQuery)
    said = say(session, "COPY (SELECT many) TO STDOUT")
    assert errors(said) == ["22003"]
    assert not any(isinstance(message, m.CopyOutDone) for message in said)
    for message in (m.Parse("", "SELECT many", ()), m.Bind("", "", (), (), ())):
        drive(session, message)
    assert errors(drive(session, m.Execute("", 0))) == ["22003"]
    assert drive(session, m.Execute("", 0)) == []  # to Sync
    drive(session, m.Sync())
    engine.breaks = -1
    assert rows(say(session, "SELECT many")) == [*range(10)]


def test_a_session_has_so_many_open(session: Session, engine: Streaming):
    declared = "; ".join(f"DECLARE c{n} CURSOR FOR SELECT many" for n in range(MOST_STREAMS))
    say(session, f"BEGIN; {declared}")
    assert errors(say(session, "SAVEPOINT s; DECLARE one CURSOR FOR SELECT many")) == ["54001"]
    assert engine.opened[-1].closed
    say(session, f"ROLLBACK; BEGIN; {declared}; FETCH ALL FROM c0; CLOSE c1")
    assert errors(say(session, "DECLARE one CURSOR FOR SELECT many; SELECT many")) == []


def test_a_stream_that_is_let_go_of_closes_no_session(session: Session, engine: Streaming):
    say(session, "BEGIN; DECLARE c CURSOR FOR SELECT many")
    session.let_go()
    assert engine.opened[0].closed
    assert not session.is_reading


def test_a_part_of_a_stream_is_no_more_than_that():
    source = Counting(10)
    part = LimitedStream(source, 4)
    assert [*part.take(99), *part.take(99)] == [(0,), (1,), (2,), (3,)]
    assert list(part.take(99)) == []
    assert not part.is_open
    part.close()
    assert source.is_open
    assert not source.closed
    assert replaced(source).given == 4


@pytest.mark.parametrize(
    ("sql", "given"),
    [
        ("SELECT many", 9),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT many; FETCH 9 FROM c", 6),
        ("COPY many TO STDOUT", 0),
    ],
)
def test_each_portion_is_given_only_while_it_may_be(
    session: Session, engine: Streaming, sql: str, given: int
):
    asked: list[None] = []

    def still() -> None:
        asked.append(None)
        if len(asked) > 3:  # portions are of three rows; FETCH asks before its first, too
            raise NotGranted("no more")

    engine.still = still
    said = say(session, sql.replace("COPY many", "COPY (SELECT many)"))
    assert rows(said) == list(range(given))
    assert errors(said) == ["42501"]


def test_an_answer_in_other_types_than_were_described():
    @dataclass
    class Changing(FakeEngine):
        def run(self, request: Request, *, only_at_hand: bool = False) -> Answer | None:
            answer = super().run(request, only_at_hand=only_at_hand)
            return answer and replaced(answer, columns=(Column("?column?", INT8),))

    session = logged_in(Changing())
    drive(session, m.Parse("", "SELECT 1", ()))
    drive(session, m.Bind("", "", (), (), (1,)))
    [refused] = drive(session, m.Execute("", 0))
    assert isinstance(refused, m.ErrorResponse)
    assert refused.sqlstate == "0A000"
