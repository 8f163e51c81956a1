"""All data sources of a configuration as one engine: what a session asks goes to the source it is connected to.

A source that cannot be opened takes no other down: its database is refused with 57P03 and it is tried again.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from dpproxy.config import Config
from dpproxy.engine import Engine
from dpproxy.errors import CannotConnectNow, StartupError
from dpproxy.plan import Answer, Caller, Notice, Prepared, Settings
from dpproxy.recorded import Record, Recorded, recording
from dpproxy.role_settings import RoleSettings

AGAIN = 30.0
"""Seconds between two attempts to open a source that could not be opened."""


class Databases:
    """The engines of the data sources, by the name a client connects to."""

    def __init__(self, config: Config, record: Record, tell: Callable[[str], None]) -> None:
        self._config = config
        self._record = record
        self._tell = tell
        self._engines: dict[str, Engine] = {}
        self._recorded: dict[str, Recorded] = {}
        self._failed: dict[str, str] = {}
        self._sessions: dict[str, Recorded] = {}
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

    # --- as sessions see it

    def database_exists(self, name: str) -> bool:
        """True where a data source has that name, whether or not it could be opened."""
        return name in self._config.databases

    def configured(self, caller: Caller) -> Settings:
        """What the caller's sessions start with, where that is not the default."""
        return RoleSettings(self._config.root).of(caller)

    def open(self, caller: Caller) -> None:
        """A session begins. Raises ``CannotConnectNow``."""
        engine = self._recorded.get(caller.database)
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
