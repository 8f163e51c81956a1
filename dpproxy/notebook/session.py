"""A connection of a notebook: prices, answers, and what is left."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from dpproxy.notebook.answer import Answer
from dpproxy.notebook.price import Price, read_price


class Session:
    """One session at a proxy. Statements that it refuses raise ``psycopg.Error`` with its words and hint.

    Not for several threads at once.
    """

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection
        self._heard: list[str] = []
        connection.autocommit = True
        connection.add_notice_handler(self._hear)
        connection.execute("SET dp.intervals = columns")

    def price(self, sql: str, *, epsilon: float | None = None) -> Price:
        """What the question would cost now, and how far off it would be. Costs nothing, and is not recorded."""
        with self._spending(epsilon):
            # Prepared, so that a second statement behind a semicolon is refused, and not run.
            explain = f"EXPLAIN (PRIVACY, DRAFT, FORMAT JSON) {sql}".encode()
            ((text,),) = self._connection.execute(explain, prepare=True).fetchall()
        self._heard.clear()
        return read_price(text)

    def ask(self, sql: str, *, epsilon: float | None = None) -> Answer:
        """Ask, and pay: at the price of the session's setting, or at this epsilon. Its notices go to stderr, too."""
        self._heard.clear()
        with self._spending(epsilon):
            cursor = self._connection.execute(sql.encode())
            names = tuple(column.name for column in cursor.description or ())
            rows = tuple(cursor.fetchall()) if names else ()
            cost = self._connection.execute("SHOW dp.last_cost").fetchone()
        notices = tuple(self._heard)
        for line in notices:
            sys.stderr.write(f"{line}\n")
        return Answer(sql, names, rows, float(cost[0] or 0) if cost else 0.0, self.remaining(), notices)

    def remaining(self) -> dict[str, float | None]:
        """What each budget of this user has left, the least of its limits, in epsilon; None where nothing limits it."""
        rows = self._connection.execute(
            "SELECT budget, remaining, user_remaining, session_remaining, ceiling_remaining FROM dp.budgets"
        ).fetchall()
        return {
            name: min((float(one) for one in limits if one is not None), default=None)
            for name, *limits in rows
        }

    def set(self, name: str, value: str) -> None:
        """A setting of the session, such as ``set("dp.epsilon", "0.2")``."""
        words = SQL("SET {} = {}").format(SQL(".").join(map(Identifier, name.split("."))), Literal(value))
        self._connection.execute(words)

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    @contextmanager
    def _spending(self, epsilon: float | None) -> Iterator[None]:
        """One statement's epsilon, put back afterwards."""
        if epsilon is None:
            yield
            return
        ((before,),) = self._connection.execute("SHOW dp.epsilon").fetchall()
        self.set("dp.epsilon", f"{epsilon:.9g}")
        try:
            yield
        finally:
            if not self._connection.closed:
                self.set("dp.epsilon", before)

    def _hear(self, notice: psycopg.errors.Diagnostic) -> None:
        words = [notice.message_primary, notice.message_detail, notice.message_hint]
        self._heard.append(". ".join(word.rstrip(".") for word in words if word))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(url: str = "", **parts: Any) -> Session:  # noqa: ANN401 - what libpq knows
    """A session at a proxy, by a ``postgresql://`` URL or by what libpq takes. Raises ``psycopg.OperationalError``."""
    given: Mapping[str, Any] = {"application_name": "dpproxy.notebook", **parts}
    return Session(psycopg.connect(url, autocommit=True, **given))
