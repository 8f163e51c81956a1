"""What a session asks of the world: an engine, and calls that may take long."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

from dpproxy.algebra.plan import Answer, Caller, Notice, Settings
from dpproxy.algebra.request import Prepared, Request
from dpproxy.values.grid import beginning
from dpproxy.wire.messages import Backend

T = TypeVar("T")


class Engine(Protocol):
    """What answers the statements of one database. Methods are called from any thread, one for a session at a time.

    With ``only_at_hand`` nothing waits, is parsed or planned: None stands for what would take that.
    """

    def close(self, caller: Caller) -> None:
        """A session ends."""

    def prepare(
        self,
        caller: Caller,
        sql: str,
        types: Sequence[int],
        settings: Settings,
        *,
        only_at_hand: bool = False,
    ) -> Prepared | None:
        """Parse and type one statement; spends nothing. ``types`` are parameter OIDs, 0 for unknown."""

    def run(self, request: Request, *, only_at_hand: bool = False) -> Answer | None:
        """Answer a prepared statement; at hand is only what costs nothing."""

    def cancel(self, session: str, *, only_unpaid: bool = False) -> None:
        """Interrupt what the session runs now, if anything; where ``only_unpaid``, what is paid for runs on."""

    def news(self, session: str) -> Sequence[Notice]:
        """What the statement that a session runs had to say since this was asked last."""

    def show(self, caller: Caller, name: str, settings: Settings) -> str:
        """The value of a setting that only the engine knows."""


class Engines(Protocol):
    """The databases that clients connect to; every method is called from any thread."""

    def database_exists(self, name: str) -> bool:
        """True where a data source has that name."""

    def configured(self, caller: Caller) -> Settings:
        """What the caller's sessions start with, where that is not the default."""

    def login_failed(self, user: str, database: str, address: str) -> None:
        """Somebody could not prove to be a user; it is put on record. Never waits."""

    def connect(self, caller: Caller) -> Engine:
        """A session begins."""


@dataclass(frozen=True, slots=True)
class Work:
    """A call that may take long; the outcome of a charged one leaves on the grid of its deadline, in seconds."""

    call: Callable[[], object]
    charged: bool = False
    deadline: float = 0.0
    notices: Callable[[], Sequence[Backend]] | None = None
    """What the call has to say while it goes on, each message once."""
    at_hand: Callable[[], object] = lambda: None
    """What the call would return, where that takes no waiting; else None."""
    continues: bool = False
    """More of the statement that ran last: its limit of time, and a cancel since it began, are for this as well."""


Outcome = tuple[object, Exception | None]
"""What a call returned, or the exception it raised."""


def outcome(call: Callable[[], object], start: float | None = None) -> Outcome:
    """Make a call, whose work began at ``start`` where a client's grid does."""
    with beginning(start):
        return attempt(call)


def attempt(call: Callable[[], object]) -> Outcome:
    """Make a call."""
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001 - thrown again where the session waits for it
        return None, error


Steps = Generator[Backend | Work, object, T]
"""What to send and what to do, in order; ends with a value of the type given."""


def work(
    call: Callable[[], T | None],
    *,
    charged: bool = False,
    deadline: float = 0.0,
    notices: Callable[[], Sequence[Backend]] | None = None,
    at_hand: Callable[[], T | None] = lambda: None,
    continues: bool = False,
) -> Steps[T]:
    """Have ``call`` done and return what it returned."""
    return cast("T", (yield Work(call, charged, deadline, notices, at_hand, continues)))
