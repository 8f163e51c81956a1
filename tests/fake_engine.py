"""An engine that answers from a table of statements, users with known passwords, and scripts of messages."""

# ruff: noqa: ARG002 - the engine and users that they stand for have these parameters

import select
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace
from psycopg.pq.abc import PGconn, PGresult

from dpproxy.algebra.plan import Answer, Caller, Notice, Settings
from dpproxy.algebra.request import (
    EngineStatement,
    ExplainOne,
    Oids,
    Prepared,
    Request,
    SelectStatement,
    ViewRead,
)
from dpproxy.config.settings import DEFAULTS
from dpproxy.policy.statements import Listing, Show
from dpproxy.session.queries import Queries
from dpproxy.session.session import LongCall, Session
from dpproxy.session.state import SessionState
from dpproxy.session.transaction import Transaction
from dpproxy.values.errors import BudgetExceeded, Cancelled, UndefinedColumn
from dpproxy.values.pgtypes import BY_OID, FLOAT8, INT4, INT8, NUMERIC, TEXT, Column, SqlType
from dpproxy.wire import messages as m
from dpproxy.wire.scram import ScramSecret, make_secret

ALICE = Caller("alice", frozenset({"analysts"}), "session-of-alice")
ONE = (Column("?column?", INT4),)
NAMED = (Column("region", TEXT), Column("n", INT8), Column("mean", FLOAT8), Column("total", NUMERIC))
RATIO_ROWS = (("north", 10, 1.5, Decimal("12.30")), ("süd", -3, float("inf"), None))


class Known(Struct, frozen=True):
    """What the engine knows of one statement."""

    columns: tuple[Column, ...] | None
    rows: Sequence[tuple[object, ...]] = ()
    parameters: tuple[SqlType, ...] = ()
    charged: bool = False
    notices: tuple[Notice, ...] = ()


KNOWN = {
    "SELECT 1": Known(ONE, ((1,),)),
    "SELECT region": Known(NAMED, RATIO_ROWS, charged=True, notices=(Notice("cost 0.1"),)),
    "SELECT many": Known((Column("i", INT8),), tuple((i,) for i in range(10))),
    "SELECT big": Known((Column("i", INT8), Column("t", TEXT)), tuple((i, "x" * 40) for i in range(30_000))),
    "SELECT $1": Known((Column("a", INT4), Column("b", TEXT)), (), (INT4, TEXT)),
    "SELECT slow": Known(ONE, ((1,),)),
    "SELECT heavy": Known(ONE, ((1,),), charged=True),
    "SELECT dear": Known(ONE, charged=True),
    "EXPLAIN (PRIVACY) SELECT 1": Known(ONE, ((1,),)),
    "SELECT broken": Known(ONE),
    "SELECT epsilon": Known((Column("epsilon", TEXT),)),
    "ALTER TABLE t SET PRIVACY PUBLIC": Known(None),
    "SHOW PRIVACY BUDGETS": Known((Column("name", TEXT),), (("research",),)),
}


@dataclass
class FakeEngine:
    """Knows ``KNOWN``; ``SELECT slow`` runs until it is cancelled, ``SELECT heavy`` until that or ``finish``."""

    log: list[str] = field(default_factory=list)
    started: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    finish: threading.Event = field(default_factory=threading.Event)
    closed: threading.Event = field(default_factory=threading.Event)
    waiting: list[Notice] = field(default_factory=list)
    unpaid: list[str] = field(default_factory=list)
    let_go: threading.Event = field(default_factory=threading.Event)
    """What ``SELECT slow`` has to say while it runs, one at each look."""

    def database_exists(self, name: str) -> bool:
        return name == "main"

    def initial_settings(self, caller: Caller) -> Settings:
        del caller
        return {}

    def login_failed(self, user: str, database: str, address: str) -> None:
        self.log.append(f"login failed {user} {database} {address}")

    def connect(self, caller: Caller) -> "FakeEngine":
        self.log.append(f"open {caller.user}")
        return self

    def close(self, caller: Caller) -> None:
        self.log.append(f"close {caller.user}")
        self.closed.set()

    def prepare(
        self, caller: Caller, sql: str, types: Oids, settings: Settings, *, only_at_hand: bool = False
    ) -> Prepared | None:
        if only_at_hand:
            return None
        if sql not in KNOWN:
            raise UndefinedColumn("no such column", hint="try SELECT 1", position=7)
        known = KNOWN[sql]
        self.log.append(f"prepare {sql}")
        own = tuple(types) + (0,) * len(known.parameters)  # the client's word on a type counts
        parameters = tuple(BY_OID.get(oid, kind) for oid, kind in zip(own, known.parameters, strict=False))
        statement: EngineStatement = ViewRead(Show(Listing.VIEWS)) if "slow" in sql else SelectStatement()
        if sql.startswith("EXPLAIN"):
            statement = ExplainOne(Prepared(sql, (), None, statement), as_json=False)
        return Prepared(sql, parameters, known.columns, statement, known.charged)

    def run(self, request: Request, *, only_at_hand: bool = False) -> Answer | None:
        if only_at_hand:
            return None
        sql = request.prepared.sql
        known = KNOWN[sql]
        self.log.append(f"run {sql}")
        special = SPECIAL.get(sql)
        rows = known.rows if special is None else special(self, request.values, request.settings)
        tag = "ALTER TABLE" if known.columns is None else f"SELECT {len(rows)}"
        return Answer(tag, known.columns, rows, known.notices)

    def cancel(self, session: str, *, only_unpaid: bool = False) -> None:
        if only_unpaid:
            self.unpaid.append(session)
            self.let_go.set()
            return
        self.log.append("cancel")
        self.cancelled.set()
        self.finish.set()

    def news(self, session: str) -> list[Notice]:
        return [self.waiting.pop(0)] if self.waiting else []

    def show(self, caller: Caller, name: str, settings: Settings) -> str:
        return "0.5"


