"""Transaction status and the settings that change with it. A rollback refunds nothing."""

from datetime import UTC, datetime
from enum import Enum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from dpproxy.algebra.plan import Settings
from dpproxy.config.settings import (
    MOST_OF_OTHERS,
    SETTINGS,
    find,
    is_shared,
    keep_one_way,
    moments,
    normalise,
)
from dpproxy.values.errors import FixedSetting, InvalidParameter, NoTransaction, TooComplex, UnknownSavepoint
from dpproxy.values.structs import PartlyCompared

OF_TRANSACTION: Final = ("transaction_isolation", "transaction_read_only", "transaction_deferrable")


MOST_SAVEPOINTS: Final = 5000
"""The most savepoints of a transaction; each holds a copy of the settings."""
_LONGEST_NAME: Final = 63
"""Characters of a savepoint's name that count, as in PostgreSQL."""


class Status(Enum):
    """The transaction status that ReadyForQuery sends."""

    IDLE = b"I"
    BLOCK = b"T"
    FAILED = b"E"


class Savepoint(Struct, frozen=True):
    """What ROLLBACK TO returns to; a portal with a number above ``newest`` was opened later."""

    name: str
    settings: Settings
    after_commit: Settings
    newest: int


class Transaction(PartlyCompared, Struct):
    """The settings of a session and the state of its transaction.

    ``settings`` are in effect; ``after_commit`` are those that a commit leaves (without SET LOCAL), ``after_rollback``
    those that a rollback returns to, and ``initial`` those that RESET returns to.
    """

    UNCOMPARED = frozenset({"start_time", "arrival"})

    initial: Settings
    settings: Settings = field(default_factory=dict)
    after_commit: Settings = field(default_factory=dict)
    after_rollback: Settings = field(default_factory=dict)
    status: Status = Status.IDLE
    start_time: datetime | None = None
    """When the transaction began; None before its first statement."""
    arrival: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When the current message arrived."""
    several: bool = False
    """True inside a message of several statements, which is a transaction of its own."""
    _savepoints: list[Savepoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.settings:
            self.settings = self.after_commit = self.after_rollback = self.initial

    def copy(self) -> "Transaction":
        """A copy whose changes do not show here."""
        return replace(self, _savepoints=list(self._savepoints))

    # --- settings

    def set(self, name: str, text: str, *, local: bool = False) -> None:
        """Give a setting a value.

        Errors: those of ``settings.checked``.
        """
        key = find(name).name.lower()
        local = self._ends_with_transaction(key, local=local)
        if key not in self.settings and len(self.settings) >= len(SETTINGS) + MOST_OF_OTHERS:
            raise TooComplex(
                f"more than {MOST_OF_OTHERS} settings of other namespaces in one session",
                hint="a new connection starts without them",
            )
        self._put(key, normalise(name, text, self.settings), local=local)
        current = key.removeprefix("default_")
        if current in OF_TRANSACTION and current != key and self.status is Status.IDLE:
            self._put(current, self.settings[key], local=local)

    def reset(self, name: str, *, local: bool = False) -> None:
        """Give a setting the value it had at the session's start.

        Errors: ``UndefinedObject``, ``FixedSetting``, ``InvalidParameter`` for one that can only be lowered.
        """
        setting = find(name)
        key = setting.name.lower()
        if setting.check is None:
            raise FixedSetting(f'parameter "{setting.name}" cannot be changed')
        if setting.one_way and self.settings[key] == setting.one_way:
            return
        local = self._ends_with_transaction(key, local=local)
        if key not in self.initial:
            self._put(key, "", local=local)
            return
        if setting.lowers_only and self.settings[key] != self.initial[key]:
            raise InvalidParameter(
                f'parameter "{setting.name}" can only be lowered within a session',
                hint="a new connection starts without it",
            )
        self._put(key, self.initial[key], local=local)

    def _ends_with_transaction(self, key: str, *, local: bool) -> bool:
        """Whether a change ends with the transaction: on a shared connection, every change of a dp setting does.

        Errors, on a shared connection: ``NoTransaction`` outside a transaction; ``InvalidParameter`` for a setting that
        can only be lowered.
        """
        if not key.startswith("dp.") or not is_shared(self.settings):
            return local
        setting = SETTINGS[key]
        if setting.lowers_only:
            raise InvalidParameter(
                f'parameter "{setting.name}" cannot be changed on a connection that is shared',
                hint="Set it of the role, whose connections then begin with it.",
            )
        if self.status is Status.IDLE and not self.several and not setting.one_way:
            raise NoTransaction(
                f'parameter "{setting.name}" would stay for whoever has this connection next',
                hint="Begin a transaction: in it, it can be set for as long as that lasts.",
            )
        return not setting.one_way

    def reset_all(self) -> None:
        """Reset every setting, except those that can only be lowered or that cannot change again."""
        self.settings = self.after_commit = keep_one_way(self.initial, self.settings)

    def _put(self, key: str, value: str, *, local: bool) -> None:
        self.settings = {**self.settings, key: value}
        if not local:
            self.after_commit = {**self.after_commit, key: value}

    # --- time

    def arrive(self) -> None:
        """Note the arrival of a message, which begins a transaction where none is open."""
        self.arrival = datetime.now(UTC)
        self.start_time = self.start_time or self.arrival

    def present(self) -> str:
        """The times that ``now()`` and the like return, as ``settings.moments`` writes them."""
        self.start_time = self.start_time or self.arrival
        return moments(self.start_time, self.arrival)

    # --- blocks

    def begin(self) -> None:
        """Open a block; earlier statements of the same message become part of it."""
        self.status = Status.BLOCK
        for key in OF_TRANSACTION:
            self._put(key, self.settings[f"default_{key}"], local=True)

    def commit(self) -> None:
        """End the block, or the message's own transaction, keeping what SET did."""
        self._end(keep_one_way(self.after_commit, self.settings))

    def rollback(self) -> None:
        """End the block, or the message's own transaction, undoing what SET did."""
        self._end(keep_one_way(self.after_rollback, self.settings))

    def fail(self) -> None:
        """A statement was refused: a block waits for its ROLLBACK, anything else is rolled back at once."""
        if self.status is Status.IDLE:
            self.rollback()
        else:
            self.status = Status.FAILED

    def _end(self, settings: Settings) -> None:
        self.settings = self.after_commit = self.after_rollback = settings
        self.status = Status.IDLE
        self.start_time = None
        self._savepoints.clear()

    # --- savepoints

    @property
    def newest_kept(self) -> int:
        """The number of the newest portal that the last savepoint keeps; -1 where there is none."""
        return self._savepoints[-1].newest if self._savepoints else -1

    def save(self, name: str, newest: int) -> None:
        """SAVEPOINT. Errors: ``TooComplex``."""
        if len(self._savepoints) >= MOST_SAVEPOINTS:
            raise TooComplex(
                f"more than {MOST_SAVEPOINTS} savepoints in one transaction",
                hint="release those no longer needed",
            )
        self._savepoints.append(Savepoint(name[:_LONGEST_NAME], self.settings, self.after_commit, newest))

    def release(self, name: str) -> None:
        """RELEASE: forget the newest savepoint of that name, and those after it.

        Errors: ``UnknownSavepoint``.
        """
        del self._savepoints[self._find(name) :]

    def rollback_to(self, name: str) -> None:
        """ROLLBACK TO: undo what SET did since; the savepoint stays, a failed block is usable again.

        Errors: ``UnknownSavepoint``.
        """
        at = self._find(name)
        to = self._savepoints[at]
        now = self.settings
        self.settings, self.after_commit = keep_one_way(to.settings, now), keep_one_way(to.after_commit, now)
        self.status = Status.BLOCK
        del self._savepoints[at + 1 :]

    def _find(self, name: str) -> int:
        for at in reversed(range(len(self._savepoints))):
            if self._savepoints[at].name == name[:_LONGEST_NAME]:
                return at
        raise UnknownSavepoint(f'savepoint "{name}" does not exist')
