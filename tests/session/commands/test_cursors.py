"""Cursors move as PostgreSQL's do, and their query runs once."""

from typing import NoReturn

import pyarrow as pa
import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Output
from dpproxy.engine.output import Portions
from dpproxy.session import state as session_state
from dpproxy.session.state import MOST_PORTALS
from dpproxy.values.errors import NumberOutOfRange
from dpproxy.wire import messages as m
from dpproxy.wire.rows import encode_rows, row_description
from tests.fake_engine import KNOWN, FakeEngine, Playbook, drive, logged_in

IDLE, BLOCK, FAILED = (m.ReadyForQuery(status) for status in (b"I", b"T", b"E"))
MANY = KNOWN["SELECT many"]
DECLARE = "DECLARE c CURSOR FOR SELECT many"


def fetched(session: object, sql: str) -> list[int]:
    """The numbers that a statement gives."""
    said = drive(session, m.Query(sql))
    (rows,) = [message.framed for message in said if isinstance(message, m.DataRows)] or [b""]
    assert m.CommandComplete(f"{sql.split(maxsplit=1)[0]} {rows.count(b'D')}") in said, said
    return [int(cell[-1:]) for cell in rows.split(b"D")[1:]]


def opened(declare: str = DECLARE) -> object:
    session = logged_in()
    assert Playbook(session) >> m.Query("BEGIN") << m.CommandComplete("BEGIN") << BLOCK
    assert Playbook(session) >> m.Query(declare) << m.CommandComplete("DECLARE CURSOR") << BLOCK
    return session


class Whole(Portions):
    """Rows by column, which nobody takes one by one: each would be a piece of work of its own."""

    def __getitem__(self, index: int | slice) -> Portions:
        assert isinstance(index, slice)
        return super().__getitem__(index)

    def __iter__(self) -> NoReturn:
        raise AssertionError("row by row")


@pytest.mark.parametrize("by_column", [False, True])
def test_every_direction(monkeypatch: pytest.MonkeyPatch, *, by_column: bool):
    if by_column:
        columns = MANY.columns or ()
        made = Whole([Output(column, None) for column in columns], pa.table({"c0": range(10)}))
        monkeypatch.setitem(KNOWN, "SELECT many", replace(MANY, rows=made))
    session = opened()
    for sql, expected in [
        ("FETCH c", [0]),
        ("FETCH NEXT FROM c", [1]),
        ("FETCH 3 IN c", [2, 3, 4]),
        ("FETCH 0 FROM c", [4]),
        ("FETCH PRIOR FROM c", [3]),
        ("FETCH BACKWARD 2 FROM c", [2, 1]),
        ("FETCH FORWARD 2 c", [2, 3]),
        ("FETCH -1 c", [2]),
        ("FETCH RELATIVE 2 FROM c", [4]),
        ("FETCH RELATIVE -4 FROM c", [0]),
        ("FETCH ABSOLUTE 5 FROM c", [4]),
        ("FETCH ABSOLUTE -1 FROM c", [9]),
        ("FETCH ABSOLUTE 11 FROM c", []),
        ("FETCH BACKWARD c", [9]),
        ("FETCH FIRST FROM c", [0]),
        ("FETCH ABSOLUTE 0 FROM c", []),
        ("FETCH FORWARD ALL FROM c", list(range(10))),
        ("FETCH c", []),
        ("FETCH BACKWARD ALL FROM c", list(range(9, -1, -1))),
        ("FETCH PRIOR FROM c", []),
        ("FETCH LAST FROM c", [9]),
        ("FETCH 1 c", []),
        ("FETCH ABSOLUTE 3 c", [2]),
        ("FETCH BACKWARD 0 c", [2]),
    ]:
        assert fetched(session, sql) == expected, sql


def test_the_query_runs_once_and_rows_keep_their_shape():
    engine = FakeEngine()
    session = logged_in(engine)
    both = row_description(MANY.columns or (), ())
    assert (
        Playbook(session)
        >> m.Query(f"BEGIN; {DECLARE}; FETCH 2 FROM c; MOVE 3 FROM c; FETCH c; CLOSE c; COMMIT")
        << m.CommandComplete("BEGIN")
        << m.CommandComplete("DECLARE CURSOR")
        << both
        << m.DataRows(encode_rows(MANY.columns or (), (), MANY.rows[:2]))
        << m.CommandComplete("FETCH 2")
        << m.CommandComplete("MOVE 3")
        << both
        << m.DataRows(encode_rows(MANY.columns or (), (), MANY.rows[5:6]))
        << m.CommandComplete("FETCH 1")
        << m.CommandComplete("CLOSE CURSOR")
        << m.CommandComplete("COMMIT")
        << IDLE
    )
    assert engine.log.count("run SELECT many") == 1


