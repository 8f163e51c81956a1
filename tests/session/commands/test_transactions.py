import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.config.settings import DEFAULTS
from dpproxy.session.commands.table import recognise
from dpproxy.session.messages import split
from dpproxy.session.state import Command, PreparedStatement, SessionState
from dpproxy.session.transaction import Status, Transaction
from dpproxy.values.errors import (
    NoTransaction,
)


def run(state: SessionState, sql: str) -> Answer:
    command = recognise(split(sql)[0])
    assert isinstance(command, Command), sql
    return command.run(state)


def fresh() -> SessionState:
    return SessionState(Transaction(DEFAULTS))


@pytest.mark.parametrize(
    ("sql", "tag"),
    [
        ("BEGIN", "BEGIN"),
        ("begin work", "BEGIN"),
        ("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY, NOT DEFERRABLE", "BEGIN"),
        ("START TRANSACTION READ WRITE", "START TRANSACTION"),
    ],
)
def test_blocks_open_and_close(sql: str, tag: str):
    state = fresh()
    assert run(state, sql) == Answer(tag)
    assert state.transaction.status is Status.BLOCK
    again = run(state, sql)
    assert (again.notices[0].severity, again.notices[0].sqlstate) == ("WARNING", "25001")
    assert run(state, "END TRANSACTION AND NO CHAIN") == Answer("COMMIT")
    assert state.transaction.status is Status.IDLE


@pytest.mark.parametrize(
    ("sql", "tag"), [("COMMIT", "COMMIT"), ("ROLLBACK WORK", "ROLLBACK"), ("ABORT", "ROLLBACK")]
)
def test_the_end_of_no_block_is_a_warning(sql: str, tag: str):
    answer = run(fresh(), sql)
    assert answer.tag == tag
    assert (answer.notices[0].severity, answer.notices[0].sqlstate) == ("WARNING", "25P01")


def test_commit_of_a_failed_block_is_a_rollback():
    state = fresh()
    run(state, "BEGIN")
    state.transaction.fail()
    assert run(state, "COMMIT") == Answer("ROLLBACK")


def test_modes_are_settings_of_the_transaction():
    state = fresh()
    run(state, "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY")
    assert state.transaction.settings["transaction_isolation"] == "serializable"
    assert state.transaction.settings["transaction_read_only"] == "on"
    run(state, "COMMIT")
    assert state.transaction.settings["transaction_read_only"] == "off"


def test_savepoints():
    state = fresh()
    with pytest.raises(NoTransaction):
        run(state, "SAVEPOINT a")
    run(state, "BEGIN")
    assert run(state, 'SAVEPOINT "A b"') == Answer("SAVEPOINT")
    state.transaction.fail()
    assert run(state, 'ROLLBACK TO SAVEPOINT "A b"') == Answer("ROLLBACK")
    assert run(state, 'RELEASE "A b"') == Answer("RELEASE")
    assert state.transaction.status is Status.BLOCK


def test_only_rollback_and_commit_leave_a_failed_block():
    leaving = {}
    for sql in ("COMMIT", "ROLLBACK", "ABORT", "END", "ROLLBACK TO a", "BEGIN", "SET x = 1", "SAVEPOINT a"):
        source = split(sql)[0]
        leaving[sql] = PreparedStatement(source, recognise(source)).runs_in_failed
    assert [sql for sql, leaves in leaving.items() if leaves] == [
        "COMMIT",
        "ROLLBACK",
        "ABORT",
        "END",
        "ROLLBACK TO a",
    ]


@pytest.mark.parametrize(
    ("sql", "tag"), [("COMMIT AND CHAIN", "COMMIT"), ("ABORT WORK AND CHAIN", "ROLLBACK")]
)
def test_a_block_may_follow_another(sql: str, tag: str):
    state = fresh()
    with pytest.raises(NoTransaction):
        run(state, sql)
    run(state, "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY")
    run(state, "SET dp.epsilon = 0.03")
    assert run(state, sql) == Answer(tag)
    assert state.transaction.status is Status.BLOCK
    assert state.transaction.settings["transaction_isolation"] == "serializable"
    assert state.transaction.settings["transaction_read_only"] == "on"
    assert (state.transaction.settings["dp.epsilon"] == "0.03") is (tag == "COMMIT")
    state.transaction.fail()
    assert run(state, "COMMIT AND CHAIN") == Answer("ROLLBACK")
    assert state.transaction.status is Status.BLOCK
    run(state, "COMMIT AND NO CHAIN")
    assert state.transaction.status is Status.IDLE
    assert state.transaction.settings["transaction_isolation"] == "read committed"
