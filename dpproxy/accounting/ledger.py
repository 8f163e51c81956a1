"""The ledger: a charge is durable before data is touched, and is never given back."""

import logging
import shutil
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeVar

from dpproxy.accounting import book, dearest, files, tally
from dpproxy.accounting.authentic import Authentic
from dpproxy.accounting.background import Background, OpenLedger
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.checkpoint import EVERY, Checkpoint, Checkpoints
from dpproxy.accounting.database import LedgerDatabase
from dpproxy.accounting.limits import LimitReached, check, tightest
from dpproxy.accounting.mark import MAKE, Mark
from dpproxy.accounting.model import Account, Charge, Cost, Debit, Drawing, LedgerEntry, Reservation, Reset
from dpproxy.accounting.store import Store, faults, first_line
from dpproxy.accounting.stores import store_of
from dpproxy.accounting.totals import Totals, UnknownTotal
from dpproxy.accounting.verifier import parallel
from dpproxy.accounting.verify import Verification, verify
from dpproxy.accounting.walk import Reach, unheard
from dpproxy.accounting.windows import DAY, Standing, owns, standings
from dpproxy.accounting.writer import Writer
from dpproxy.values.errors import LedgerUnavailable, StartupError

T = TypeVar("T")

_log = logging.getLogger(__name__)

FRESH = 0.02
"""Seconds for which the head of a ledger on a server is not read again for an answer that costs nothing."""
READERS = 4
"""The most connections that read at the same time."""