def _slow(engine: FakeEngine, _values: Sequence[object], _settings: Settings) -> NoReturn:
    engine.started.set()
    if not engine.cancelled.wait(10):
        raise AssertionError("nobody cancelled")
    raise Cancelled("canceling statement due to user request")


def _heavy(
    engine: FakeEngine, _values: Sequence[object], _settings: Settings
) -> Sequence[tuple[object, ...]]:
    engine.started.set()
    if not engine.finish.wait(10):
        raise AssertionError("nobody let it finish")
    if engine.cancelled.is_set():
        raise Cancelled("canceling statement due to user request")
    engine.log.append("end SELECT heavy")
    return KNOWN["SELECT heavy"].rows


def _dear(_engine: FakeEngine, _values: Sequence[object], _settings: Settings) -> NoReturn:
    raise BudgetExceeded("budget research is spent", hint="ask for less")


def _broken(_engine: FakeEngine, _values: Sequence[object], _settings: Settings) -> NoReturn:
    raise ValueError("secret-value-of-a-row")


SPECIAL = {
    "SELECT slow": _slow,
    "SELECT heavy": _heavy,
    "SELECT dear": _dear,
    "SELECT broken": _broken,
    "SELECT epsilon": lambda _engine, _values, settings: ((settings["dp.epsilon"],),),
    "SELECT $1": lambda _engine, values, _settings: (tuple(values),),
}


@dataclass
class FakeUsers:
    """alice and bob, whose passwords are their names backwards."""

    secrets: dict[str, ScramSecret] = field(
        default_factory=lambda: {name: make_secret(name[::-1], 4096) for name in ("alice", "bob")}
    )

    def lookup(self, name: str) -> ScramSecret | None:
        return self.secrets.get(name)

    def roles(self, name: str) -> frozenset[str]:
        return frozenset({"analysts"})

    def since(self, name: str) -> datetime | None:
        return None

    def is_revoked(self, name: str, roles: frozenset[str], since: datetime | None) -> bool:
        return name not in self.secrets or not roles <= self.roles(name)


def logged_in(engine: FakeEngine | None = None) -> Session:
    """A session past its login."""
    engine = engine or FakeEngine()
    session = Session(engine, FakeUsers())
    session._engine = engine
    session.caller = ALICE
    session._queries = Queries(engine, ALICE, SessionState(Transaction(DEFAULTS)))
    session._reported = dict(DEFAULTS)
    return session


def drive(session: Session, message: m.Frontend, given: list[object] | None = None) -> list[m.Backend]:
    """Every message that one message brings back; work is done on the spot, and put into ``given``."""
    said: list[m.Backend] = []
    steps = session.receive(message)
    send, value = steps.send, None
    while True:
        try:
            step = send(value)
        except StopIteration:
            return said
        send, value = steps.send, None
        if not isinstance(step, LongCall):
            said.append(step)
            continue
        if given is not None:
            given.append(step)
        try:
            value = step.call()
        except Exception as error:  # noqa: BLE001 - the session is to see every one
            send, value = steps.throw, error


class Playbook:
    """``Playbook(session) >> sent << expected``: true if all that was said was expected, in order.

    Of an ErrorResponse or NoticeResponse, only the fields that the expected one fills count.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._said: list[m.Backend] = []

    def __rshift__(self, message: m.Frontend) -> "Playbook":
        assert not self._said, f"said and not expected: {self._said}"
        self._said = drive(self._session, message)
        return self

    def __lshift__(self, expected: m.Backend) -> "Playbook":
        assert self._said, f"nothing more was said, expected {expected}"
        said = self._said.pop(0)
        assert _blurred(said, expected) == expected
        return self

    def __bool__(self) -> bool:
        assert not self._said, f"said and not expected: {self._said}"
        return True


def _blurred(said: m.Backend, expected: m.Backend) -> m.Backend:
    if type(said) is not type(expected) or not isinstance(said, m.ErrorResponse | m.NoticeResponse):
        return said
    free = [name for name in ("message", "detail", "hint", "position") if not getattr(expected, name, "x")]
    return replace(said, **{name: getattr(expected, name) for name in free})


def next_result(pgconn: PGconn) -> PGresult | None:
    """What libpq gives next; unlike its own call, this lets a server in the same process run meanwhile."""
    while pgconn.is_busy():
        select.select([pgconn.socket], [], [], 5)
        pgconn.consume_input()
    return pgconn.get_result()
