from dpproxy.algebra.plan import Answer
from dpproxy.algebra.request import Prepared, SelectStatement
from dpproxy.config.settings import DEFAULTS
from dpproxy.session.messages import split
from dpproxy.session.state import Portal, PreparedStatement, SessionState
from dpproxy.session.transaction import Transaction
from dpproxy.values.pgtypes import INT4, Column

EMPTY = PreparedStatement(None, None)


def test_a_portal_hands_its_rows_out_once():
    rows = tuple((i,) for i in range(5))
    portal = Portal(EMPTY, (), (), Answer("SELECT 5", (Column("i", INT4),), rows))
    assert [len(portal.part(limit)) for limit in (2, 2, 2, 2, 0)] == [2, 2, 1, 0, 0]
    whole = Portal(EMPTY, (), (), portal.answer)
    assert whole.part(0) == rows
    assert Portal(EMPTY, (), ()).part(0) == ()


def test_portals_end_with_the_transaction_and_statements_stay():
    for end in (SessionState.commit, SessionState.rollback):
        state = SessionState(Transaction(DEFAULTS), {"s": EMPTY}, {"p": Portal(EMPTY, (), ())})
        end(state)
        assert (list(state.statements), list(state.portals)) == (["s"], [])


def test_a_copy_is_on_its_own():
    state = SessionState(Transaction(DEFAULTS), {"s": EMPTY}, {"p": Portal(EMPTY, (), ())})
    twin = state.copy()
    twin.transaction.begin()
    twin.statements.clear()
    twin.commit()
    assert (list(state.statements), list(state.portals)) == (["s"], ["p"])
    assert state.transaction == Transaction(DEFAULTS)


def test_a_hint_wins_over_the_session_for_its_statement():
    source = split("/*+ dp(epsilon=0.2) */ SELECT 1")[0]
    prepared = Prepared(source.text, (), None, SelectStatement(), charged=True)
    statement = PreparedStatement(source, prepared)
    assert statement.settings(Transaction(DEFAULTS))["dp.epsilon"] == "0.2"
    transaction = Transaction(DEFAULTS)
    assert EMPTY.settings(transaction) is transaction.settings
    assert (statement.charged, EMPTY.charged) == (True, False)
    assert (statement.runs_in_failed, EMPTY.runs_in_failed) == (False, True)
