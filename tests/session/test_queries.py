import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Answer
from dpproxy.algebra.request import Request
from dpproxy.session import state as session_state
from dpproxy.session.queries import SHORT
from dpproxy.values.pgtypes import TEXT, Column
from dpproxy.wire import messages as m
from dpproxy.wire.rows import encode_rows, row_description
from tests.fake_engine import KNOWN, FakeEngine, Playbook, drive, logged_in

IDLE, BLOCK, FAILED = (m.ReadyForQuery(status) for status in (b"I", b"T", b"E"))
ABORTED = m.ErrorResponse("25P02", "")
MANY = KNOWN["SELECT many"]


def shape(sql: str, formats: tuple[int, ...] = ()) -> m.RowDescription:
    return row_description(KNOWN[sql].columns or (), formats)


def rows(sql: str, start: int = 0, end: int | None = None, formats: tuple[int, ...] = ()) -> m.DataRows:
    return m.DataRows(encode_rows(KNOWN[sql].columns or (), formats, KNOWN[sql].rows[start:end]))


def test_a_simple_query():
    assert (
        Playbook(logged_in())
        >> m.Query("SELECT region;")
        << shape("SELECT region")
        << rows("SELECT region")
        << m.NoticeResponse("00000", "cost 0.1")
        << m.CommandComplete("SELECT 2")
        << IDLE
    )


@pytest.mark.parametrize("sql", ["", " ; -- nothing", "/* */"])
def test_an_empty_query(sql: str):
    assert Playbook(logged_in()) >> m.Query(sql) << m.EmptyQueryResponse() << IDLE


def test_several_statements_in_order():
    assert (
        Playbook(logged_in())
        >> m.Query("ALTER TABLE t SET PRIVACY PUBLIC; SELECT 1; SHOW PRIVACY BUDGETS")
        << m.CommandComplete("ALTER TABLE")
        << shape("SELECT 1")
        << rows("SELECT 1")
        << m.CommandComplete("SELECT 1")
        << shape("SHOW PRIVACY BUDGETS")
        << rows("SHOW PRIVACY BUDGETS")
        << m.CommandComplete("SELECT 1")
        << IDLE
    )


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("SELECT 1; SELECT region; SELECT heavy", "0A000"),
        ("EXPLAIN (PRIVACY) SELECT 1; SELECT dear", "0A000"),
        ("SELECT region; SELECT nothing", "42703"),
        ("SELECT 1; 'x", "42601"),
    ],
)
def test_a_message_that_cannot_be_answered_runs_nothing(sql: str, sqlstate: str):
    engine = FakeEngine()
    error, ready = drive(logged_in(engine), m.Query(sql))
    assert isinstance(error, m.ErrorResponse)
    assert (error.sqlstate, ready) == (sqlstate, IDLE)
    assert not [line for line in engine.log if line.startswith("run")]


def test_who_asks_for_the_price_of_two_statements_is_told_how_and_others_may_ask_for_one():
    error, _ = drive(logged_in(), m.Query("EXPLAIN (PRIVACY) SELECT 1; SELECT dear"))
    assert isinstance(error, m.ErrorResponse)
    assert "in parentheses behind EXPLAIN (PRIVACY)" in str(error.hint)
    sent = drive(logged_in(), m.Query("EXPLAIN (PRIVACY) SELECT 1; SELECT 1"))
    assert not [each for each in sent if isinstance(each, m.ErrorResponse)]


def test_a_second_protected_statement_is_refused_at_its_place():
    error, _ = drive(logged_in(), m.Query("SELECT region; SELECT dear"))
    assert isinstance(error, m.ErrorResponse)
    assert error.position == 16


def test_set_holds_for_the_statements_after_it_and_a_hint_for_one():
    said = drive(
        logged_in(), m.Query("SET dp.epsilon = 0.3; SELECT epsilon; /*+ dp(epsilon=0.2) */ SELECT epsilon")
    )
    assert [x.framed[-3:] for x in said if isinstance(x, m.DataRows)] == [b"0.3", b"0.2"]
    assert said[-1] == IDLE


def test_a_refusal_undoes_what_the_message_set():
    session = logged_in()
    drive(session, m.Query("SET dp.epsilon = 0.3; SELECT dear"))
    said = drive(session, m.Query("SHOW dp.epsilon"))
    assert said[1] == m.DataRows(b"D\0\0\0\x0a\0\x01\0\0\0\0")


