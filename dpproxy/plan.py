"""The values that move down the pipe, all frozen: who asks, what was planned, what is answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dpproxy.pgtypes import Column, SqlType


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: one authenticated session."""

    user: str
    roles: frozenset[str]
    session: str
    """A random name of the session, new at each login; never reused."""
    database: str = "main"

    @property
    def is_admin(self) -> bool:
        """True for the built-in role ``admin``."""
        return "admin" in self.roles


@dataclass(frozen=True, slots=True)
class Notice:
    """What is told beside an answer."""

    message: str
    detail: str | None = None
    hint: str | None = None
    sqlstate: str = "00000"
    severity: str = "NOTICE"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement returns: rows of Python values in the columns' types, a command tag, notices.

    ``columns`` is None for statements without a result set. Values: None, bool, int, float, Decimal, str, bytes,
    date, datetime.
    """

    tag: str
    columns: tuple[Column, ...] | None = None
    rows: Sequence[tuple[object, ...]] = field(default=(), repr=False)
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that parsed and typed; nothing was spent.

    ``columns`` is None for statements without a result set. ``charged`` is True where running it may debit the
    ledger: its answer leaves on the padding grid. ``body`` is the engine's own.
    """

    sql: str
    parameters: tuple[SqlType, ...]
    columns: tuple[Column, ...] | None
    charged: bool
    body: object = field(repr=False)


Settings = Mapping[str, str]
"""Session settings by lower-case name, as text."""
