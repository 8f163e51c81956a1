"""While a ledger is open: the verification of what a start did not verify, and further checkpoints.

Both are done by a process of their own (`verifier`), which takes what the processors have left.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from dpproxy.accounting.checkpoint import EVERY, Checkpoints
from dpproxy.accounting.mark import Mark
from dpproxy.accounting.store import Store
from dpproxy.accounting.verifier import Order, Outcome, running

DELAY: Final = 2.0
"""Seconds after the start: then it serves."""
POLL: Final = 20.0
"""Seconds between two looks at how far the ledger has grown."""
_log = logging.getLogger(__name__)


class OpenLedger(Struct, frozen=True):
    """An open ledger.

    Attributes:
        begin: the number of the entry up to which nothing was verified when it was opened.
        last: the number of the entry at which its last checkpoint is.
        reached: the number of its last entry now.
        verified: called once, when all of it was verified.
        altered: called with the reason where it does not verify.
    """

    begin: int
    last: int
    reached: Callable[[], int]
    verified: Callable[[], None]
    altered: Callable[[str], None]


class Background:
    """A thread that has a ledger verified."""

    def __init__(
        self, store: Store, checkpoints: Checkpoints, mark: Mark | None, watched: OpenLedger
    ) -> None:
        self._order: Order = {
            "task": "checkpoint",
            "key": checkpoints.seals.key.hex(),
            "store": store.address,
            "mark": None if mark is None else str(mark.path),
            "checkpoint": str(checkpoints.path),
        }
        self._watched = watched
        self._is_owed = watched.begin > 0
        self._last = watched.last
        self._closed = threading.Event()
        self._kill: Callable[[], None] = _nothing
        self._thread = threading.Thread(target=self._run, name="ledger verification", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it, whatever it is at."""
        self._closed.set()
        self._kill()
        self._thread.join()

    def _run(self) -> None:
        wait = DELAY
        while not self._closed.wait(wait):
            wait = POLL
            if self._is_owed or self._watched.reached() >= self._last + EVERY:
                self._verify()

    def _verify(self) -> None:
        """One verification; what could not be done is tried again."""
        try:
            with running({**self._order, "whole": self._is_owed}) as (outcome, kill):
                self._kill = kill
                if not self._closed.is_set():
                    self._note(outcome())
        except OSError as error:
            if not self._closed.is_set():
                _log.warning(
                    "the privacy ledger could not be verified (%s): tried again", error.strerror or error
                )
        finally:
            self._kill = _nothing

    def _note(self, outcome: Outcome) -> None:
        if "altered" in outcome:
            at = "" if outcome["at"] is None else f" at entry {outcome['at']}"
            self._watched.altered(f"it does not verify{at}: {outcome['altered']}")
            self._closed.set()
        elif "failed" in outcome:
            raise OSError(outcome["failed"])
        else:
            self._last = outcome["verified"]
            if self._is_owed:
                self._is_owed = False
                self._watched.verified()


def _nothing() -> None:
    """Nothing runs that could be killed."""