def test_a_failed_block_takes_only_its_end():
    assert (
        Playbook(logged_in())
        >> m.Query("BEGIN")
        << m.CommandComplete("BEGIN")
        << BLOCK
        >> m.Query("SELECT dear")
        << m.ErrorResponse("PD001", "budget research is spent", hint="ask for less")
        << FAILED
        >> m.Query("SELECT 1")
        << ABORTED
        << FAILED
        >> m.Query("SHOW dp.epsilon")
        << ABORTED
        << FAILED
        >> m.Parse("", "SELECT 1")
        << ABORTED
        >> m.Sync()
        << FAILED
        >> m.Query("COMMIT; SELECT 1")
        << m.CommandComplete("ROLLBACK")
        << shape("SELECT 1")
        << rows("SELECT 1")
        << m.CommandComplete("SELECT 1")
        << IDLE
    )


def test_warnings_are_notices():
    assert (
        Playbook(logged_in())
        >> m.Query("ROLLBACK")
        << m.NoticeResponse("25P01", "", severity="WARNING")
        << m.CommandComplete("ROLLBACK")
        << IDLE
    )


@pytest.mark.parametrize(
    ("least", "sent"),
    [
        ("log", ["NOTICE", "WARNING"]),
        ("notice", ["NOTICE", "WARNING"]),
        ("warning", ["WARNING"]),
        ("error", []),
    ],
)
def test_client_min_messages_stops_what_is_less_severe(least: str, sent: list[str]):
    session = logged_in()
    drive(session, m.Query(f"SET client_min_messages = {least}"))
    said = [*drive(session, m.Query("SELECT region")), *drive(session, m.Query("ROLLBACK"))]
    assert [one.severity for one in said if isinstance(one, m.NoticeResponse)] == sent


def test_the_engine_shows_what_it_knows():
    said = drive(logged_in(), m.Query("SHOW dp.budget_remaining"))
    assert said[1] == m.DataRows(b"D\0\0\0\x0d\0\x01\0\0\0\x030.5")


def test_the_extended_protocol_with_typed_parameters():
    engine = FakeEngine()
    binary = (1, 0)
    assert (
        Playbook(logged_in(engine))
        >> m.Parse("s", "SELECT $1", (23,))
        << m.ParseComplete()
        >> m.Describe(b"S", "s")
        << m.ParameterDescription((23, 25))
        << shape("SELECT $1")
        >> m.Bind("", "s", binary, (b"\0\0\0\x2a", "é".encode()), (1,))
        << m.BindComplete()
        >> m.Describe(b"P", "")
        << shape("SELECT $1", (1,))
        >> m.Execute("")
        << m.DataRows(encode_rows(KNOWN["SELECT $1"].columns or (), (1,), ((42, "é"),)))
        << m.CommandComplete("SELECT 1")
        >> m.Flush()
        >> m.Sync()
        << IDLE
    )


def test_a_portal_is_computed_once_and_handed_out_in_parts():
    engine = FakeEngine()
    assert (
        Playbook(logged_in(engine))
        >> m.Parse("", "SELECT many")
        << m.ParseComplete()
        >> m.Bind("p", "", (), (), ())
        << m.BindComplete()
        >> m.Execute("p", 6)
        << rows("SELECT many", 0, 6)
        << m.PortalSuspended()
        >> m.Execute("p", 4)
        << rows("SELECT many", 6, 10)
        << m.PortalSuspended()
        >> m.Execute("p", 4)
        << m.CommandComplete("SELECT 0")
        >> m.Execute("p")
        << m.CommandComplete("SELECT 0")
        >> m.Sync()
        << IDLE
        >> m.Execute("p")
        << m.ErrorResponse("34000", "")
        >> m.Sync()
        << IDLE
    )
    assert engine.log.count("run SELECT many") == 1


def test_portals_outlive_sync_in_a_block_only():
    playbook = Playbook(logged_in()) >> m.Query("BEGIN") << m.CommandComplete("BEGIN") << BLOCK
    playbook = playbook >> m.Parse("", "SELECT many") << m.ParseComplete() >> m.Bind("p", "", (), (), ())
    playbook = playbook << m.BindComplete() >> m.Sync() << BLOCK >> m.Execute("p", 10) << rows("SELECT many")
    playbook = playbook << m.PortalSuspended() >> m.Bind("p", "", (), (), ()) << m.ErrorResponse("42P03", "")
    assert playbook >> m.Sync() << FAILED


