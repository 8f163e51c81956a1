"""The statements that a session answers by itself, by their first keyword."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Final

from dpproxy.algebra.plan import Answer, Notice
from dpproxy.session.copy import read_copy
from dpproxy.session.cursors import read_close, read_declare, read_fetch
from dpproxy.session.messages import Source, Words
from dpproxy.session.prepared import read_deallocate, read_execute, read_prepare
from dpproxy.session.settings import read_modes, read_reset, read_set, read_show
from dpproxy.session.signals import Signal, read_signal
from dpproxy.session.state import Around, Command, EngineShow, Late, State
from dpproxy.session.transaction import OF_TRANSACTION, Status
from dpproxy.values.errors import ActiveTransaction, NoTransaction

Action = Command | EngineShow | Around | Late | Signal
Read = Callable[[Words], Action | None]


def recognise(source: Source) -> Action | None:
    """The session's own statement that ``source`` is; None for the engine's.

    Errors: ``SyntaxRefused``, ``Unsupported``, ``UndefinedObject``.
    """
    first = source.words[0]
    if first.text == "select":
        return read_signal(source)
    read = None if first.quoted else STATEMENTS.get(first.text)
    if read is None:
        return None
    words = Words(source)
    words.next()
    return read(words)


# --- transactions


def _read_begin(words: Words) -> Command:
    words.take_one("work", "transaction")
    return Command(partial(_begin, "BEGIN", read_modes(words)))


def _read_start(words: Words) -> Command:
    words.expect("transaction")
    return Command(partial(_begin, "START TRANSACTION", read_modes(words)))


def _begin(tag: str, modes: tuple[tuple[str, str], ...], state: State) -> Answer:
    if state.transaction.status is Status.BLOCK:
        return Answer(
            tag, notices=(_warning(ActiveTransaction.sqlstate, "there is already a transaction in progress"),)
        )
    state.transaction.begin()
    for name, value in modes:
        state.transaction.set(name, value, local=True)
    return Answer(tag)


def _read_commit(words: Words) -> Command:
    return _read_end(words, "COMMIT", _commit)


def _read_rollback(words: Words) -> Command:
    words.take_one("work", "transaction")
    if words.take("to"):
        words.take("savepoint")
        return _on_savepoint(words, "ROLLBACK TO SAVEPOINT", _rollback_to, leaves_failed=True)
    return _read_end(words, "ROLLBACK", _rollback)


def _read_abort(words: Words) -> Command:
    return _read_end(words, "ROLLBACK", _rollback)


def _read_end(words: Words, statement: str, act: Callable[[State], Answer]) -> Command:
    words.take_one("work", "transaction")
    chains = words.take("and", "chain")
    if not chains:
        words.take("and", "no", "chain")
    words.end()
    return Command(partial(_chained, statement, act) if chains else act, leaves_failed=True)


def _chained(statement: str, act: Callable[[State], Answer], state: State) -> Answer:
    """End a block and begin one of the same modes."""
    transaction = state.transaction
    if transaction.status is Status.IDLE:
        raise NoTransaction(
            f"{statement} AND CHAIN can only be used in transaction blocks", hint="start one with BEGIN"
        )
    modes = {key: transaction.now[key] for key in OF_TRANSACTION}
    answer = act(state)
    transaction.begin()
    for name, value in modes.items():
        transaction.set(name, value, local=True)
    return answer


def _commit(state: State) -> Answer:
    if state.transaction.status is Status.FAILED:
        return _rollback(state)
    notices = _outside(state)
    state.commit()
    return Answer("COMMIT", notices=notices)


def _rollback(state: State) -> Answer:
    notices = _outside(state)
    state.rollback()
    return Answer("ROLLBACK", notices=notices)


def _outside(state: State) -> tuple[Notice, ...]:
    if state.transaction.status is not Status.IDLE:
        return ()
    return (_warning(NoTransaction.sqlstate, "there is no transaction in progress"),)


def _warning(sqlstate: str, message: str) -> Notice:
    return Notice(message, sqlstate=sqlstate, severity="WARNING")


# --- savepoints


def _read_savepoint(words: Words) -> Command:
    return _on_savepoint(words, "SAVEPOINT", _save)


def _read_release(words: Words) -> Command:
    words.take("savepoint")
    return _on_savepoint(words, "RELEASE SAVEPOINT", _release)


def _on_savepoint(
    words: Words, statement: str, act: Callable[[State, str], str], *, leaves_failed: bool = False
) -> Command:
    name = words.name()
    words.end()

    def run(state: State) -> Answer:
        if state.transaction.status is Status.IDLE:
            raise NoTransaction(
                f"{statement} can only be used in transaction blocks", hint="start one with BEGIN"
            )
        return Answer(act(state, name))

    return Command(run, leaves_failed=leaves_failed)


def _save(state: State, name: str) -> str:
    state.transaction.save(name)
    return "SAVEPOINT"


def _release(state: State, name: str) -> str:
    state.transaction.release(name)
    return "RELEASE"


def _rollback_to(state: State, name: str) -> str:
    state.transaction.rollback_to(name)
    return "ROLLBACK"


# --- what drivers send to tidy up


def _read_discard(words: Words) -> Command:
    what = words.take_one("all", "plans", "sequences", "temp", "temporary")
    if what is None:
        words.refuse()
    words.end()
    return Command(_discard_all if what == "all" else _always(f"DISCARD {what.upper().replace('ORARY', '')}"))


def _discard_all(state: State) -> Answer:
    if state.transaction.status is not Status.IDLE or state.transaction.several:
        raise ActiveTransaction(
            "DISCARD ALL cannot run inside a transaction block", hint="end it with COMMIT"
        )
    state.transaction.reset_all()
    state.statements.clear()
    state.portals.clear()
    return Answer("DISCARD ALL")


def _read_unlisten(words: Words) -> Command:
    if not words.take("*"):
        words.name()
    words.end()
    return Command(_always("UNLISTEN"))


def _always(tag: str) -> Callable[[State], Answer]:
    return lambda _state: Answer(tag)


def _read_listen(words: Words) -> Command:
    words.name()
    words.end()
    return Command(_always("LISTEN"))


def _read_notify(words: Words) -> Command:
    words.name()
    if words.take(","):
        words.value()
    words.end()
    return Command(_always("NOTIFY"))


def _read_lock(words: Words) -> Command:
    """Nothing here changes under a reader, so a lock is given at once; it holds nobody else up."""
    words.take("table")
    words.rest()

    def run(state: State) -> Answer:
        if state.transaction.status is Status.IDLE and not state.transaction.several:
            raise NoTransaction(
                "LOCK TABLE can only be used in transaction blocks", hint="start one with BEGIN"
            )
        return Answer("LOCK TABLE")

    return Command(run)


STATEMENTS: Final = MappingProxyType[str, Read]({
    "begin": _read_begin,
    "start": _read_start,
    "commit": _read_commit,
    "end": _read_commit,
    "rollback": _read_rollback,
    "abort": _read_abort,
    "savepoint": _read_savepoint,
    "release": _read_release,
    "set": read_set,
    "show": read_show,
    "reset": read_reset,
    "discard": _read_discard,
    "prepare": read_prepare,
    "execute": read_execute,
    "deallocate": read_deallocate,
    "declare": read_declare,
    "fetch": read_fetch,
    "move": partial(read_fetch, shows=False),
    "close": read_close,
    "copy": read_copy,
    "listen": _read_listen,
    "unlisten": _read_unlisten,
    "notify": _read_notify,
    "lock": _read_lock,
})  # fmt: skip
