import pytest

from dpproxy.config.settings import DEFAULTS
from dpproxy.session.timeouts import NEVER, of_silence, of_statement
from dpproxy.session.transaction import Transaction


def test_of_statement():
    assert of_statement(None) == of_statement(Transaction(DEFAULTS)) == NEVER
    assert of_statement(Transaction({**DEFAULTS, "statement_timeout": "1500"})) == 1.5


@pytest.mark.parametrize(("begun", "expected"), [(False, (2.0, "57P05")), (True, (NEVER, "25P03"))])
def test_of_silence(begun: bool, expected: tuple[float, str]):  # noqa: FBT001
    transaction = Transaction({**DEFAULTS, "idle_session_timeout": "2s"})
    if begun:
        transaction.begin()
    limit, refusal = of_silence(transaction)
    assert (limit, refusal.sqlstate) == expected
    assert of_silence(None)[0] == NEVER
