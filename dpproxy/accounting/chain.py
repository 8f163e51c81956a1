"""The HMAC chain over the ledger: with the key, an altered, dropped or reordered entry is detected."""

import hashlib
import hmac
from functools import lru_cache

from msgspec import Struct

from dpproxy.accounting.canonical import encode, pieces
from dpproxy.accounting.model import LedgerEntry
from dpproxy.values.structs import PartlyShown


class Mismatch(Exception):
    """The ledger differs from what was written with this key; ``sequence`` is the first wrong entry, if known."""

    def __init__(self, what: str, sequence: int | None = None) -> None:
        super().__init__(what)
        self.sequence = sequence


class Head(Struct, frozen=True):
    """The end of the chain.

    Attributes:
        ledger: random identifier of this ledger, 16 bytes.
        at: the high-water mark of the clock, microseconds.
        mac: the last entry's; in an empty ledger, that of the ledger's identifier.
    """

    format: int
    ledger: bytes
    sequence: int
    at: int
    mac: bytes


class Seals(PartlyShown, Struct, frozen=True):
    """Computes macs of entries, heads and stored releases with one key.

    Each kind of message has a tag of its own, so that the mac of one kind is never valid for another.
    """

    HIDDEN = frozenset({"key"})

    key: bytes

    def mac(self, *message: bytes) -> bytes:
        """The HMAC of a message in pieces, which must contain the tag of its kind."""
        found = _keyed(self.key).copy()
        for piece in message:
            found.update(piece)
        return found.digest()

    def genesis(self, ledger: bytes, version: int) -> Head:
        """The head of an empty ledger."""
        return Head(version, ledger, 0, 0, self.mac(encode("genesis", version, ledger)))

    def entry(self, previous: bytes, entry: LedgerEntry) -> bytes:
        """The mac of an entry that follows the one with mac ``previous``."""
        return self.mac(previous + entry.canonical())

    def head(self, head: Head) -> bytes:
        """The mac that is stored beside the head, so that a shortened ledger does not verify."""
        return _sealed(self, head)

    def release(self, origin: int, key: bytes, nano: int, payload: bytes) -> bytes:
        """The mac of a stored release."""
        return self.mac(*pieces("release", origin, key, nano, payload))


@lru_cache(maxsize=16)
def _keyed(key: bytes) -> hmac.HMAC:
    """Cached: reading the key takes as long as reading a short message does."""
    return hmac.new(key, digestmod=hashlib.sha256)


@lru_cache(maxsize=16)
def _sealed(seals: Seals, head: Head) -> bytes:
    """Cached: the same head is read again before each statement."""
    return seals.mac(encode("head", head.format, head.ledger, head.sequence, head.at, head.mac))