def test_what_a_message_plans_moves_no_cursor():
    session = opened()
    assert fetched(session, "FETCH 2 c") == [0, 1]
    assert Playbook(session) >> m.Query("FETCH 2 c; FETCH") << m.ErrorResponse("42601", "") << FAILED
    session = opened()
    assert fetched(session, "FETCH 2 c") == [0, 1]


def test_in_the_extended_protocol():
    session = opened()
    assert Playbook(session) >> m.Parse("", "FETCH 2 FROM c", ()) << m.ParseComplete()
    assert Playbook(session) >> m.Bind("", "", (), (), (1,)) << m.BindComplete()
    assert Playbook(session) >> m.Describe(b"P", "") << row_description(MANY.columns or (), (1,))
    assert (
        Playbook(session)
        >> m.Execute("", 0)
        << m.DataRows(encode_rows(MANY.columns or (), (1,), MANY.rows[:2]))
        << m.CommandComplete("FETCH 2")
    )
    # And as a portal of the protocol.
    assert Playbook(session) >> m.Describe(b"P", "c") << row_description(MANY.columns or (), ())
    assert Playbook(session) >> m.Close(b"P", "c") << m.CloseComplete()
    assert Playbook(session) >> m.Sync() << BLOCK


def test_a_declared_query_takes_parameters():
    session = opened("DECLARE other CURSOR FOR SELECT 1")
    assert Playbook(session) >> m.Parse("", "DECLARE c CURSOR FOR SELECT $1", ()) << m.ParseComplete()
    assert Playbook(session) >> m.Bind("", "", (), (b"7", b"x"), ()) << m.BindComplete()
    assert Playbook(session) >> m.Describe(b"S", "") << m.ParameterDescription((23, 25)) << m.NoData()
    assert Playbook(session) >> m.Execute("", 0) << m.CommandComplete("DECLARE CURSOR")
    assert Playbook(session) >> m.Sync() << BLOCK
    said = drive(session, m.Query("FETCH c"))
    assert m.DataRows(encode_rows(KNOWN["SELECT $1"].columns or (), (), ((7, "x"),))) in said


def test_cursors_end_with_their_transaction_unless_held():
    session = opened()
    assert Playbook(session) >> m.Query("COMMIT") << m.CommandComplete("COMMIT") << IDLE
    assert Playbook(session) >> m.Query("FETCH c") << m.ErrorResponse("34000", "") << IDLE
    held = "DECLARE h CURSOR WITH HOLD FOR SELECT many"
    assert Playbook(session) >> m.Query(held) << m.CommandComplete("DECLARE CURSOR") << IDLE
    assert fetched(session, "FETCH h") == [0]
    assert Playbook(session) >> m.Query("SELECT nothing") << m.ErrorResponse("42703", "") << IDLE
    assert fetched(session, "FETCH h") == [1]
    drive(session, m.Query("BEGIN"))
    drive(session, m.Query("DECLARE g CURSOR WITH HOLD FOR SELECT many"))
    drive(session, m.Query("ROLLBACK"))
    assert Playbook(session) >> m.Query("FETCH g") << m.ErrorResponse("34000", "") << IDLE
    assert fetched(session, "FETCH h") == [2]
    assert Playbook(session) >> m.Query("CLOSE ALL") << m.CommandComplete("CLOSE CURSOR ALL") << IDLE


def test_savepoints_keep_the_cursors_before_them():
    """As PostgreSQL: those opened since are closed, positions stay where FETCH left them."""
    session = opened()
    for sql in (
        "SAVEPOINT a",
        "DECLARE d CURSOR FOR SELECT many",
        "SAVEPOINT b",
        "FETCH 2 FROM c",
        "FETCH d",
    ):
        drive(session, m.Query(sql))
    assert Playbook(session) >> m.Query("SELECT nothing") << m.ErrorResponse("42703", "") << FAILED
    drive(session, m.Query("ROLLBACK TO b"))
    assert (fetched(session, "FETCH c"), fetched(session, "FETCH d")) == ([2], [1])
    drive(session, m.Query("CLOSE d"))
    drive(session, m.Query("DECLARE d CURSOR FOR SELECT many"))
    drive(session, m.Query("ROLLBACK TO b"))
    assert fetched(session, "FETCH c") == [3]
    assert Playbook(session) >> m.Query("FETCH d") << m.ErrorResponse("34000", "") << FAILED
    drive(session, m.Query("ROLLBACK TO a"))
    assert fetched(session, "FETCH c") == [4]
    drive(session, m.Query("RELEASE a"))
    assert Playbook(session) >> m.Query("SELECT nothing") << m.ErrorResponse("42703", "") << FAILED
    drive(session, m.Query("ROLLBACK"))
    assert Playbook(session) >> m.Query("FETCH c") << m.ErrorResponse("34000", "") << IDLE