class Ledger:
    """One ledger, which other processes may have open too. Any thread may call any method.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from dpproxy.accounting.model import NANO
        >>> research = Debit(Account.budget("research"), limit=NANO)
        >>> asked = Charge("ann", bytes(32), 1, 1, "staircase", NANO, (research,), bytes(32), "count on t")
        >>> with TemporaryDirectory() as state, Ledger.open(state) as ledger:
        ...     ledger.reserve(asked).remaining
        ...     ledger.reserve(asked)
        Traceback (most recent call last):
        dpproxy.accounting.limits.LimitReached: privacy budget "research" has 0 epsilon left, the statement asks for 1
    """

    def __init__(
        self, store: Store, seals: Seals, found: Verification, mark: Mark | None, clock: Callable[[], int]
    ) -> None:
        self.store = store
        self.seals = seals
        self.mark = mark
        self._database = LedgerDatabase(store, seals, found.head, mark, clock)
        self.writer = Writer(self._database)
        self.authentic = Authentic(store, seals, found.begin)
        self._known = self._database.known
        self._clock = clock
        self._altered: str | None = None
        self._background: Background | None = None
        self._looking = threading.Lock()
        self._seen = 0.0, found.head
        """The head that was read last, and until when it need not be read again."""
        self._begun = 0
        """Reads of the head of a server so far, and what the last one of them found."""
        self._found: Head | LedgerUnavailable = found.head
        self._readers = deque[book.StoreConnection]()
        self._reading = threading.BoundedSemaphore(READERS)

    @classmethod
    def open(
        cls,
        directory: str | Path,
        secret: bytes | None = None,
        clock: Callable[[], int] = time.time_ns,
        *,
        url: str | None = None,
        high_water: Path | None = None,
    ) -> Self:
        """Open the ledger of a state directory and verify it; the first start creates it.

        What a checkpoint vouches for is verified once it is used, and in the background.

        Args:
            directory: the state directory, created if missing.
            secret: the key of the chain; without it the key is in ``ledger.key``.
            clock: returns nanoseconds since 1970.
            url: of a PostgreSQL database; without it the ledger is a SQLite file in the directory.
            high_water: the file of the high-water mark, created if the ledger has no entry yet.

        Errors: StartupError if the ledger does not verify, is behind its mark, or cannot be read or written.
        """
        directory = Path(directory)
        store = store_of(directory, url)
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with files.alone(directory / files.LOCK):
                return cls._open(store, directory, secret, clock, high_water)
        except faults() as error:
            raise _unusable(store, directory, error) from error

    @classmethod
    def _open(
        cls, store: Store, directory: Path, secret: bytes | None, clock: Callable[[], int], path: Path | None
    ) -> Self:
        seals = files.prepare(directory, secret, store)
        mark = None if path is None else Mark(path, seals)
        checkpoints = Checkpoints.of(directory, mark, seals)
        since = checkpoints.read()
        found = verified(store, seals, mark, since)
        head = found.head
        if mark is not None:
            if not head.sequence and not mark.path.exists():
                mark.make(head)
            mark.advance(head)
        ledger = cls(store, seals, found, mark, clock)
        ledger._watch(checkpoints, found, 0 if since is None else since.place.sequence)
        return ledger

    def _watch(self, checkpoints: Checkpoints, found: Verification, last: int) -> None:
        """Write a checkpoint where many entries were verified, and have the rest verified in the background."""
        if found.head.sequence - found.begin >= EVERY:
            try:
                checkpoints.write(found.head, found.sums)
                last = found.head.sequence
            except OSError as error:
                _log.warning("no checkpoint of the ledger can be written (%s)", error.strerror)

        def altered(reason: str) -> None:
            self._distrust(reason, checkpoints)

        watched = OpenLedger(
            found.begin, last, lambda: self._database.head.sequence, self.authentic.all, altered
        )
        self._background = Background(self.store, checkpoints, self.mark, watched)

    def _distrust(self, reason: str, checkpoints: Checkpoints) -> None:
        """Answer nothing from here on; the next start verifies everything, and says what is wrong."""
        self._altered = self._database.altered = reason
        _log.error("the privacy ledger was altered (%s): nothing is answered any more", reason)
        with suppress(OSError):
            checkpoints.forget()

    def reserve(self, charge: Charge) -> Reservation:
        """Debit every account of the charge, or none; returns once the entry is on the disk.

        Errors: BudgetExceeded for the first limit exceeded; LedgerUnavailable if the ledger cannot be written.
        """
        reservation = self.writer.submit(lambda batch: batch.charge(charge))
        tally.add(reservation)
        return reservation

    def reserve_once(self, charge: Charge, lost: int = 0, *, shares: bool = False) -> Reservation | Drawing:
        """As ``reserve``; where any process has just charged for the same release, it is told instead.

        But not of the charge ``lost``, whose answer did not come. ``shares``: for who has no budget left, too, since
        the answer of another user of the budget costs nothing.
        """
        found = self.writer.submit(lambda batch: batch.charge_once(charge, lost, shares=shares))
        if isinstance(found, Reservation):
            tally.add(found)
        return found

    def reset(self, reset: Reset) -> LedgerEntry:
        """Reset what a budget, or one user of it, has spent; a ceiling has no reset. Raises LedgerUnavailable."""
        return self.writer.submit(lambda batch: batch.reset(reset))

    def spent(self, account: Account) -> int:
        """What an account has paid since its last reset, in nano-epsilon."""
        return self.paid(account).nano

    def paid(self, account: Account) -> Cost:
        """What an account has paid since its last reset, as nano-epsilon, delta and rho."""
        return self.standings(Debit(account))[0].spent

    def standings(self, *debits: Debit) -> list[Standing]:
        """The balances of accounts now: by this host's clock, or by the last entry's time if the clock is behind it."""
        now = self._clock() // 1000

        def query(connection: book.StoreConnection) -> list[Standing]:
            head = book.read_head(connection, self.seals)
            totals = Totals(connection, self._known, head)
            found = standings(totals, debits, max(now, head.at))
            # Totals read after another process appended an entry include it: they must not be remembered for this head.
            if totals.has_read and book.read_head(connection, self.seals) == head:
                totals.publish(self._known, head)
            return found

        return self.read(query)

    def stood(self, reservation: Reservation, *debits: Debit) -> list[Standing]:
        """The balances right after a reservation of this process; the current ones if those are not remembered."""
        at, found = self._known.after(reservation.sequence, owns(debits))
        totals = Totals(None)
        totals.found = found
        try:
            return standings(totals, debits, max(self._clock() // 1000, at))
        except UnknownTotal:
            return self.standings(*debits)

    def moment(self, *, only_at_hand: bool = False) -> tuple[bytes, int] | None:
        """A value that changes with each entry and each day: while it is equal, no balance has changed.

        Of a server it may be ``FRESH`` seconds old, but not older than an entry of this process of before the call.
        With ``only_at_hand`` None where the server would have to be asked.
        """
        head = self._recent()
        if head is None and only_at_hand and not self.store.is_near:
            return None
        head = head or self._look()
        return head.mac, max(self._clock() // 1000, head.at) // DAY

    def _recent(self) -> Head | None:
        until, head = self._seen
        is_known = self._altered is None and time.monotonic() < until
        return head if is_known and head.sequence >= self._database.head.sequence else None

    def _look(self) -> Head:
        """The head as it is; who waited for a server takes what a read found that began since, a failure too."""
        if self.store.is_near:
            return self._read_head()
        before = self._begun
        with self._looking:
            head = self._recent()
            if head is not None:
                return head
            if self._begun == before or self._altered is not None:
                self._begun += 1
                at = time.monotonic()
                try:
                    self._found = self._read_head()
                except LedgerUnavailable as error:
                    self._found = error
                    raise
                except BaseException:
                    self._begun -= 1  # tells the others nothing
                    raise
                self._seen = at + FRESH, self._found
            found = self._found
        if isinstance(found, LedgerUnavailable):
            raise LedgerUnavailable(found.message, detail=found.detail) from found
        return found

    def _read_head(self) -> Head:
        return self.read(lambda connection: book.read_head(connection, self.seals))

    def remaining(self, *debits: Debit) -> int | None:
        """The loss that all accounts allow one more release, in nano-epsilon; None if no account has a limit."""
        return tightest(self.standings(*debits))

    def check(self, debits: Sequence[Debit], cost: Cost) -> None:
        """Raise ``BudgetExceeded`` if an account could not pay ``cost`` now; nothing is debited."""
        for found in self.standings(*debits):
            check(found, cost)

    def explained(self, refusal: LimitReached, who: str, *, is_admin: bool) -> str:
        """The detail of a refusal, with the statements that used up the limit; other users' as one total."""
        found = self.read(
            lambda connection: dearest.spent_by(
                connection, refusal.standing, book.read_head(connection, self.seals).sequence
            )
        )
        return f"{refusal.detail}{dearest.sentence(refusal.standing, found, who, is_admin=is_admin)}"

    def entries(self, who: str | None = None) -> list[LedgerEntry]:
        """The entries of one user, or of all, in order. Raises LedgerUnavailable."""
        where, values = ("", ()) if who is None else ("WHERE e.who = ?", (who,))
        return self.read(
            lambda connection: [entry for entry, _ in book.read_entries(connection, where, values)]
        )

    def charged(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the release keys for which the ledger has an entry."""
        marks = ", ".join("?" * len(keys))
        sql = f"SELECT release, origin FROM entry WHERE release IN ({marks})"  # noqa: S608 - placeholders alone
        if not keys:
            return set()

        def query(connection: book.StoreConnection) -> set[bytes]:
            found = connection.execute(sql, tuple(keys)).fetchall()
            self.authentic.require(connection, [origin for _, origin in found])
            return {bytes(key) for key, _ in found}

        return self.read(query)

    def verify(self) -> int:
        """Verify every row with the key, as ``open`` does; returns the number of entries.

        Errors: StartupError, which names the first fault.
        """
        try:
            return verified(self.store, self.seals, self.mark).head.sequence
        except faults() as error:
            raise StartupError(f"ledger {self.store.name} cannot be read ({first_line(error)})") from error

    @property
    def is_near(self) -> bool:
        """Whether the ledger is on this machine, so that reading it does not wait for a network."""
        return self.store.is_near

    def read(self, query: Callable[[book.StoreConnection], T]) -> T:
        """Run a query over the committed state. Raises LedgerUnavailable if the ledger cannot be read."""
        if self._altered is not None:
            raise LedgerUnavailable("the privacy ledger cannot be read", detail=_LOG)
        with self._reading:
            reader: book.StoreConnection | None = None
            try:
                reader = self._take()
                try:
                    found = query(reader)
                except faults():
                    if self.store.is_usable(reader):
                        raise
                    _drop(reader)
                    reader = None
                    reader = self.store.connect(writing=False)
                    found = query(reader)
            except BaseException as error:
                _drop(reader)
                if isinstance(error, faults(Mismatch)):
                    raise LedgerUnavailable("the privacy ledger cannot be read") from error
                raise
            self._readers.append(reader)
            return found

    def _take(self) -> book.StoreConnection:
        with suppress(IndexError):
            return self._readers.pop()
        return self.store.connect(writing=False)

    def close(self) -> None:
        """Write pending answers and close all connections. Closing twice is harmless."""
        if self._background is not None:
            self._background.close()
        self.writer.close()
        with suppress(IndexError):
            while True:
                _drop(self._readers.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _drop(reader: book.StoreConnection | None) -> None:
    if reader is not None:
        with suppress(*faults()):
            reader.close()


def verified(
    store: Store, seals: Seals, mark: Mark | None, since: Checkpoint | None = None, reach: Reach = unheard
) -> Verification:
    """Verify every row, or every row after a checkpoint, by several processes where there are many.

    ``reach`` is told which part is done, where every row is verified.

    Errors: StartupError, which names the first fault; ``faults()``.
    """
    try:
        return verify(store, seals, mark, since, parallel(store, seals, reach))
    except Mismatch as error:
        where = "" if error.sequence is None else f" at entry {error.sequence}"
        advice = "" if mark is None else f"; {_ACCEPT}"
        raise StartupError(
            f"ledger {store.name} does not verify{where} ({error}): {_REFUSING}{advice}"
        ) from error


_REFUSING = "refusing to serve"
_LOG = "The operator's log says why."
_ACCEPT = f"restore its newest state, or, where that is lost, accept what is there deliberately: {MAKE}"


def _unusable(store: Store, directory: Path, error: BaseException) -> StartupError:
    if not isinstance(error, sqlite3.Error | OSError):  # a server's
        cause = first_line(error)
    elif not shutil.disk_usage(directory).free:
        cause = "the disk is full"
    elif isinstance(error, OSError) and error.strerror:
        return StartupError(f"state directory {directory} cannot be used: {error.strerror}")
    else:
        cause = first_line(error)
    return StartupError(f"ledger {store.name} cannot be used ({cause}): {_REFUSING}")
