"""Charges of one small world: budget "research", table "people", users by name."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting import book, schema
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import NO_DELTA, Account, AccountKind, Charge, Cost, Debit, key_of
from dpproxy.accounting.store import Store
from dpproxy.accounting.stores import store_of
from tests.postgres import Server

Make = Callable[..., Charge]


@dataclass(frozen=True)
class Home:
    """A state directory, and the database its ledger is in where that is not a file there."""

    state: Path
    server: Server | None = None
    database: str = ""

    @property
    def url(self) -> str | None:
        return None if self.server is None else self.server.url(self.database)

    @property
    def store(self) -> Store:
        return store_of(self.state, self.url)

    def open(self, secret: bytes | None = None, **more: object) -> Ledger:
        return Ledger.open(self.state, secret, url=self.url, **more)  # type: ignore[arg-type]

    def copy(self, state: Path) -> "Home":
        """All there is on the disk now."""
        shutil.copytree(self.state, state)
        database = "" if self.server is None else self.server.database(self.database)
        return replace(self, state=state, database=database)

    def edit(self, *statements: str) -> None:
        """Run statements as somebody without the key would, then put the guards back."""
        if self.url is None:
            self._edit_file(statements)
            return
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SET search_path = dpproxy")
            connection.execute("SET session_replication_role = replica")
            self._guards(connection, "DISABLE")
            for statement in statements:
                assert connection.execute(statement.encode()).rowcount
            self._guards(connection, "ENABLE ALWAYS")

    @staticmethod
    def _guards(connection: psycopg.Connection, word: str) -> None:
        for table in ("entry", "debit"):
            connection.execute(f"ALTER TABLE {table} {word} TRIGGER {table}_append_only".encode())

    def _edit_file(self, statements: tuple[str, ...]) -> None:
        triggers = {name: sql for name, sql in schema.GUARDS.items() if "TRIGGER" in sql}
        with closing(sqlite3.connect(self.state / "ledger.sqlite", isolation_level=None)) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            for name in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            changed = connection.total_changes
            for statement in statements:
                connection.execute(statement)
            assert connection.total_changes > changed
            for sql in triggers.values():
                connection.execute(sql)


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    """A place where no ledger was begun yet, of either kind."""
    if request.param == "sqlite":
        yield Home(tmp_path / "state")
        return
    server = request.getfixturevalue("postgres")
    yield Home(tmp_path / "state", server, server.database())
    server.tidy()


@pytest.fixture
def make() -> Make:
    """``make("ann", 10, question="q", budget=100)``: limits are given by the kind of account."""

    def build(
        who: str = "ann",
        nano: int = 1,
        *,
        question: str = "q",
        login: str = "",
        delta: Fraction = NO_DELTA,
        delta_limits: Mapping[str, Fraction] | None = None,
        **limits: int,
    ) -> Charge:
        accounts = (
            Account.ceiling("people"),
            Account.budget("research"),
            Account.user("research", who),
            Account.session(login or f"session of {who}", "research"),
        )
        assert set(limits) <= {kind.value for kind in AccountKind}
        return Charge(
            who=who,
            statement=digest("statement", question),
            policy_version=3,
            data_version=1,
            mechanism="staircase",
            nano=nano,
            debits=tuple(
                Debit(account, limits.get(account.kind.value), (delta_limits or {}).get(account.kind.value))
                for account in accounts
            ),
            release=digest("release", question),
            label="count on people",
            delta=delta,
        )

    return build


def spent_of(connection: book.StoreConnection, account: Account) -> Cost:
    """What an account has paid so far, in its own window alone."""
    row = connection.execute(
        "SELECT nano, delta, rho FROM account "
        'WHERE kind = ? AND name = ? AND member = ? AND block = ? AND "window" = ?',
        key_of(account),
    ).fetchone()
    return Cost() if row is None else Cost(row[0], Fraction(row[1]), Fraction(row[2]))