def test_names_are_taken_missed_and_freed():
    assert (
        Playbook(logged_in())
        >> m.Parse("s", "SELECT 1")
        << m.ParseComplete()
        >> m.Parse("s", "SELECT 1")
        << m.ErrorResponse("42P05", "")
        >> m.Sync()
        << IDLE
        >> m.Close(b"S", "s")
        << m.CloseComplete()
        >> m.Close(b"P", "nothing")
        << m.CloseComplete()
        >> m.Bind("", "s", (), (), ())
        << m.ErrorResponse("26000", "")
        >> m.Sync()
        << IDLE
        >> m.Describe(b"P", "p")
        << m.ErrorResponse("34000", "")
        >> m.Sync()
        << IDLE
    )


def test_a_simple_query_ends_the_unnamed_statement():
    assert (
        Playbook(logged_in())
        >> m.Parse("", "SELECT 1")
        << m.ParseComplete()
        >> m.Query("")
        << m.EmptyQueryResponse()
        << IDLE
        >> m.Describe(b"S", "")
        << m.ErrorResponse("26000", "")
    )


@pytest.mark.parametrize(
    ("bind", "sqlstate"),
    [
        (m.Bind("", "", (), (b"1",), ()), "08P01"),
        (m.Bind("", "", (0, 0, 0), (b"1", b"x"), ()), "08P01"),
        (m.Bind("", "", (), (b"one", b"x"), ()), "22P02"),
        (m.Bind("", "", (1,), (b"1", b"x"), ()), "22P02"),
        (m.Bind("", "", (), (b"99999999999", b"x"), ()), "22003"),
        (m.Bind("", "", (), (b"1", b"x"), (0, 0, 0)), "08P01"),
    ],
)
def test_what_bind_refuses(bind: m.Bind, sqlstate: str):
    session = logged_in()
    drive(session, m.Parse("", "SELECT $1"))
    (error,) = drive(session, bind)
    assert isinstance(error, m.ErrorResponse)
    assert (error.severity, error.sqlstate) == ("ERROR", sqlstate)
    assert drive(session, m.Sync()) == [IDLE]


def test_session_statements_are_prepared_too():
    assert (
        Playbook(logged_in())
        >> m.Parse("", "SET application_name = 'x'")
        << m.ParseComplete()
        >> m.Bind("", "", (), (), (1,))
        << m.BindComplete()
        >> m.Describe(b"P", "")
        << m.NoData()
        >> m.Execute("")
        << m.CommandComplete("SET")
        >> m.Execute("")
        << m.ErrorResponse("55000", "")
        >> m.Sync()
        << IDLE
        >> m.Parse("", "SHOW timezone")
        << m.ParseComplete()
        >> m.Describe(b"S", "")
        << m.ParameterDescription(())
        << row_description((Column("TimeZone", KNOWN["SELECT epsilon"].columns[0].type),), ())
        >> m.Parse("", " ; ")
        << m.ParseComplete()
        >> m.Bind("", "", (), (), ())
        << m.BindComplete()
        >> m.Execute("")
        << m.EmptyQueryResponse()
        >> m.Parse("", "SELECT 1; SELECT 1")
        << m.ErrorResponse("42601", "", position=11)
    )


def told(said: list[m.Backend]) -> str:
    """ "" where all went well, and else what was refused."""
    errors = [x for x in said if isinstance(x, m.ErrorResponse)]
    assert all(x.sqlstate == "54001" for x in errors)
    return errors[0].message if errors else ""


def test_the_number_of_prepared_statements_is_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session_state, "MOST_STATEMENTS", 2)
    session = logged_in()
    assert [told(drive(session, m.Parse(name, "SELECT 1"))) for name in ("a", "", "")] == [""] * 3
    assert told(drive(session, m.Parse("c", "SELECT 1"))) == "more than 2 prepared statements in one session"
    drive(session, m.Sync())
    drive(session, m.Query("DEALLOCATE a"))
    assert told(drive(session, m.Parse("c", "SELECT 1"))) == ""


def test_the_text_of_prepared_statements_is_limited():
    session = logged_in()
    half = f"SET search_path = '{chr(0x10FFFD) * 62_500}'"
    for name in ("a", "", ""):
        assert told(drive(session, m.Parse(name, half))) == ""
    drive(session, m.Bind("p", "", (), (), ()))
    limit = "more than 512000 bytes of SQL in prepared statements in one session"
    # The portal still holds the unnamed statement that this one takes the place of.
    assert told(drive(session, m.Parse("", "SELECT 1" + " " * 20))) == ""
    assert told(drive(session, m.Parse("b", half))) == limit
    drive(session, m.Sync())
    assert told(drive(session, m.Parse("b", half))) == ""
    assert told(drive(session, m.Parse("c", half))) == limit


