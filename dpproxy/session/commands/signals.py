"""pg_cancel_backend and pg_terminate_backend: the session's own, since only who serves all clients knows the others.

Each stands alone in its statement. A cancel is the one that CancelRequest is: what is charged runs on, and its client
is told at an instant of its grid.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dpproxy.algebra.plan import Answer, Notice
from dpproxy.session.messages import Source
from dpproxy.values.errors import InvalidText, UndefinedFunction
from dpproxy.values.pgtypes import BOOL, BY_OID, INT4, INTEGERS, TEXT, TEXTS, Column, SqlType

Send = Callable[[int, bool], bool]
"""Cancel what the session of a process runs, and with True end that session; False where the caller has none such."""

_MOST_DIGITS: Final = 10
_CALL: Final = re.compile(
    r"""select\s+(?:pg_catalog\s*\.\s*)?(?P<name>pg_cancel_backend|pg_terminate_backend)
    \s*\(\s*(?:(?P<number>\d{1,10})|'(?P<quoted>\d{1,10})'|(?P<parameter>\$1)|null)
    (?:\s*::\s*(?:pg_catalog\s*\.\s*)?(?:int|int4|integer))?
    (?:\s*,\s*\d+)?  # how long to wait for the end; nobody waits here
    \s*\)(?:\s+(?:as\s+)?(?P<title>[a-z_]\w*|"[^"]+"))?""",
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Signal:
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
        told = f"PID {process} is not a PostgreSQL backend process"
        hint = "Sessions of other users are for administrators; pg_backend_pid() tells a session its number."
        warning = Notice(told, hint=hint, sqlstate="01000", severity="WARNING")
        return Answer("SELECT 1", self.columns, ((found,),), notices=() if found else (warning,))


def read_signal(source: Source) -> Signal | None:
    """The call that a SELECT is; None for every other."""
    found = _CALL.fullmatch(source.text)
    if found is None:
        return None
    name = found["name"].lower()
    title = found["title"] or name
    shown = title[1:-1] if title.startswith('"') else title.lower()
    number = found["number"] or found["quoted"]
    return Signal(
        int(number) if number else None,
        name == "pg_terminate_backend",
        (Column(shown, BOOL),),
        (INT4,) if found["parameter"] else (),
    )


def _number(value: object) -> int | None:
    if not isinstance(value, str):
        return value if isinstance(value, int) else None
    if not (value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS):
        raise InvalidText("a process is a whole number")
    return int(value)
