import pytest

from dpproxy.config.settings import DEFAULTS
from dpproxy.session.timeouts import NEVER, idle_limit, statement_limit
from dpproxy.session.transaction import Transaction


def test_of_statement():
    assert statement_limit(None) == statement_limit(Transaction(DEFAULTS)) == NEVER
    assert statement_limit(Transaction({**DEFAULTS, "statement_timeout": "1500"})) == 1.5


@pytest.mark.parametrize(("begun", "expected"), [(False, (2.0, "57P05")), (True, (NEVER, "25P03"))])
def test_of_silence(begun: bool, expected: tuple[float, str]):  # noqa: FBT001
    transaction = Transaction({**DEFAULTS, "idle_session_timeout": "2s"})
    if begun:
        transaction.begin()
    limit, refusal = idle_limit(transaction)
    assert (limit, refusal.sqlstate) == expected
    assert idle_limit(None)[0] == NEVER
