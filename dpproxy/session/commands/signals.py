"""pg_cancel_backend and pg_terminate_backend, which the server carries out, since it knows all sessions.

The statement must be one call and nothing else. It cancels as CancelRequest does: a charged statement runs to its end,
and its client learns of the cancel at a point of its padding grid.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra.plan import Answer, Notice
from dpproxy.session.messages import Words
from dpproxy.sql.lexer import Token, TokenKind
from dpproxy.values.errors import InvalidText, SyntaxRefused, UndefinedFunction
from dpproxy.values.pgtypes import BOOL, BY_OID, INT4, INTEGERS, TEXT, TEXTS, Column, SqlType

Send = Callable[[int, bool], bool]
"""Cancels the statement of a process, or with True ends its session; False where the caller has no such session."""

_MOST_DIGITS: Final = 10


class Signal(Struct, frozen=True):
    """One call; ``process`` is None where it is NULL, or a parameter."""

    process: int | None
    ends: bool
    """Whether the session ends with its statement."""
    columns: tuple[Column, ...]
    parameters: tuple[SqlType, ...] = ()

    def typed(self, types: Sequence[int]) -> "Signal":
        """With the types that the client declares. Errors: ``UndefinedFunction``."""
        if not (self.parameters and types and types[0]):
            return self
        kind = BY_OID.get(types[0], TEXT)
        if kind.oid not in INTEGERS and kind.oid not in TEXTS:
            raise UndefinedFunction("a process is a whole number", hint="Declare the parameter as integer.")
        return replace(self, parameters=(kind,))

    def run(self, send: Send, values: Sequence[object]) -> Answer:
        """Send it. Errors: ``InvalidText``."""
        process = _number(values[0]) if self.parameters else self.process
        if process is None:
            return Answer("SELECT 1", self.columns, ((None,),))
        found = send(process, self.ends)
        message = f"PID {process} is not a PostgreSQL backend process"
        hint = "Sessions of other users are for administrators; pg_backend_pid() tells a session its number."
        warning = Notice(message, hint=hint, sqlstate="01000", severity="WARNING")
        return Answer("SELECT 1", self.columns, ((found,),), notices=() if found else (warning,))


def read_signal(words: Words) -> Signal | None:
    """The call of a SELECT, after its first word; None for every other SELECT."""
    words.accept("pg_catalog", ".")
    name = words.accept_one("pg_cancel_backend", "pg_terminate_backend")
    if name is None or not words.at("("):
        return None
    try:
        return _read_call(words, name)
    except SyntaxRefused:
        return None


def _read_call(words: Words, name: str) -> Signal:
    """The arguments of a call, and the name of its column. Errors: ``SyntaxRefused`` for what is more than that."""
    words.expect("(")
    is_null = words.accept("null")
    process = None if is_null else words.take()
    is_parameter = process is not None and process.kind is TokenKind.PARAMETER and process.raw == "$1"
    if process is not None and not is_parameter and not _is_number(process):
        words.refuse()
    if words.accept("::"):
        words.accept("pg_catalog", ".")
        if not words.accept_one("int", "int4", "integer"):
            words.refuse()
    if words.accept(",") and not _is_number(words.take()):  # a timeout, which is not used
        words.refuse()
    words.expect(")")
    is_titled = words.accept("as") or words.token.kind is not TokenKind.END
    title = words.label() if is_titled else name
    words.end()
    return Signal(
        None if process is None or is_parameter else int(process.text),
        name == "pg_terminate_backend",
        (Column(title, BOOL),),
        (INT4,) if is_parameter else (),
    )


def _is_number(token: Token) -> bool:
    """Whether it is a whole number, maybe in quotes."""
    is_constant = token.kind in {TokenKind.NUMBER, TokenKind.TEXT}
    return is_constant and token.text.isascii() and token.text.isdigit() and len(token.text) <= _MOST_DIGITS


def _number(value: object) -> int | None:
    if not isinstance(value, str):
        return value if isinstance(value, int) else None
    if not (value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS):
        raise InvalidText("a process is a whole number")
    return int(value)
