"""Prepared statements by PREPARE and EXECUTE are those of the protocol."""

import pytest

from dpproxy.wire import messages as m
from dpproxy.wire.rows import encode_rows, row_description
from tests.fake_engine import KNOWN, FakeEngine, Playbook, drive, logged_in

IDLE = m.ReadyForQuery(b"I")
TWO = KNOWN["SELECT $1"].columns or ()


def executed(session: object, sql: str, row: tuple[object, ...]) -> None:
    assert (
        Playbook(session)
        >> m.Query(sql)
        << row_description(TWO, ())
        << m.DataRows(encode_rows(TWO, (), (row,)))
        << m.CommandComplete("SELECT 1")
        << IDLE
    )


def test_values_take_the_types_of_the_parameters():
    session = logged_in()
    assert Playbook(session) >> m.Query("PREPARE a AS SELECT $1") << m.CommandComplete("PREPARE") << IDLE
    executed(session, "EXECUTE a(7, 'x')", (7, "x"))
    executed(session, "EXECUTE a(-7, '9'::text)", (-7, "9"))
    executed(session, "EXECUTE a('12', NULL)", (12, None))
    executed(session, "EXECUTE a(1, 'y'); ", (1, "y"))


def test_it_is_known_to_the_protocol_too():
    session = logged_in()
    drive(session, m.Query("PREPARE a (integer, character varying) AS SELECT $1"))
    assert (
        Playbook(session)
        >> m.Describe(b"S", "a")
        << m.ParameterDescription((23, 1043))
        << row_description(TWO, ())
    )
    assert Playbook(session) >> m.Sync() << IDLE
    assert Playbook(session) >> m.Query("DEALLOCATE PREPARE a") << m.CommandComplete("DEALLOCATE") << IDLE
    assert Playbook(session) >> m.Query("EXECUTE a(1, 'x')") << m.ErrorResponse("26000", "") << IDLE


def test_in_one_message():
    session = logged_in()
    said = drive(session, m.Query("PREPARE a AS SELECT many; EXECUTE a; DEALLOCATE ALL"))
    tags = [message.text for message in said if isinstance(message, m.CommandComplete)]
    assert tags == ["PREPARE", "SELECT 10", "DEALLOCATE ALL"]


def test_hints_of_both_count():
    engine = FakeEngine()
    session = logged_in(engine)
    drive(session, m.Query("/*+ dp(epsilon=0.2) */ PREPARE a AS SELECT epsilon"))
    columns = KNOWN["SELECT epsilon"].columns or ()
    for sql, expected in [("EXECUTE a", "0.2"), ("/*+ dp(epsilon=0.3) */ EXECUTE a", "0.3")]:
        assert m.DataRows(encode_rows(columns, (), ((expected,),))) in drive(session, m.Query(sql))


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("PREPARE a AS SELECT 1", "42P05"),
        ("PREPARE b (nonsense) AS SELECT 1", "42704"),
        ("PREPARE b AS SHOW timezone", "42601"),
        ("PREPARE b AS", "42601"),
        ("EXECUTE nobody", "26000"),
        ("EXECUTE a(1)", "42601"),
        ("EXECUTE c('x', 'y')", "22P02"),
        ("EXECUTE c(99999999999, 'y')", "22003"),
        ("EXECUTE c(1 + 1, 'y')", "42601"),
    ],
)
def test_what_is_refused(sql: str, sqlstate: str):
    session = logged_in()
    drive(session, m.Query("PREPARE a AS SELECT 1; PREPARE c AS SELECT $1"))
    assert Playbook(session) >> m.Query(sql) << m.ErrorResponse(sqlstate, "") << IDLE
