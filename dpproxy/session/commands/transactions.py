"""BEGIN, COMMIT, ROLLBACK and savepoints."""

from collections.abc import Callable
from functools import partial

from dpproxy.algebra.plan import Answer, Notice
from dpproxy.session.commands.settings import read_modes
from dpproxy.session.messages import Words
from dpproxy.session.state import Command, SessionState
from dpproxy.session.transaction import OF_TRANSACTION, Status
from dpproxy.values.errors import ActiveTransaction, NoTransaction


def read_begin(words: Words) -> Command:
    """BEGIN, after its first word."""
    words.accept_one("work", "transaction")
    return Command(partial(_begin, "BEGIN", read_modes(words)))


def read_start(words: Words) -> Command:
    """START, after its first word."""
    words.expect("transaction")
    return Command(partial(_begin, "START TRANSACTION", read_modes(words)))


def _begin(tag: str, modes: tuple[tuple[str, str], ...], state: SessionState) -> Answer:
    if state.transaction.status is Status.BLOCK:
        return Answer(
            tag, notices=(_warning(ActiveTransaction.sqlstate, "there is already a transaction in progress"),)
        )
    state.transaction.begin()
    for name, value in modes:
        state.transaction.set(name, value, local=True)
    return Answer(tag)


def read_commit(words: Words) -> Command:
    """COMMIT and END, after the first word."""
    return _read_end(words, "COMMIT", _commit)


def read_rollback(words: Words) -> Command:
    """ROLLBACK, after its first word."""
    words.accept_one("work", "transaction")
    if words.accept("to"):
        words.accept("savepoint")
        return _on_savepoint(words, "ROLLBACK TO SAVEPOINT", _rollback_to, leaves_failed=True)
    return _read_end(words, "ROLLBACK", _rollback)


def read_abort(words: Words) -> Command:
    """ABORT, after its first word."""
    return _read_end(words, "ROLLBACK", _rollback)


def _read_end(words: Words, statement: str, act: Callable[[SessionState], Answer]) -> Command:
    words.accept_one("work", "transaction")
    chains = words.accept("and", "chain")
    if not chains:
        words.accept("and", "no", "chain")
    words.end()
    return Command(partial(_chained, statement, act) if chains else act, runs_in_failed=True)


def _chained(statement: str, act: Callable[[SessionState], Answer], state: SessionState) -> Answer:
    """End a block and begin one of the same modes."""
    transaction = state.transaction
    if transaction.status is Status.IDLE:
        raise NoTransaction(
            f"{statement} AND CHAIN can only be used in transaction blocks", hint="start one with BEGIN"
        )
    modes = {key: transaction.settings[key] for key in OF_TRANSACTION}
    answer = act(state)
    transaction.begin()
    for name, value in modes.items():
        transaction.set(name, value, local=True)
    return answer


def _commit(state: SessionState) -> Answer:
    if state.transaction.status is Status.FAILED:
        return _rollback(state)
    notices = _outside(state)
    state.commit()
    return Answer("COMMIT", notices=notices)


def _rollback(state: SessionState) -> Answer:
    notices = _outside(state)
    state.rollback()
    return Answer("ROLLBACK", notices=notices)


def _outside(state: SessionState) -> tuple[Notice, ...]:
    if state.transaction.status is not Status.IDLE:
        return ()
    return (_warning(NoTransaction.sqlstate, "there is no transaction in progress"),)


def _warning(sqlstate: str, message: str) -> Notice:
    return Notice(message, sqlstate=sqlstate, severity="WARNING")


# --- savepoints


def read_savepoint(words: Words) -> Command:
    """SAVEPOINT, after its first word."""
    return _on_savepoint(words, "SAVEPOINT", _save)


def read_release(words: Words) -> Command:
    """RELEASE, after its first word."""
    words.accept("savepoint")
    return _on_savepoint(words, "RELEASE SAVEPOINT", _release)


def _on_savepoint(
    words: Words, statement: str, act: Callable[[SessionState, str], str], *, leaves_failed: bool = False
) -> Command:
    name = words.label()
    words.end()

    def run(state: SessionState) -> Answer:
        if state.transaction.status is Status.IDLE:
            raise NoTransaction(
                f"{statement} can only be used in transaction blocks", hint="start one with BEGIN"
            )
        return Answer(act(state, name))

    return Command(run, runs_in_failed=leaves_failed)


def _save(state: SessionState, name: str) -> str:
    state.save(name)
    return "SAVEPOINT"


def _release(state: SessionState, name: str) -> str:
    state.transaction.release(name)
    return "RELEASE"


def _rollback_to(state: SessionState, name: str) -> str:
    state.rollback_to(name)
    return "ROLLBACK"
