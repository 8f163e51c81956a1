"""Walks along the chain: every entry's mac computed anew, and what the entries add up to.

The bytes of an entry are those of ``Entry.canonical``, put together here without making an ``Entry``: most fields and
nearly all debits come again and again, so that their encoding is looked up.
"""

import hashlib
import hmac
from collections.abc import Callable
from fractions import Fraction
from math import lcm
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct, field

from dpproxy.accounting import book
from dpproxy.accounting.canonical import encode
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.model import Cost, Key, account_of

Row = tuple[Any, ...]
Sums = dict[Key, Cost]
"""What accounts have paid."""

Reach = Callable[[float], None]
"""Is told which part of the work is done, from 0 to 1."""

PAGE: Final = 1_000
"""Entries read at a time."""
REMEMBERED: Final = 50_000
"""Most encodings remembered at a time."""
_POSITION: Final = attrgetter("position")
_NOTHING: Final = Cost()
_DEBITS: Final = (
    'SELECT e.sequence, d.position, d.kind, d.name, d.member, d.block, d."window", d.limit_nano, d.nano, d.delta, '
    "d.rho FROM entry e JOIN debit d ON d.origin = e.origin AND d.sequence = e.sequence "
    "WHERE e.sequence > ? AND e.sequence <= ?"
)
_ENTRIES: Final = (
    "SELECT sequence, kind, at, who, statement, policy_version, data_version, mechanism, nano, delta, rho, release, "
    "origin, label, note, mac FROM entry WHERE sequence > ? AND sequence <= ? ORDER BY sequence"
)
_RELEASES: Final = "SELECT origin, key, nano, payload, mac FROM release WHERE origin > ? AND origin <= ?"


class ChainPlace(Struct, frozen=True):
    """A place in the chain: an entry's number, mac and time; of no entry 0, the mac of the ledger's identifier, 0."""

    sequence: int
    mac: bytes
    at: int


class Segment(Struct):
    """A piece of the chain whose macs are right.

    Attributes:
        begin: the number of the entry before it.
        debits: how many debits its entries have.
        late: how many of them are for a release of before the piece.
        sums: what they add up to by account.
    """

    begin: int
    end: ChainPlace
    debits: int = 0
    late: int = 0
    sums: Sums = field(default_factory=dict)

    def add(self, key: Key, cost: Cost) -> None:
        """Debit an account."""
        self.sums[key] = self.sums.get(key, _NOTHING) + cost

    def follow(self, other: "Segment") -> None:
        """Append the piece that begins where this one ends."""
        self.end = other.end
        self.debits += other.debits
        self.late += other.late
        for key, cost in other.sums.items():
            self.add(key, cost)


class _Encoded(dict[Any, str]):
    """The encoding of texts and numbers, as text."""

    def __missing__(self, value: str | int) -> str:
        if len(self) >= REMEMBERED:
            self.clear()
        found = self[value] = encode(value).decode()
        return found


class _Debit(Struct):
    """Debits that are alike, and how many there were."""

    position: int
    encoded: bytes
    key: Key
    cost: Row
    count: int = 0


class _Debits(dict[Row, _Debit]):
    """By the columns of a debit from its position on; added to the sums now and then, so that they stay few."""

    def __init__(self) -> None:
        self._accounts: dict[Row, bytes] = {}
        self._costs: dict[Row, bytes] = {}

    def __missing__(self, row: Row) -> _Debit:
        key, cost = row[1:6], row[6:]
        account = self._accounts.get(key)
        if account is None:
            account_of(key)  # refuses a kind that is not known
            account = self._accounts[key] = encode(*key)
        if cost[1] and cost[3] == "0":
            raise ValueError("every loss has a rho: limits under ZCDP count it")
        rest = self._costs.get(cost) or self._costs.setdefault(cost, encode(*cost))
        found = self[row] = _Debit(row[0], b"l%d:%b%b" % (len(account) + len(rest), account, rest), key, cost)
        return found

    def empty(self, walked: Segment) -> None:
        """Add all of them to the sums: as whole numbers over one denominator, for fractions are slow."""
        parts = {cost: (Fraction(cost[2]), Fraction(cost[3])) for cost in self._costs}
        over = lcm(*(part.denominator for both in parts.values() for part in both))
        whole = {cost: (cost[1], *(int(part * over) for part in both)) for cost, both in parts.items()}
        sums: dict[Key, tuple[int, int, int]] = {}
        for debit in self.values():
            count = debit.count
            walked.debits += count
            nano, delta, rho = whole[debit.cost]
            before = sums.get(debit.key, (0, 0, 0))
            sums[debit.key] = (
                before[0] + count * nano,
                before[1] + count * delta,
                before[2] + count * rho,
            )
        for key, (nano, delta, rho) in sums.items():
            walked.add(key, Cost(nano, Fraction(delta, over), Fraction(rho, over)))
        for some in (self, self._accounts, self._costs):
            some.clear()


