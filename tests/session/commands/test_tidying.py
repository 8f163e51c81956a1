import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.config.settings import DEFAULTS
from dpproxy.session.commands.table import recognise
from dpproxy.session.messages import split
from dpproxy.session.state import Command, PreparedStatement, SessionState
from dpproxy.session.transaction import Transaction
from dpproxy.values.errors import (
    ActiveTransaction,
    NoTransaction,
    UnknownStatement,
)


def run(state: SessionState, sql: str) -> Answer:
    command = recognise(split(sql)[0])
    assert isinstance(command, Command), sql
    return command.run(state)


def fresh() -> SessionState:
    return SessionState(Transaction(DEFAULTS))


def test_discard():
    state = fresh()
    state.statements["a"] = PreparedStatement(None, None)
    state.transaction.set("application_name", "x")
    assert run(state, "DISCARD TEMPORARY") == Answer("DISCARD TEMP")
    assert run(state, "DISCARD PLANS") == Answer("DISCARD PLANS")
    assert state.statements
    assert run(state, "DISCARD ALL") == Answer("DISCARD ALL")
    assert not state.statements
    assert state.transaction.settings == DEFAULTS
    run(state, "BEGIN")
    with pytest.raises(ActiveTransaction):
        run(state, "DISCARD ALL")


def test_what_pools_send_to_tidy_up():
    assert run(fresh(), "CLOSE ALL") == Answer("CLOSE CURSOR ALL")
    assert run(fresh(), "UNLISTEN *") == Answer("UNLISTEN")


@pytest.mark.parametrize(
    ("sql", "tag"),
    [("LISTEN x", "LISTEN"), ("UNLISTEN *", "UNLISTEN"), ("NOTIFY x", "NOTIFY"), ("NOTIFY x, 'y'", "NOTIFY")],
)
def test_nobody_tells_anybody_anything(sql: str, tag: str):
    assert run(fresh(), sql) == Answer(tag)


def test_locks_are_given_inside_transactions():
    state = fresh()
    with pytest.raises(NoTransaction):
        run(state, "LOCK TABLE t")
    run(state, "BEGIN")
    assert run(state, "LOCK TABLE t IN ACCESS SHARE MODE") == Answer("LOCK TABLE")


def test_deallocate():
    state = fresh()
    state.statements.update(
        {
            "a": PreparedStatement(None, None),
            "B": PreparedStatement(None, None),
            "c": PreparedStatement(None, None),
        }
    )
    assert run(state, "DEALLOCATE PREPARE A") == Answer("DEALLOCATE")
    assert run(state, 'DEALLOCATE "B"') == Answer("DEALLOCATE")
    with pytest.raises(UnknownStatement):
        run(state, "DEALLOCATE a")
    assert run(state, "DEALLOCATE ALL") == Answer("DEALLOCATE ALL")
    assert not state.statements
