"""One entry of the audit log. It holds what was asked, never what was answered: no value of a row is in it."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from dpproxy.accounting.canonical import encode
from dpproxy.values.errors import Refusal

LONGEST = 2_000
"""Characters kept of a statement with its parameters, and of a reason."""


class Outcome(Enum):
    """The kind of thing that was told."""

    ANSWERED = "answered"
    """With noise, at a price."""
    REPLAYED = "replayed"
    """From what was released before, at no price."""
    FREE = "free"
    """From public tables or the policy alone."""
    EXPLAINED = "explained"
    ADMINISTERED = "administered"
    """A privacy statement was done."""
    BUILDING = "building"
    """A protected view was charged; written before its rows are read, so that it is there if the build is cut short."""
    EXACT = "exact"
    """Without noise; written before the rows are read, so that it says what may have been told."""
    EXACT_PLAN = "exact plan"
    """The sizes and bounds that planning an exact answer reads; written before they are read."""
    REFUSED = "refused"
    NO_LOGIN = "login failed"
    """Whoever it was could not prove to be the user that is named."""
    LOST = "not recorded"
    """The log could not be written for a while; the reason says how many entries are missing."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What happened; ``at`` is in microseconds since 1970, ``nano`` the price in nano-epsilon."""

    at: int
    user: str
    roles: str
    outcome: Outcome
    statement: str = field(repr=False)
    nano: int = 0
    sqlstate: str = ""
    reason: str = field(default="", repr=False)

    def canonical(self) -> bytes:
        """All of it, one way only."""
        return encode(
            self.at,
            self.user,
            self.roles,
            self.outcome.value,
            self.statement,
            self.nano,
            self.sqlstate,
            self.reason,
        )


def cut(text: str) -> str:
    """The beginning of a text that is too long; what no file can hold is replaced."""
    sound = text.encode("utf-8", "replace").decode("utf-8")
    return sound if len(sound) <= LONGEST else f"{sound[: LONGEST - 1]}…"


def asked(sql: str, values: Sequence[object] = ()) -> str:
    """A statement and its parameters, as the caller sent them."""
    given = "".join(f" -- ${n} = {_shown(value)}" for n, value in enumerate(values, 1))
    return cut(re.sub(r"\s+", " ", sql).strip()[:LONGEST] + given)


def _shown(value: object) -> str:
    return "NULL" if value is None else str(value)[:LONGEST]


def reason(refusal: Refusal) -> str:
    """Why, in the words that the caller was told."""
    return cut(refusal.message)


@dataclass(frozen=True, slots=True)
class Seal:
    """Authenticates entries and the ends of their chain with one key."""

    key: bytes = field(repr=False)

    def entry(self, previous: bytes, sequence: int, entry: Entry) -> bytes:
        """The mac of an entry that follows the one with mac ``previous``."""
        return self._mac(b"entry" + previous + encode(sequence) + entry.canonical())

    def mark(self, name: str, sequence: int, mac: bytes) -> bytes:
        """The seal on an end of the chain."""
        return self._mac(encode("mark", name, sequence, mac))

    def _mac(self, message: bytes) -> bytes:
        return hmac.digest(self.key, message, hashlib.sha256)


def seal(secret: bytes) -> Seal:
    """The seal of the log, from a secret that other things are made from, too."""
    return Seal(hmac.digest(secret, b"dpproxy audit log", hashlib.sha256))
