"""One entry of the audit log: the statement and its outcome, never the answer or any value of a row."""

import hashlib
import hmac
from collections.abc import Sequence
from enum import Enum
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from dpproxy.accounting.canonical import encode
from dpproxy.policy.user_statements import is_user_statement, names_password
from dpproxy.values.errors import Refusal, SyntaxRefused
from dpproxy.values.structs import PartlyShown

LONGEST = 2_000
"""The most characters of a statement with its parameters, and of a reason."""


class AuditOutcome(Enum):
    """What became of a statement."""

    ANSWERED = "answered"
    """Answered with noise and charged."""
    REPLAYED = "replayed"
    """Answered from an earlier release, at no charge."""
    FREE = "free"
    """Answered from public tables or the policy alone."""
    EXPLAINED = "explained"
    ADMINISTERED = "administered"
    """A privacy statement was executed."""
    BUILDING = "building"
    """A protected view was charged; written before its rows are read, so that it is there if the build is cut short."""
    EXACT = "exact"
    """Answered without noise; written before the rows are read, so no exact answer is missing from the log."""
    EXACT_PLAN = "exact plan"
    """The sizes and bounds that planning an exact answer reads; written before they are read."""
    REFUSED = "refused"
    NO_LOGIN = "login failed"
    """Authentication failed for the user named."""
    LOST = "not recorded"
    """The log could not be written for a while; the reason says how many entries are missing."""


class AuditEntry(PartlyShown, Struct, frozen=True):
    """What happened; ``at`` is in microseconds since 1970, ``nano`` the price in nano-epsilon."""

    HIDDEN = frozenset({"statement", "reason"})

    at: int
    user: str
    roles: str
    outcome: AuditOutcome
    statement: str
    nano: int = 0
    sqlstate: str = ""
    reason: str = ""

    def canonical(self) -> bytes:
        """An unambiguous encoding of all fields in order, which the mac is computed over."""
        return encode(*self.values())

    def values(self) -> tuple[Any, ...]:
        """The fields in order, as they are stored."""
        at, user, roles, outcome, *rest = astuple(self)
        return at, user, roles, outcome.value, *rest


def shorten(text: str) -> str:
    """The text, cut to ``LONGEST`` characters; characters that UTF-8 cannot encode are replaced."""
    sound = text.encode("utf-8", "replace").decode("utf-8")
    return sound if len(sound) <= LONGEST else f"{sound[: LONGEST - 1]}…"


def statement_text(sql: str, values: Sequence[object] = ()) -> str:
    """A statement and its parameters, as the caller sent them."""
    sql = without_password(sql)
    given = "".join(f" -- ${n} = {_value_text(value)}" for n, value in enumerate(values, 1))
    return shorten(sql.strip()[:LONGEST] + given)


def without_password(sql: str) -> str:
    """The statement up to a password that it sets."""
    try:
        holds = names_password(sql) and is_user_statement(sql)
    except SyntaxRefused:
        holds = True
    return (
        sql[: sql.lower().index("password")] + "PASSWORD ..." if holds and "password" in sql.lower() else sql
    )


def _value_text(value: object) -> str:
    return "NULL" if value is None else str(value)[:LONGEST]


def reason(refusal: Refusal) -> str:
    """The reason of a refusal, in the words the caller received."""
    return shorten(refusal.message)


class Seal(PartlyShown, Struct, frozen=True):
    """Authenticates entries and the ends of their chain with one key."""

    HIDDEN = frozenset({"key"})

    key: bytes

    def entry(self, previous: bytes, sequence: int, entry: AuditEntry) -> bytes:
        """The mac of an entry that follows the one with mac ``previous``."""
        return self._mac(b"entry" + previous + encode(sequence) + entry.canonical())

    def mark(self, name: str, sequence: int, mac: bytes) -> bytes:
        """The seal on an end of the chain."""
        return self._mac(encode("mark", name, sequence, mac))

    def _mac(self, message: bytes) -> bytes:
        return hmac.digest(self.key, message, hashlib.sha256)


def seal(secret: bytes) -> Seal:
    """The seal of the log, from a key that is derived from ``secret``."""
    return Seal(hmac.digest(secret, b"dpproxy audit log", hashlib.sha256))