def unheard(_: float) -> None:
    """Nobody asks how far the work is."""


def walk(
    connection: book.StoreConnection, seals: Seals, begin: ChainPlace, until: int, reach: Reach = unheard
) -> Segment:
    """Check every entry after ``begin`` up to the one numbered ``until``; ``reach`` is told which part is done.

    Errors: Mismatch for the first that is wrong or missing; ValueError for a row that no ledger writes.
    """
    walked = Segment(begin.sequence, begin)
    encoded, debits = _Encoded(), _Debits()
    while (first := walked.end.sequence) < until:
        pages = first, min(first + PAGE, until)
        walked.end = _check(connection, seals, encoded, pages, _page(connection, debits, pages), walked)
        if walked.end.sequence < pages[1]:
            raise Mismatch("the chain is broken", walked.end.sequence + 1)
        if len(debits) >= REMEMBERED:
            debits.empty(walked)
        reach((pages[1] - begin.sequence) / (until - begin.sequence))
    debits.empty(walked)
    return walked


def _page(
    connection: book.StoreConnection, debits: _Debits, pages: tuple[int, int]
) -> dict[int, list[_Debit]]:
    """The debits of each entry of a page."""
    found: dict[int, list[_Debit]] = {}
    for row in connection.execute(_DEBITS, pages):
        debit = debits[row[1:]]
        debit.count += 1
        own = found.get(row[0])
        if own is None:
            found[row[0]] = [debit]
        else:
            own.append(debit)
    return found


def _check(
    connection: book.StoreConnection,
    seals: Seals,
    encoded: _Encoded,
    pages: tuple[int, int],
    found: dict[int, list[_Debit]],
    walked: Segment,
) -> ChainPlace:
    """The end of a page, its macs being right."""
    number, mac, time = walked.end.sequence, walked.end.mac, walked.end.at
    for row in connection.execute(_ENTRIES, pages):
        number += 1
        own = found.get(row[0], [])
        mac = hmac.digest(seals.key, _message(mac, row, _postings(own), encoded), hashlib.sha256)
        if row[0] != number or row[15] != mac or row[2] < time:
            raise Mismatch("the chain is broken", number)
        time = row[2]
        if row[12] <= walked.begin:
            walked.late += len(own)
    return ChainPlace(number, mac, time)


def _postings(own: list[_Debit]) -> bytes:
    """The debits of one entry in the order of their positions, which count from 0."""
    own.sort(key=_POSITION)
    if [debit.position for debit in own] != list(range(len(own))):
        raise ValueError("debits are not numbered from 0")
    return b"".join([debit.encoded for debit in own])


def _message(before: bytes, row: Row, postings: bytes, encoded: _Encoded) -> bytes:
    """What the mac of an entry is of: the mac before it, and ``Entry.canonical``."""
    (
        sequence,
        kind,
        at,
        who,
        statement,
        policy,
        data,
        mechanism,
        nano,
        delta,
        rho,
        release,
        origin,
        label,
        note,
        _,
    ) = row
    number, time, charge = str(sequence), str(at), str(origin)
    return b"".join((
        before,
        f"s5:entryi{len(number)}:{number}{encoded[kind]}i{len(time)}:{time}{encoded[who]}b{len(statement)}:".encode(),
        statement,
        f"{encoded[policy]}{encoded[data]}{encoded[mechanism]}{encoded[nano]}{encoded[delta]}{encoded[rho]}b{len(release)}:".encode(),
        release,
        f"i{len(charge)}:{charge}{encoded[label]}{encoded[note]}l{len(postings)}:".encode(),
        postings,
    ))  # fmt: skip


def check_releases(connection: book.StoreConnection, seals: Seals, first: int, last: int) -> None:
    """Check the mac of every stored release of a charge after ``first`` up to ``last``. Errors: Mismatch."""
    for origin, key, nano, payload, mac in connection.execute(_RELEASES, (first, last)):
        number, loss = b"%d" % origin, b"%d" % nano
        message = b"s7:releasei%d:%bb%d:%bi%d:%bb%d:%b" % (
            len(number), number, len(key), key, len(loss), loss, len(payload), payload,
        )  # fmt: skip
        if hmac.digest(seals.key, message, hashlib.sha256) != mac:
            raise Mismatch("a stored release was altered", origin)
