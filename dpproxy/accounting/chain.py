"""The HMAC chain: what makes an altered, dropped or reordered entry visible to whoever holds the key."""

import hashlib
import hmac
from dataclasses import dataclass, field
from functools import lru_cache

from dpproxy.accounting.canonical import encode
from dpproxy.accounting.model import Entry


class Mismatch(Exception):
    """The ledger is not what this key wrote; ``sequence`` is the first wrong entry, if known."""

    def __init__(self, what: str, sequence: int | None = None) -> None:
        super().__init__(what)
        self.sequence = sequence


@dataclass(frozen=True, slots=True)
class Head:
    """How far the chain goes.

    Attributes:
        ledger: random name of this ledger, 16 bytes.
        at: the high-water mark of the clock, microseconds.
        mac: of the last entry; of the ledger's name before the first.
    """

    format: int
    ledger: bytes
    sequence: int
    at: int
    mac: bytes


@dataclass(frozen=True, slots=True)
class Seals:
    """Authenticates entries, the head and stored releases with one key, each in a domain of its own."""

    key: bytes = field(repr=False)

    def mac(self, message: bytes) -> bytes:
        """The HMAC of a message that says what it is of."""
        return hmac.digest(self.key, message, hashlib.sha256)

    def genesis(self, ledger: bytes, version: int) -> Head:
        """The head of an empty ledger."""
        return Head(version, ledger, 0, 0, self.mac(encode("genesis", version, ledger)))

    def entry(self, previous: bytes, entry: Entry) -> bytes:
        """The mac of an entry that follows the one with mac ``previous``."""
        return self.mac(previous + entry.canonical())

    def head(self, head: Head) -> bytes:
        """The seal on the head."""
        return _sealed(self, head)

    def release(self, origin: int, key: bytes, nano: int, payload: bytes) -> bytes:
        """The mac of a stored release."""
        return self.mac(encode("release", origin, key, nano, payload))


@lru_cache(maxsize=16)
def _sealed(seals: Seals, head: Head) -> bytes:
    """The head that was written last is read before each statement."""
    return seals.mac(encode("head", head.format, head.ledger, head.sequence, head.at, head.mac))
