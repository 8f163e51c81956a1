"""Walks along the chain: every entry's mac computed anew, and what the entries add up to.

The bytes of an entry are those of ``Entry.canonical``, put together here without making an ``Entry``. The database
writes columns that come again and again as one JSON text, different for different values, whose encoding is looked up.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import lcm
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct, field
from msgspec.json import decode

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
REMEMBERED: Final = 2_000
"""Most encodings of a kind remembered from page to page."""
_POSITION: Final = attrgetter("position")
_NOTHING: Final = Cost()
# JSON has no raw tab or end of line, so that they separate.
_DEBIT: Final = (
    "json_array(d.position) || '\t' || json_array(d.kind, d.name, d.member, d.block, d.\"window\") || '\t' || "
    "json_array(d.limit_nano, d.nano, d.delta, d.rho)"
)
_ENTRIES: Final = (
    "SELECT e.sequence, e.at, e.statement, e.release, e.origin, e.label, e.note, e.mac, "  # noqa: S608 - our own text
    "json_array(e.kind, e.who, e.policy_version, e.data_version, e.mechanism, e.nano, e.delta, e.rho) || '', "
    f"(SELECT group_concat({_DEBIT}, '\n') FROM debit d WHERE d.origin = e.origin AND d.sequence = e.sequence) "
    "FROM entry e WHERE e.sequence > ? AND e.sequence <= ? ORDER BY e.sequence"
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


class _Debit(Struct):
    """Debits that are alike, and how many there were."""

    position: int
    encoded: bytes
    key: Key
    cost: Row
    count: int = 0


class _Postings(dict[str, tuple[bytes, list[_Debit]]]):
    """The debits of an entry and their encoding, by their text; added to the sums and forgotten now and then."""

    def __init__(self) -> None:
        self.entries: Counter[str] = Counter()
        self._debits: dict[str, _Debit] = {}
        self._accounts: dict[str, tuple[Key, bytes]] = {}
        self._costs: dict[str, tuple[Row, bytes]] = {}

    def __missing__(self, text: str) -> tuple[bytes, list[_Debit]]:
        debits = [self._debits.get(line) or self._read(line) for line in text.split("\n")] if text else []
        debits.sort(key=_POSITION)
        if [debit.position for debit in debits] != list(range(len(debits))):
            raise ValueError("debits are not numbered from 0")
        encoded = b"".join([debit.encoded for debit in debits])
        found = self[text] = b"l%d:%b" % (len(encoded), encoded), debits
        return found

    def _read(self, line: str) -> _Debit:
        position, account, cost = line.split("\t")
        if account not in self._accounts:
            key = tuple(decode(account))
            account_of(key)  # refuses a kind that is not known
            self._accounts[account] = key, encode(*key)
        if cost not in self._costs:
            _, nano, _, rho = row = tuple(decode(cost))
            if nano and rho == "0":
                raise ValueError("every loss has a rho: limits under ZCDP count it")
            self._costs[cost] = row, encode(*row)
        (key, first), (row, second) = self._accounts[account], self._costs[cost]
        encoded = b"l%d:%b%b" % (len(first) + len(second), first, second)
        found = self._debits[line] = _Debit(decode(position, type=tuple[int])[0], encoded, key, row)
        return found

    @property
    def is_full(self) -> bool:
        """Whether there are so many that they are better forgotten."""
        return max(len(self), len(self._debits)) >= REMEMBERED

    def empty(self, walked: Segment) -> None:
        """Add all of them to the sums: as whole numbers over one denominator, for fractions are slow."""
        for text, count in self.entries.items():
            for debit in self[text][1]:
                debit.count += count
        parts = {row: (Fraction(row[2]), Fraction(row[3])) for row, _ in self._costs.values()}
        over = lcm(*(part.denominator for both in parts.values() for part in both))
        whole = {row: (row[1], *(int(part * over) for part in both)) for row, both in parts.items()}
        sums: dict[Key, tuple[int, int, int]] = {}
        for debit in self._debits.values():
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
        for some in (self, self.entries, self._debits, self._accounts, self._costs):
            some.clear()


def unheard(_: float) -> None:
    """Nobody asks how far the work is."""


def walk(
    connection: book.StoreConnection, seals: Seals, begin: ChainPlace, until: int, reach: Reach = unheard
) -> Segment:
    """Check every entry after ``begin`` up to the one numbered ``until``; ``reach`` is told which part is done.

    Errors: Mismatch for the first that is wrong or missing; ValueError for a row that no ledger writes.
    """
    walked, postings = Segment(begin.sequence, begin), _Postings()
    while (first := walked.end.sequence) < until:
        last = min(first + PAGE, until)
        walked.end = _check(seals, postings, connection.execute(_ENTRIES, (first, last)), walked)
        if walked.end.sequence < last:
            raise Mismatch("the chain is broken", walked.end.sequence + 1)
        if postings.is_full:
            postings.empty(walked)
        reach((last - begin.sequence) / (until - begin.sequence))
    postings.empty(walked)
    return walked


def _check(seals: Seals, postings: _Postings, rows: book.Result, walked: Segment) -> ChainPlace:
    """The end of a page, its macs being right: each is of the mac before it, and of ``Entry.canonical``."""
    number, mac, time = walked.end.sequence, walked.end.mac, walked.end.at
    texts = []
    for sequence, at, statement, release, origin, label, note, stored, constant, text in rows:
        number += 1
        texts.append(text or "")
        encoded, debits = postings[text or ""]
        kind, who, rest = _constant(constant)
        digits, moment, charge = (
            b"%d" % sequence,
            b"%a" % at,
            b"%a" % origin,
        )  # a number that is not whole shows
        mac = seals.mac(b"%bs5:entryi%d:%b%bi%d:%b%bb%d:%b%bb%d:%bi%d:%b%b%b%b" % (
            mac, len(digits), digits, kind, len(moment), moment, who, len(statement), statement, rest,
            len(release), release, len(charge), charge, _text(label), _text(note), encoded,
        ))  # fmt: skip
        if sequence != number or mac != stored or at < time:
            raise Mismatch("the chain is broken", number)
        time = at
        if origin <= walked.begin:
            walked.late += len(debits)
    postings.entries.update(texts)
    return ChainPlace(number, mac, time)


_text = lru_cache(REMEMBERED)(encode)


@lru_cache(REMEMBERED)
def _constant(text: str) -> tuple[bytes, bytes, bytes]:
    """The encodings of an entry's kind, of who asked, and of its versions, mechanism and cost."""
    kind, who, *rest = decode(text)
    return encode(kind), encode(who), encode(*rest)


def check_releases(connection: book.StoreConnection, seals: Seals, first: int, last: int) -> None:
    """Check the mac of every stored release of a charge after ``first`` up to ``last``. Errors: Mismatch."""
    for origin, key, nano, payload, mac in connection.execute(_RELEASES, (first, last)):
        number, loss = b"%d" % origin, b"%d" % nano
        message = b"s7:releasei%d:%bb%d:%bi%d:%bb%d:%b" % (
            len(number), number, len(key), key, len(loss), loss, len(payload), payload,
        )  # fmt: skip
        if seals.mac(message) != mac:
            raise Mismatch("a stored release was altered", origin)