class Torn(Portions):
    """Rows of which one cannot be converted."""

    def __getitem__(self, index: int | slice) -> Portions:
        assert isinstance(index, slice)
        return Torn(self._outputs, self._table[index])

    def arrays(self) -> list[object]:
        if 3 in self._table["c0"].to_pylist():
            raise NumberOutOfRange("a numeric over released values is not a finite number")
        return super().arrays()


def test_a_cursor_ends_where_reading_it_fails(monkeypatch: pytest.MonkeyPatch):
    """Else whoever returns to a savepoint and goes on would miss rows."""
    columns = MANY.columns or ()
    made = Torn([Output(column, None) for column in columns], pa.table({"c0": range(10)}))
    monkeypatch.setitem(KNOWN, "SELECT many", replace(MANY, rows=made))
    session = opened()
    for sql in ("DECLARE d CURSOR FOR SELECT many", "SAVEPOINT a"):
        drive(session, m.Query(sql))
    assert fetched(session, "FETCH 2 FROM c") == [0, 1]
    drive(session, m.Query("FETCH 5 FROM c"))
    drive(session, m.Query("ROLLBACK TO a"))
    assert Playbook(session) >> m.Query("FETCH c") << m.ErrorResponse("34000", "") << FAILED
    drive(session, m.Query("ROLLBACK TO a"))
    drive(session, m.Query("FETCH d; SELECT nothing"))
    drive(session, m.Query("ROLLBACK TO a"))
    assert fetched(session, "FETCH d") == [1]


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        (DECLARE, "42P03"),
        ("DECLARE d CURSOR FOR SHOW timezone", "42601"),
        ("DECLARE d CURSOR FOR ALTER TABLE t SET PRIVACY PUBLIC", "42601"),
        ("DECLARE d BINARY CURSOR FOR SELECT 1", "0A000"),
        ("DECLARE d CURSOR FOR", "42601"),
        ("DECLARE d CURSOR", "42601"),
        ("FETCH nobody", "34000"),
        ("FETCH 1.5 FROM c", "22023"),
        ("FETCH 99999999999 FROM c", "22023"),
        ("FETCH SIDEWAYS FROM c", "42601"),
        ("CLOSE nobody", "34000"),
        ("MOVE ABSOLUTE FROM c", "42601"),
    ],
)
def test_what_is_refused(sql: str, sqlstate: str):
    assert Playbook(opened()) >> m.Query(sql) << m.ErrorResponse(sqlstate, "") << FAILED


def test_a_cursor_wants_a_transaction():
    session = logged_in()
    assert Playbook(session) >> m.Query(DECLARE) << m.ErrorResponse("25P01", "") << IDLE


def test_a_cursor_without_scroll_goes_forward_only():
    session = opened("DECLARE c NO SCROLL CURSOR FOR SELECT many")
    assert fetched(session, "FETCH 2 c") == [0, 1]
    assert Playbook(session) >> m.Query("FETCH PRIOR FROM c") << m.ErrorResponse("55000", "") << FAILED


def test_cursors_are_counted():
    session = logged_in()
    drive(session, m.Query("BEGIN"))
    for number in range(MOST_PORTALS):
        drive(session, m.Query(f"DECLARE c{number} CURSOR FOR SELECT 1"))
    assert Playbook(session) >> m.Query(DECLARE) << m.ErrorResponse("54001", "") << FAILED


def test_rows_that_wait_in_cursors_are_limited(monkeypatch: pytest.MonkeyPatch):
    session = opened()
    monkeypatch.setattr(session_state, "MOST_ROW_BYTES", 1000)  # of ten values
    for sql, sqlstate in (
        ("DECLARE d CURSOR FOR SELECT 1", "54001"),
        ("ROLLBACK; BEGIN; DECLARE c CURSOR FOR SELECT 1; DECLARE d CURSOR FOR SELECT 1", ""),
    ):
        said = drive(session, m.Query(sql))
        assert [x.sqlstate for x in said if isinstance(x, m.ErrorResponse)] == [sqlstate] * bool(sqlstate)


def test_a_charged_query_is_one_of_its_message():
    session = logged_in()
    several = "BEGIN; DECLARE c CURSOR FOR SELECT region; SELECT heavy"
    assert Playbook(session) >> m.Query(several) << m.ErrorResponse("0A000", "") << IDLE
