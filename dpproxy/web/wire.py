"""Statements over one connection to the proxy: every value arrives as text, every refusal with its place and hint."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final, cast

import psycopg
from msgspec import Struct
from psycopg.adapt import AdaptersMap
from psycopg.pq import TransactionStatus
from psycopg.types.string import TextLoader

from dpproxy.web.options import Options

MOST_ROWS: Final = 5000
MOST_CHARACTERS: Final = 4_000_000
"""Rows and characters of an answer that are read; the others are not."""
CONNECTING: Final = 30
"""Seconds for a login: the proxy delays those that come after failures."""
_STATEMENT = re.compile(
    r"\b(?:SELECT|WITH|SET|RESET|SHOW|EXPLAIN|GRANT|REVOKE|ALTER|CREATE|DROP|ADVANCE|REFRESH|SUGGEST)\s[^;]*"
)
ANSWERED = "This is answered: "
"""Before the statement that the proxy tried, where a hint has other words before it."""
_MADE_UP = re.compile(r"<[a-z_ ]+>|\.\.\.")
"""What stands for a name in hints that are no statements yet."""


class SessionEnded(Exception):
    """The connection has ended: the proxy stopped, or the user was removed."""


class Notice(Struct, frozen=True):
    """What the proxy says beside an answer."""

    message: str
    detail: str | None = None
    hint: str | None = None

    @property
    def statement(self) -> str | None:
        """The statement that the hint holds."""
        return statement_in(self.hint)


class Column(Struct, frozen=True):
    """A column of an answer."""

    name: str
    kind: str


Row = tuple[str | None, ...]


class Rows(Struct, frozen=True):
    """The answer to a statement; no columns where it returns none."""

    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    notices: tuple[Notice, ...] = ()
    is_cut: bool = False
    """Whether there were more rows than are read."""

    @property
    def size(self) -> int:
        """Its characters."""
        return sum(len(cell) for row in self.rows for cell in row if cell is not None)

    def records(self) -> list[dict[str, str | None]]:
        """The rows by the names of their columns."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


class Refused(Struct, frozen=True):
    """The proxy's refusal; ``position`` counts characters of the statement from 0."""

    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None
    position: int | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def statement(self) -> str | None:
        """The statement that the hint holds."""
        return statement_in(self.hint)


def statement_in(hint: str | None) -> str | None:
    """The statement that a hint holds; None where it has none, or one with names left to fill in.

    >>> statement_in("SET dp.epsilon = 0.1; brings half-widths to 10 %.")
    'SET dp.epsilon = 0.1'
    >>> statement_in("GRANT SELECT ON t TO <role>;")
    """
    found = _STATEMENT.search((hint or "").rpartition(ANSWERED)[2])
    if found is None or _MADE_UP.search(found[0]):
        return None
    return found[0].strip().removesuffix(".")


class _Texts:
    """How values are read: as the texts that the proxy wrote."""

    def __init__(self) -> None:
        self.adapters = AdaptersMap(types=psycopg.adapters.types)
        self.adapters.register_loader(0, TextLoader)
        self.connection: None = None


class Wire:
    """One connection to the proxy. Statements are sent one at a time by whoever holds it."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection
        self._heard: list[Notice] = []
        connection.add_notice_handler(
            lambda said: self._heard.append(
                Notice(said.message_primary or "", said.message_detail, said.message_hint)
            )
        )

    @classmethod
    async def connect(
        cls, options: Options, database: str, user: str, password: str, address: str
    ) -> "Wire | Refused":
        """Log in for a browser at an address. Returns the proxy's refusal where it does not let the user in."""
        origin = f" -c dpproxy.origin={options.key}/{address}" if options.key and address else ""
        try:
            connection = await psycopg.AsyncConnection.connect(
                host=options.reaches,
                port=options.wire_port,
                dbname=database,
                user=user,
                password=password,
                sslmode="prefer",
                application_name="dpproxy page",
                options=f"-c dp.intervals=columns{origin}",
                connect_timeout=CONNECTING,
                autocommit=True,
                context=_Texts(),
            )
        except (psycopg.Error, ValueError) as error:
            return Refused("28000", _login_message(error))
        return cls(connection)

    async def ask(self, sql: str) -> Rows | Refused:
        """Run one statement. Raises ``SessionEnded``."""
        self._heard.clear()
        found: list[Row] = []
        size, is_cut = 0, False
        cursor = self._connection.cursor()
        try:
            async with aclosing(cast("AsyncGenerator[Row, None]", cursor.stream(sql.encode()))) as rows:
                async for row in rows:
                    size += sum(len(cell) for cell in row if cell is not None)
                    if len(found) == MOST_ROWS or size > MOST_CHARACTERS:
                        is_cut = True
                        break
                    found.append(row)
        except psycopg.Error as error:
            return self._failed(error)
        except ValueError:
            return Refused("22021", "the statement has a zero byte, which no text may have")
        return Rows(_columns(cursor.description), tuple(found), tuple(self._heard), is_cut)

    def _failed(self, error: psycopg.Error) -> Rows | Refused:
        said = error.diag
        status = self._connection.pgconn.transaction_status
        if self._connection.closed or status in (TransactionStatus.ACTIVE, TransactionStatus.UNKNOWN):
            raise SessionEnded(said.message_primary or "the connection to the proxy has ended") from None
        if error.sqlstate is None:  # the statement returns no rows, which the driver calls an error
            return Rows(notices=tuple(self._heard))
        place = None if said.statement_position is None else int(said.statement_position) - 1
        words = said.message_primary or str(error), said.message_detail, said.message_hint
        return Refused(error.sqlstate, *words, place, tuple(self._heard))

    def secret(self, user: str, password: str) -> str:
        """What the proxy keeps of a password instead of it."""
        made = self._connection.pgconn.encrypt_password(password.encode(), user.encode(), b"scram-sha-256")
        return made.decode()

    async def cancel(self) -> None:
        """Cancel the statement that runs; returns when the proxy has seen it, or where it cannot be reached."""
        with suppress(psycopg.Error):
            await self._connection.cancel_safe(timeout=5.0)

    async def close(self) -> None:
        """End the session."""
        await self._connection.close()


def _columns(description: Sequence[psycopg.Column] | None) -> tuple[Column, ...]:
    return tuple(Column(each.name, each.type_display) for each in description or ())


def _login_message(error: Exception) -> str:
    """What the proxy says of a login, without the addresses that the driver puts before it."""
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return said or str(error).rpartition("FATAL:")[2].strip().partition("\n")[0] or "the login failed"
