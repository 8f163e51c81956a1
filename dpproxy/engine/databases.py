"""All data sources of a configuration: a session connects to one of them by its name.

A source that cannot be opened takes no other down: its database is refused with 57P03 and it is tried again.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from dpproxy.algebra.plan import Answer, Caller, Notice, Settings
from dpproxy.algebra.request import CatalogueQuery, Oids, Prepared, Request
from dpproxy.config.configuration import Config
from dpproxy.engine.engine import Engine
from dpproxy.engine.recording import Record, RecordingEngine, recording
from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.planner.accept import parse
from dpproxy.planner.explain import split_explain
from dpproxy.policy.parser import is_privacy_statement
from dpproxy.state.role_settings import RoleSettings
from dpproxy.values.errors import CannotConnectNow, StartupError, Unsupported

AGAIN = 30.0
"""Seconds between two attempts to open a source that could not be opened."""


NEUTRAL = "postgres"
"""The database that exists in every PostgreSQL, which clients connect to in order to list the others."""


class Neutral:
    """The database ``postgres`` as sessions see it: a catalogue without tables, which lists the other databases."""

    def __init__(self, databases: Sequence[str]) -> None:
        self._databases = tuple(databases)
        self._catalogue = Catalogue()
        self._running: dict[str, threading.Event] = {}

    def open(self, caller: Caller) -> None:
        """A session begins."""
        self._running[caller.session] = threading.Event()

    def close(self, caller: Caller) -> None:
        """A session ends."""
        self._running.pop(caller.session)

    def shut_down(self) -> None:
        """Close the catalogue."""
        self._catalogue.close()

    def cancel(self, session: str, *, only_unpaid: bool = False) -> None:
        """Interrupt the session's statement; nothing here is ever charged."""
        del only_unpaid
        if (running := self._running.get(session)) is not None:
            running.set()

    def news(self, _session: str) -> Sequence[Notice]:
        """Always empty: no statement here takes long."""
        return ()

    def show(self, _caller: Caller, _name: str, _settings: Settings) -> str:
        """Always empty: budgets belong to the data sources."""
        return ""

    def prepare(
        self, caller: Caller, sql: str, types: Oids, settings: Settings, *, only_at_hand: bool = False
    ) -> Prepared | None:
        """Parse and type a query over the catalogue. Raises a ``Refusal`` for any other statement."""
        if only_at_hand:
            return None
        self._running[caller.session].clear()
        tree = None if is_privacy_statement(sql) or split_explain(sql) else parse(sql, NEUTRAL, bare=False)
        if tree is None or not self._catalogue.covers(tree):
            one = self._databases[0]
            raise Unsupported(
                f'there are no tables in the database "{NEUTRAL}"',
                hint=f'Connect to "{one}"; psql -l lists all there are.',
            )
        kinds, columns = self._catalogue.prepare(self._view(caller, settings), tree, types)
        return Prepared(sql, kinds, columns, CatalogueQuery(tree, tuple(types)))

    def run(self, request: Request, *, only_at_hand: bool = False) -> Answer | None:
        """Answer a query over the catalogue. Raises a ``Refusal``."""
        statement, caller = request.prepared.statement, request.caller
        if only_at_hand:
            return None
        if not isinstance(statement, CatalogueQuery):
            raise TypeError("a statement of another engine")
        is_cancelled = self._running[caller.session].is_set
        view = self._view(caller, request.settings)
        return self._catalogue.run(view, statement.tree, request.values, {}, is_cancelled, statement.types)

    def _view(self, caller: Caller, settings: Settings) -> CatalogueView:
        held = tuple(sorted(caller.roles))
        roles = tuple(sorted({"admin", *held}))
        known = NEUTRAL, caller.user, roles, (), settings, 0
        return CatalogueView(*known, databases=self._databases, process=caller.process, caller_roles=held)


