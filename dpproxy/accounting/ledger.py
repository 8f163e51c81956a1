"""The ledger: a charge is durable before data is touched, and is never given back."""

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from dpproxy.accounting import book, files, schema
from dpproxy.accounting.chain import Head, Mismatch, Seals
from dpproxy.accounting.database import Database
from dpproxy.accounting.limits import check, tightest
from dpproxy.accounting.model import Account, Charge, Cost, Debit, Entry, Reservation, Reset
from dpproxy.accounting.verify import verify
from dpproxy.accounting.windows import Standing, standing
from dpproxy.accounting.writer import Writer
from dpproxy.errors import LedgerUnavailable, StartupError

T = TypeVar("T")


class Ledger:
    """One ledger in one state directory, held by one process. Any thread may call any method.

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

    def __init__(self, path: Path, seals: Seals, head: Head, clock: Callable[[], int], lock: int) -> None:
        self.path = path
        self.seals = seals
        self.writer = Writer(Database(path, seals, head, clock))
        self._held = lock
        self._clock = clock
        self._reader: sqlite3.Connection | None = None
        self._reading = threading.Lock()

    @classmethod
    def open(
        cls, directory: str | Path, secret: bytes | None = None, clock: Callable[[], int] = time.time_ns
    ) -> Self:
        """Open the ledger of a state directory and verify all of it; at the first start it is made.

        Args:
            directory: the state directory, made where missing.
            secret: the key of the chain; without it the key is kept in ``ledger.key``.
            clock: nanoseconds since 1970.

        Errors: StartupError where it does not verify, cannot be read or written, or another process has it.
        """
        directory = Path(directory)
        path = directory / files.DATABASE
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            held = files.lock(directory)
        except OSError as error:
            raise StartupError(f"state directory {directory} cannot be used: {error.strerror}") from error
        try:
            seals = files.prepare(directory, secret)
            return cls(path, seals, _verified(path, seals), clock, held)
        except BaseException as error:
            os.close(held)
            if isinstance(error, (sqlite3.Error, OSError)):
                cause = error if shutil.disk_usage(directory).free else "the disk is full"
                raise StartupError(f"ledger {path} cannot be used ({cause}): refusing to serve") from error
            raise

    def reserve(self, charge: Charge) -> Reservation:
        """Debit every account of the charge, or none; returns once that is on the disk.

        Errors: BudgetExceeded with the first limit it passes; LedgerUnavailable where it cannot be written.
        """
        return self.writer.submit(lambda batch: batch.charge(charge))

    def reset(self, reset: Reset) -> Entry:
        """Let a budget, or one user of it, begin anew; ceilings never do. Errors: LedgerUnavailable."""
        return self.writer.submit(lambda batch: batch.reset(reset))

    def spent(self, account: Account) -> int:
        """What an account has paid since it was last let begin anew, nano-epsilon."""
        return self.paid(account).nano

    def paid(self, account: Account) -> Cost:
        """What an account has paid since it was last let begin anew, delta and rho too."""
        return self.standings(Debit(account))[0].spent

    def standings(self, *debits: Debit) -> list[Standing]:
        """How accounts stand now, by the ledger's clock: that of the last entry where this host's is behind it."""
        now = self._clock() // 1000

        def query(connection: book.Connection) -> list[Standing]:
            at = max(now, book.read_head(connection, self.seals).at)
            return [standing(connection, debit, at) for debit in debits]

        return self.read(query)

    def remaining(self, *debits: Debit) -> int | None:
        """What the tightest of the limited accounts lets one more release lose; None where none is limited."""
        return tightest(self.standings(*debits))

    def check(self, debits: Sequence[Debit], cost: Cost) -> None:
        """Raise ``BudgetExceeded`` where these accounts could not pay now; nothing is debited."""
        for found in self.standings(*debits):
            check(found, cost)

    def entries(self, who: str | None = None) -> list[Entry]:
        """The ledger in order, of one user or of all."""
        where, values = ("", ()) if who is None else ("WHERE e.who = ?", (who,))
        return self.read(
            lambda connection: [entry for entry, _ in book.read_entries(connection, where, values)]
        )

    def verify(self) -> int:
        """Check every row against the key, as at opening; returns the number of entries.

        Errors: StartupError with what is wrong.
        """
        return _verified(self.path, self.seals).sequence

    def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query over what is committed. Errors: LedgerUnavailable where the file cannot be read."""
        with self._reading:
            try:
                if self._reader is None:
                    self._reader = schema.connect(self.path, writing=False)
                return query(self._reader)
            except (sqlite3.Error, Mismatch) as error:
                self._drop_reader()
                raise LedgerUnavailable("the privacy ledger cannot be read") from error

    def close(self) -> None:
        """Write what waits and let go of the state directory. Closing twice is harmless."""
        if self._held < 0:
            return
        self.writer.close()
        with self._reading:
            self._drop_reader()
        os.close(self._held)
        self._held = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _drop_reader(self) -> None:
        if self._reader is not None:
            with suppress(sqlite3.Error):
                self._reader.close()
            self._reader = None


def _verified(path: Path, seals: Seals) -> Head:
    connection = schema.connect(path, writing=False)
    try:
        return verify(connection, seals)
    except Mismatch as error:
        where = "" if error.sequence is None else f" at entry {error.sequence}"
        raise StartupError(f"ledger {path} does not verify{where} ({error}): refusing to serve") from error
    finally:
        connection.close()