def test_open_portals_are_limited():
    session = logged_in()
    drive(session, m.Parse("", "SELECT 1"))
    names = ["", "", *(f"p{n}" for n in range(99))]
    assert {told(drive(session, m.Bind(name, "", (), (), ()))) for name in names} == {""}
    limit = "more than 100 open portals in one session"
    assert told(drive(session, m.Bind("more", "", (), (), ()))) == limit
    drive(session, m.Sync())  # ends the transaction, and the portals with it
    drive(session, m.Parse("", "SELECT 1"))
    for name in names:
        drive(session, m.Bind(name, "", (), (), ()))
    drive(session, m.Close(b"P", "p1"))
    assert told(drive(session, m.Bind("more", "", (), (), ()))) == ""


def test_the_values_of_open_portals_are_limited():
    session = logged_in()
    drive(session, m.Parse("", "SELECT $1"))
    values = (b"1", b"x" * 1_000_000)
    for name in ("a", "b", "", ""):
        assert told(drive(session, m.Bind(name, "", (), values, ()))) == ""
    limit = "more than 4000000 bytes of parameters in open portals in one session"
    assert told(drive(session, m.Bind("c", "", (), values, ()))) == limit


def test_a_big_answer_comes_in_several_parts():
    said = drive(logged_in(), m.Query("SELECT big"))
    parts = [x for x in said if isinstance(x, m.DataRows)]
    assert len(parts) == 15
    assert b"".join(part.framed for part in parts) == rows("SELECT big").framed


def test_what_is_large_is_made_beside_others():
    """Nobody else is served while a session works on the event loop: a text of parameters, rows by the thousand."""
    session = logged_in()
    drive(session, m.Parse("", "SELECT $1", ()))
    for size in (1, SHORT // 2, 10**6):
        given: list[object] = []
        said = drive(session, m.Bind("", "", (), (b"7", b"x" * (size - 1)), ()), given)
        assert said == [m.BindComplete()]
        assert len(given) == (size > SHORT)
    for sql, count in (("SELECT many", 10), ("SELECT big", 30_000)):
        given = []
        said = drive(session, m.Query(sql), given)
        assert said.count(m.CommandComplete(f"SELECT {count}")) == 1
        portions = [x for x in said if isinstance(x, m.DataRows)]
        assert len(given) - 2 == (len(portions) if len(portions) > 1 else 0)  # it is planned, and run


def test_what_stands_before_a_refusal_is_done():
    """A block that was opened is not lost: what follows it would run outside of it."""
    assert (
        Playbook(logged_in())
        >> m.Query("BEGIN; SELECT nothing; SELECT 1")
        << m.CommandComplete("BEGIN")
        << m.ErrorResponse("42703", "no such column", position=15)
        << m.ReadyForQuery(b"E")
    )


def test_nothing_is_charged_before_a_refusal():
    engine = FakeEngine()
    assert (
        Playbook(logged_in(engine))
        >> m.Query("BEGIN; SELECT heavy; SELECT nothing")
        << m.CommandComplete("BEGIN")
        << m.ErrorResponse("42703", "no such column")
        << m.ReadyForQuery(b"E")
    )
    assert "run SELECT heavy" not in engine.log


class Changed(FakeEngine):
    """Answers in other types than it told."""

    def run(self, request: Request, *, only_at_hand: bool = False) -> Answer | None:
        answer = super().run(request, only_at_hand=only_at_hand)
        return answer and replace(
            answer, columns=tuple(replace(c, type=TEXT) for c in answer.columns or ()), rows=(("1",),)
        )


def test_an_answer_is_never_of_other_types_than_were_told():
    """The client would read the bytes as something else; in a simple query it is told with the answer."""
    session = logged_in(Changed())
    drive(session, m.Parse("", "SELECT 1"))
    drive(session, m.Bind("", "", (), (), (1,)))
    assert Playbook(session) >> m.Describe(b"P", "") << shape("SELECT 1", (1,))
    assert Playbook(session) >> m.Execute("") << m.ErrorResponse("0A000", "")
    drive(session, m.Sync())
    described, sent, *_ = drive(session, m.Query("SELECT 1"))
    assert isinstance(described, m.RowDescription)
    assert described.fields[0].oid == TEXT.oid
    assert isinstance(sent, m.DataRows)


def test_nothing_that_others_see_is_changed_before_a_refusal():
    engine = FakeEngine()
    error, _ = drive(logged_in(engine), m.Query("ALTER TABLE t SET PRIVACY PUBLIC; SELECT nothing"))
    assert isinstance(error, m.ErrorResponse)
    assert error.sqlstate == "42703"
    assert "run ALTER TABLE t SET PRIVACY PUBLIC" not in engine.log
