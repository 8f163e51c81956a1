"""All data sources of a configuration as one engine: what a session asks goes to the source it is connected to.

A source that cannot be opened takes no other down: its database is refused with 57P03 and it is tried again.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from dpproxy.algebra.plan import Answer, Caller, Notice, Prepared, Settings
from dpproxy.config.configuration import Config
from dpproxy.engine.body import Body
from dpproxy.engine.engine import Engine
from dpproxy.engine.recorded import Record, Recorded, recording
from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.planner.accept import parse
from dpproxy.planner.explain import split_explain
from dpproxy.policy.parser import is_privacy_statement
from dpproxy.state.role_settings import RoleSettings
from dpproxy.values.errors import CannotConnectNow, StartupError, Unsupported

AGAIN = 30.0
"""Seconds between two attempts to open a source that could not be opened."""


NEUTRAL = "postgres"
"""The database that every PostgreSQL has, and that clients connect to before they know of another."""


class Neutral:
    """That database as sessions see it: the catalogue of one without tables, from which the others are listed."""

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

    def cancel(self, session: str) -> None:
        """Interrupt what the session runs."""
        if (running := self._running.get(session)) is not None:
            running.set()

    def cancel_unpaid(self, session: str) -> None:
        """Nothing here is paid for."""
        self.cancel(session)

    def told(self, _session: str) -> Sequence[Notice]:
        """Nothing: no statement here takes long."""
        return ()

    def show(self, _caller: Caller, _name: str, _settings: Settings) -> str:
        """Of budgets nothing: they belong to the data sources."""
        return ""

    def prepare(self, caller: Caller, sql: str, types: Sequence[int], settings: Settings) -> Prepared:
        """Parse and type a statement about the catalogue. Raises a ``Refusal`` for every other."""
        self._running[caller.session].clear()
        tree = None if is_privacy_statement(sql) or split_explain(sql) else parse(sql, NEUTRAL, bare=False)
        if tree is None or not self._catalogue.covers(tree):
            one = self._databases[0]
            raise Unsupported(
                f'there are no tables in the database "{NEUTRAL}"',
                hint=f'Connect to "{one}"; psql -l lists all there are.',
            )
        kinds, columns = self._catalogue.prepare(self._view(caller, settings), tree, types)
        body = Body("describe", tree, tuple(types))
        return Prepared(sql, kinds, columns, charged=False, body=body, is_catalogue=True)

    def run(self, caller: Caller, prepared: Prepared, values: Sequence[object], settings: Settings) -> Answer:
        """Answer it. Raises a ``Refusal``."""
        body = prepared.body
        if not isinstance(body, Body) or body.tree is None:
            raise TypeError("a statement of another engine")
        is_cancelled = self._running[caller.session].is_set
        view = self._view(caller, settings)
        return self._catalogue.run(view, body.tree, values, {}, is_cancelled, body.types)

    def known(
        self, _caller: Caller, _sql: str, _types: Sequence[int], _settings: Settings
    ) -> Prepared | None:
        """None is kept."""
        return None

    def again(
        self, _caller: Caller, _prepared: Prepared, _values: Sequence[object], _settings: Settings
    ) -> Answer | None:
        """None is kept."""
        return None

    def _view(self, caller: Caller, settings: Settings) -> CatalogueView:
        held = tuple(sorted(caller.roles))
        roles = tuple(sorted({"admin", *held}))
        known = NEUTRAL, caller.user, roles, (), settings, 0
        return CatalogueView(*known, databases=self._databases, process=caller.process, held=held)


class Databases:
    """The engines of the data sources, by the name a client connects to."""

    def __init__(self, config: Config, record: Record, tell: Callable[[str], None]) -> None:
        self._config = config
        self._record = record
        self._tell = tell
        self._engines: dict[str, Engine] = {}
        self._recorded: dict[str, Recorded] = {}
        self._failed: dict[str, str] = {}
        self._sessions: dict[str, Recorded | Neutral] = {}
        self._neutral = Neutral(config.databases)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="sources", daemon=True)

    def start(self) -> None:
        """Open them all. Raises ``StartupError`` where the only one, or every one, cannot be opened."""
        for name in self._config.databases:
            self._open(name)
        if not self._engines:
            raise StartupError("no data source could be opened")
        if self._failed:
            self._thread.start()

    def versions(self) -> dict[str, int]:
        """The version of each policy in force."""
        return {name: engine.policy.version for name, engine in self._engines.items()}

    def engine(self, name: str) -> Engine:
        """One that was opened."""
        return self._engines[name]

    def shut_down(self) -> None:
        """Close everything; what waits to be written is written."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        for engine in reversed(self._engines.values()):
            engine.shut_down()
        self._neutral.shut_down()

    # --- as sessions see it

    def database_exists(self, name: str) -> bool:
        """True where a data source has that name, whether or not it could be opened, and of `NEUTRAL`."""
        return name in (*self._config.databases, NEUTRAL)

    def configured(self, caller: Caller) -> Settings:
        """What the caller's sessions start with, where that is not the default."""
        return RoleSettings(self._config.root).of(caller)

    def login_failed(self, user: str, database: str, address: str) -> None:
        """A failed login is on record where it asked to go; elsewhere where there is no such data source."""
        recorded = self._recorded.get(database) or next(iter(self._recorded.values()), None)
        if recorded is not None:
            recorded.login_failed(user, address)

    def open(self, caller: Caller) -> None:
        """A session begins. Raises ``CannotConnectNow``."""
        engine: Recorded | Neutral | None = self._recorded.get(caller.database)
        if engine is None and caller.database not in self._config.databases:
            engine = self._neutral
        if engine is None:
            raise CannotConnectNow(
                f'database "{caller.database}" is not accepting connections',
                hint=f"the server's log says why; it is tried again every {AGAIN:.0f} s",
            )
        engine.open(caller)
        self._sessions[caller.session] = engine

    def close(self, caller: Caller) -> None:
        """A session ends."""
        self._sessions.pop(caller.session).close(caller)

    def cancel(self, session: str) -> None:
        """Interrupt what the session runs."""
        if (engine := self._sessions.get(session)) is not None:  # it may be over by now
            engine.cancel(session)

    def cancel_unpaid(self, session: str) -> None:
        """Interrupt what the session waits for before anything is charged."""
        if (engine := self._sessions.get(session)) is not None:
            engine.cancel_unpaid(session)

    def told(self, session: str) -> Sequence[Notice]:
        """What a running statement had to say."""
        return self._sessions[session].told(session)

    def show(self, caller: Caller, name: str, settings: Settings) -> str:
        """A setting that only the engine knows."""
        return self._sessions[caller.session].show(caller, name, settings)

    def prepare(self, caller: Caller, sql: str, types: Sequence[int], settings: Settings) -> Prepared:
        """Parse and type a statement."""
        return self._sessions[caller.session].prepare(caller, sql, types, settings)

    def run(self, caller: Caller, prepared: Prepared, values: Sequence[object], settings: Settings) -> Answer:
        """Answer a statement."""
        return self._sessions[caller.session].run(caller, prepared, values, settings)

    def known(self, caller: Caller, sql: str, types: Sequence[int], settings: Settings) -> Prepared | None:
        """A statement that was prepared before."""
        return self._sessions[caller.session].known(caller, sql, types, settings)

    def again(
        self, caller: Caller, prepared: Prepared, values: Sequence[object], settings: Settings
    ) -> Answer | None:
        """An answer that is at hand."""
        return self._sessions[caller.session].again(caller, prepared, values, settings)

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
        self._engines[name] = engine
        self._recorded[name] = self._record(name, engine)
        if self._failed.pop(name, None) is not None:
            tell("served from now on")

    def _start(self, config: Config, tell: Callable[[str], None]) -> Engine:
        """Not over a state that was moved away since the first attempt: nobody asked for another."""
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
                except Exception as error:  # noqa: BLE001 - a fault of ours; its text may hold a value
                    self._tell_of(name, f"not served: {type(error).__name__}")


@contextmanager
def opened(config: Config, tell: Callable[[str], None]) -> Iterator[Databases]:
    """All data sources of a configuration, watched as is configured. Raises ``StartupError``."""
    with recording(config, tell) as record:
        databases = Databases(config, record, tell)
        try:
            databases.start()
            yield databases
        finally:
            databases.shut_down()
