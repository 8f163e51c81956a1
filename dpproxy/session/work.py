"""The session's interface to engines, and to the server that makes its slow calls."""

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeVar, cast

from msgspec import Struct

from dpproxy.algebra.plan import Answer, Caller, Notice, Settings
from dpproxy.algebra.request import Oids, Prepared, Request
from dpproxy.values.grid import beginning
from dpproxy.wire.messages import Backend

T = TypeVar("T")


class Engine(Protocol):
    """Answers the statements of one database. Methods are called from any thread, one at a time for each session.

    With ``only_at_hand`` a method returns None rather than wait, parse or plan.
    """

    def close(self, caller: Caller) -> None:
        """A session ends."""

    def prepare(
        self, caller: Caller, sql: str, types: Oids, settings: Settings, *, only_at_hand: bool = False
    ) -> Prepared | None:
        """Parse and type a statement, which spends nothing. ``types`` are parameter OIDs, 0 for unknown."""

    def run(self, request: Request, *, only_at_hand: bool = False) -> Answer | None:
        """Answer a prepared statement. With ``only_at_hand`` the answer costs nothing."""

    def cancel(self, session: str, *, only_unpaid: bool = False) -> None:
        """Interrupt the session's statement, if any; with ``only_unpaid``, one that was charged runs to its end."""

    def news(self, session: str) -> Sequence[Notice]:
        """The notices of the session's running statement since the last call."""

    def show(self, caller: Caller, name: str, settings: Settings) -> str:
        """The value of a setting that the engine computes."""


class Engines(Protocol):
    """The databases that clients connect to; every method is called from any thread."""

    def database_exists(self, name: str) -> bool:
        """True where a data source has that name."""

    def initial_settings(self, caller: Caller) -> Settings:
        """The settings that the caller's sessions start with, where they differ from the defaults."""

    def login_failed(self, user: str, database: str, address: str) -> None:
        """Somebody could not prove to be a user; it is put on record. Never waits."""

    def connect(self, caller: Caller) -> Engine:
        """A session begins."""


class LongCall(Struct, frozen=True):
    """A call that may take long. The outcome of a charged one leaves on the grid of its ``deadline`` (seconds)."""

    call: Callable[[], object]
    charged: bool = False
    deadline: float = 0.0
    notices: Callable[[], Sequence[Backend]] | None = None
    """Returns messages to send while the call runs, each message once."""
    at_hand: Callable[[], object] = lambda: None
    """Returns what the call would return where that needs no waiting; else None."""
    continues: bool = False
    """Whether it continues the last statement, whose time limit and cancellation then apply to it, too."""


Outcome = tuple[object, Exception | None]
"""What a call returned, or the exception it raised."""


def outcome(call: Callable[[], object], start: float | None = None) -> Outcome:
    """Make a call; ``start`` is when its client's padding grid begins, if it has one."""
    with beginning(start):
        return attempt(call)


def attempt(call: Callable[[], object]) -> Outcome:
    """Make a call, and catch its exception."""
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001 - thrown again where the session waits for it
        return None, error


Steps = Generator[Backend | LongCall, object, T]
"""Messages to send and work to do, in order; returns a value of the given type."""


def work(
    call: Callable[[], T | None],
    *,
    charged: bool = False,
    deadline: float = 0.0,
    notices: Callable[[], Sequence[Backend]] | None = None,
    at_hand: Callable[[], T | None] = lambda: None,
    continues: bool = False,
) -> Steps[T]:
    """Yield a call as ``LongCall``; returns its result, or raises its exception."""
    return cast("T", (yield LongCall(call, charged, deadline, notices, at_hand, continues)))
