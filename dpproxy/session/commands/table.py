"""The statements that a session answers by itself, by their first keyword."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Final

from dpproxy.session.commands.copying import read_copy
from dpproxy.session.commands.cursors import read_close, read_declare, read_fetch
from dpproxy.session.commands.prepared import read_deallocate, read_execute, read_prepare
from dpproxy.session.commands.settings import read_reset, read_set, read_show
from dpproxy.session.commands.signals import Signal, read_signal
from dpproxy.session.commands.tidying import read_discard, read_listen, read_lock, read_notify, read_unlisten
from dpproxy.session.commands.transactions import (
    read_abort,
    read_begin,
    read_commit,
    read_release,
    read_rollback,
    read_savepoint,
    read_start,
)
from dpproxy.session.messages import StatementText, Words
from dpproxy.session.state import Command, DeferredStatement, EngineShow, OuterStatement
from dpproxy.sql.lexer import TokenKind

Action = Command | EngineShow | OuterStatement | DeferredStatement | Signal
"""Every kind of statement that the session answers by itself."""
Read = Callable[[Words], Action | None]


def recognise(source: StatementText) -> Action | None:
    """Read a statement that the session answers by itself; None for one of the engine's.

    Errors: ``SyntaxRefused``, ``Unsupported``, ``UndefinedObject``.
    """
    words = Words(source)
    first = words.take()
    read = STATEMENTS.get(first.text) if first.kind is TokenKind.WORD else None
    return None if read is None else read(words)


STATEMENTS: Final = MappingProxyType[str, Read]({
    "select": read_signal,
    "begin": read_begin,
    "start": read_start,
    "commit": read_commit,
    "end": read_commit,
    "rollback": read_rollback,
    "abort": read_abort,
    "savepoint": read_savepoint,
    "release": read_release,
    "set": read_set,
    "show": read_show,
    "reset": read_reset,
    "discard": read_discard,
    "prepare": read_prepare,
    "execute": read_execute,
    "deallocate": read_deallocate,
    "declare": read_declare,
    "fetch": read_fetch,
    "move": partial(read_fetch, shows=False),
    "close": read_close,
    "copy": read_copy,
    "listen": read_listen,
    "unlisten": read_unlisten,
    "notify": read_notify,
    "lock": read_lock,
})  # fmt: skip