class Databases:
    """The engines of the data sources, by the name a client connects to."""

    def __init__(self, config: Config, record: Record, tell: Callable[[str], None]) -> None:
        self._config = config
        self._record = record
        self._tell = tell
        self._engines: dict[str, Engine] = {}
        self._recorded: dict[str, RecordingEngine] = {}
        self._failed: dict[str, str] = {}
        self._neutral = Neutral(config.databases)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="sources", daemon=True)

    def start(self) -> None:
        """Open all data sources. Raises ``StartupError`` where none can be opened."""
        for name in self._config.databases:
            self._open(name)
        if not self._engines:
            raise StartupError("no data source could be opened")
        if self._failed:
            self._thread.start()

    def versions(self) -> dict[str, int]:
        """The version of the policy in force, by data source."""
        return {name: engine.policy.version for name, engine in self._engines.items()}

    def engine(self, name: str) -> Engine:
        """The engine of a data source that was opened."""
        return self._engines[name]

    def shut_down(self) -> None:
        """Close all engines, after pending writes."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        for engine in reversed(self._engines.values()):
            engine.shut_down()
        self._neutral.shut_down()

    # --- as sessions see it

    def database_exists(self, name: str) -> bool:
        """Whether clients may connect to that name: a data source, whether or not it could be opened, or `NEUTRAL`."""
        return name in (*self._config.databases, NEUTRAL)

    def initial_settings(self, caller: Caller) -> Settings:
        """The settings that the caller's sessions start with, where they differ from the defaults."""
        return RoleSettings(self._config.root).of(caller)

    def login_failed(self, user: str, database: str, address: str) -> None:
        """Record a failed login with the data source it named, or with the first one where that does not exist."""
        recorded = self._recorded.get(database) or next(iter(self._recorded.values()), None)
        if recorded is not None:
            recorded.login_failed(user, address)

    def connect(self, caller: Caller) -> RecordingEngine | Neutral:
        """Begin a session; returns the engine that answers its statements. Raises ``CannotConnectNow``."""
        engine: RecordingEngine | Neutral | None = self._recorded.get(caller.database)
        if engine is None and caller.database not in self._config.databases:
            engine = self._neutral
        if engine is None:
            raise CannotConnectNow(
                f'database "{caller.database}" is not accepting connections',
                hint=f"the server's log says why; it is tried again every {AGAIN:.0f} s",
            )
        engine.open(caller)
        return engine

    # --- opening

    def _open(self, name: str) -> None:
        alone = len(self._config.databases) == 1
        tell = self._tell if alone else partial(self._tell_of, name)
        try:
            engine = self._start(self._config.of(name), tell)
        except StartupError as error:
            if alone:
                raise
            if self._failed.get(name) != str(error):
                tell(f"not served, and tried again every {AGAIN:.0f} s: {error}")
            self._failed[name] = str(error)
            return
        engine.sources = self._states
        self._engines[name] = engine
        self._recorded[name] = self._record(name, engine)
        if self._failed.pop(name, None) is not None:
            tell("served from now on")

    def _states(self) -> dict[str, bool]:
        return {name: name in self._engines for name in self._config.databases}

    def _start(self, config: Config, tell: Callable[[str], None]) -> Engine:
        """Start an engine. After a failed first attempt, a missing state directory is not created anew."""
        if config.database in self._failed and not config.state.is_dir():
            raise StartupError(
                f"{config.state} is gone; restore it, or start the proxy anew to begin another"
            )
        return Engine.start(config, tell)

    def _tell_of(self, name: str, line: str) -> None:
        self._tell(f"{name}: {line}")

    def _work(self) -> None:
        while self._failed and not self._closed.wait(AGAIN):
            for name in list(self._failed):
                try:
                    self._open(name)
                except Exception as error:  # noqa: BLE001 - an internal error, whose text may hold a value
                    self._tell_of(name, f"not served: {type(error).__name__}")


@contextmanager
def open_databases(config: Config, tell: Callable[[str], None]) -> Iterator[Databases]:
    """Open all data sources of a configuration, with the configured watchers. Raises ``StartupError``."""
    with recording(config, tell) as record:
        databases = Databases(config, record, tell)
        try:
            databases.start()
            yield databases
        finally:
            databases.shut_down()
