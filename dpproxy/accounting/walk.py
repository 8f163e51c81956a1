"""Walks along the chain: every entry's mac computed anew, and what the entries add up to.

The bytes of an entry are those of ``Entry.canonical``, put together here without making an ``Entry``. The database
writes columns that come again and again as one JSON text, different for different values, whose encoding is looked up.
"""

import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter
from typing import Final

from msgspec import Struct, field
from msgspec.json import Decoder

from dpproxy.accounting import book
from dpproxy.accounting.canonical import encode
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.model import NANO, AccountKind, Cost, Key

Row = tuple[int, str, str, str, str, int, int | None, int, str, str]
"""Of a debit: its position, its account, the limit in force, and its cost."""
Sums = dict[Key, Cost]
"""What accounts have paid."""

Reach = Callable[[float], None]
"""Is told which part of the work is done, from 0 to 1."""

PAGE: Final = 1_000
"""Entries read at a time."""
REMEMBERED: Final = 10_000
"""Most encodings of a kind remembered from page to page."""
_WHOLE: Final = 2 * NANO**2
"""Times this, every rho of a loss in nano-epsilon is a whole number, which is quicker to add than a fraction."""
_KINDS: Final = {kind.column for kind in AccountKind}
_NUMBER: Final = re.compile("([0-9]+)(?:/([0-9]+))?").fullmatch
_POSITION: Final = itemgetter(0)
_DEBIT: Final = (
    'd.position, d.kind, d.name, d.member, d.block, d."window", d.limit_nano, d.nano, d.delta, d.rho'
)
_ENTRIES: Final = (
    "SELECT e.sequence, e.at, e.statement, e.release, e.origin, e.label, e.note, e.mac, "  # noqa: S608 - our own text
    "json_array(e.kind, e.who, e.policy_version, e.data_version, e.mechanism, e.nano, e.delta, e.rho) || '', "
    f"(SELECT json_group_array(json_array({_DEBIT})) FROM debit d "
    "WHERE d.origin = e.origin AND d.sequence = e.sequence) || '' "
    "FROM entry e WHERE e.sequence > ? AND e.sequence <= ? ORDER BY e.sequence"
)
_RELEASES: Final = "SELECT origin, key, nano, payload, mac FROM release WHERE origin > ? AND origin <= ?"
_read: Final = Decoder(list[Row]).decode
_read_constant: Final = Decoder(tuple[str, str, int, int, str, int, str, str]).decode


class ChainPlace(Struct, frozen=True):
    """A place in the chain: an entry's number, mac and time; of no entry 0, the mac of the ledger's identifier, 0."""

    sequence: int
    mac: bytes
    at: int


class Paid(Struct, gc=False):
    """What an account has paid, delta and rho in parts of ``_WHOLE``; fractions of them only where they must be."""

    nano: int = 0
    delta: int | Fraction = 0
    rho: int | Fraction = 0

    def add(self, other: "Paid", times: int = 1) -> None:
        """Add what was paid so many times."""
        self.nano += times * other.nano
        self.delta += times * other.delta
        self.rho += times * other.rho

    @classmethod
    def told(cls, nano: int, delta: str, rho: str) -> "Paid":
        """As tables and checkpoints have it. Errors: ValueError."""
        return cls(nano, _parts(delta), _parts(rho))

    @property
    def cost(self) -> Cost:
        """The same as a cost."""
        return Cost(self.nano, Fraction(self.delta, _WHOLE), Fraction(self.rho, _WHOLE))


class Segment(Struct):
    """A piece of the chain whose macs are right.

    Attributes:
        begin: the number of the entry before it.
        debits: how many debits its entries have.
        late: how many of them are for a release of before the piece.
        paid: what they add up to by account.
    """

    begin: int
    end: ChainPlace
    debits: int = 0
    late: int = 0
    paid: dict[Key, Paid] = field(default_factory=dict)

    @property
    def sums(self) -> Sums:
        """The same as costs."""
        return {key: paid.cost for key, paid in self.paid.items()}

    def account(self, key: Key) -> Paid:
        """What an account has paid, to add to."""
        return self.paid.get(key) or self.paid.setdefault(key, Paid())

    def follow(self, other: "Segment") -> None:
        """Append the piece that begins where this one ends."""
        self.end = other.end
        self.debits += other.debits
        self.late += other.late
        for key, paid in other.paid.items():
            self.account(key).add(paid)

    def include(self, sums: Sums) -> None:
        """Add what was paid before."""
        for key, cost in sums.items():
            self.account(key).add(Paid(cost.nano, cost.delta * _WHOLE, cost.rho * _WHOLE))


class _Postings(dict[str, tuple[bytes, list[tuple[Paid, Paid]]]]):
    """The encoding of an entry's debits, and to what each adds what, by their text; forgotten now and then."""

    def __init__(self, walked: Segment) -> None:
        self.entries: Counter[str] = Counter()
        self._walked = walked
        self._accounts: dict[Key, tuple[bytes, Paid]] = {}
        self._costs: dict[tuple[int, str, str], tuple[bytes, Paid]] = {}

    def __missing__(self, text: str) -> tuple[bytes, list[tuple[Paid, Paid]]]:
        rows = _read(text)
        rows.sort(key=_POSITION)
        if [row[0] for row in rows] != list(range(len(rows))):
            raise ValueError("debits are not numbered from 0")
        encoded, debits = [], []
        for row in rows:
            key, cost = row[1:6], row[7:]
            first, account = self._accounts.get(key) or self._account(key)
            last, paid = self._costs.get(cost) or self._cost(cost)
            limit = _text(row[6])
            encoded.append(b"l%d:%b%b%b" % (len(first) + len(limit) + len(last), first, limit, last))
            debits.append((account, paid))
        joined = b"".join(encoded)
        found = self[text] = b"l%d:%b" % (len(joined), joined), debits
        return found

    def _account(self, key: Key) -> tuple[bytes, Paid]:
        if key[0] not in _KINDS:
            raise ValueError("an account of a kind that is not known")
        kind, name, member, block = (text.encode() for text in key[:4])
        window = b"%d" % key[4]
        encoded = b"s%d:%bs%d:%bs%d:%bs%d:%bi%d:%b" % (
            len(kind), kind, len(name), name, len(member), member, len(block), block, len(window), window,
        )  # fmt: skip
        found = self._accounts[key] = encoded, self._walked.account(key)
        return found

    def _cost(self, cost: tuple[int, str, str]) -> tuple[bytes, Paid]:
        if cost[0] and cost[2] == "0":
            raise ValueError("every loss has a rho: limits under ZCDP count it")
        found = self._costs[cost] = _loss(*cost), Paid.told(*cost)
        return found

    @property
    def is_full(self) -> bool:
        """Whether there are so many that they are better forgotten."""
        return max(len(self), len(self._accounts), len(self._costs)) >= REMEMBERED

    def empty(self) -> None:
        """Add all of them to what accounts have paid."""
        for text, count in self.entries.items():
            debits = self[text][1]
            self._walked.debits += count * len(debits)
            for account, paid in debits:
                account.add(paid, count)
        for some in (self, self.entries, self._accounts, self._costs):
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
    postings = _Postings(walked)
    while (first := walked.end.sequence) < until:
        last = min(first + PAGE, until)
        walked.end = _check(seals, postings, connection.execute(_ENTRIES, (first, last)), walked)
        if walked.end.sequence < last:
            raise Mismatch("the chain is broken", walked.end.sequence + 1)
        if postings.is_full:
            postings.empty()
        reach((last - begin.sequence) / (until - begin.sequence))
    postings.empty()
    return walked


def _check(seals: Seals, postings: _Postings, rows: book.Result, walked: Segment) -> ChainPlace:
    """The end of a page, its macs being right: each is of the mac before it, and of ``Entry.canonical``."""
    number, mac, time = walked.end.sequence, walked.end.mac, walked.end.at
    texts = []
    for sequence, at, statement, release, origin, label, note, stored, constant, text in rows:
        number += 1
        texts.append(text or _NONE)
        encoded, debits = postings[text or _NONE]
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


_NONE: Final = "[]"
_text = lru_cache(REMEMBERED)(encode)


@lru_cache(REMEMBERED)
def _parts(text: str) -> int | Fraction:
    """A number, as ``str`` writes a Fraction, as parts of ``_WHOLE``. Errors: ValueError."""
    if not (found := _NUMBER(text)):
        raise ValueError("no fraction that is not negative")
    above, below = found.groups("1")
    if not (divisor := int(below)):
        raise ValueError("a fraction of 0")
    parts, rest = divmod(int(above) * _WHOLE, divisor)
    return Fraction(int(above) * _WHOLE, divisor) if rest else parts


@lru_cache(REMEMBERED)
def _constant(text: str) -> tuple[bytes, bytes, bytes]:
    """The encodings of an entry's kind, of who asked, and of its versions, mechanism and cost."""
    kind, who, policy, data, mechanism, nano, delta, rho = _read_constant(text)
    versions = _text(policy), _text(data), _text(mechanism)
    return _text(kind), _text(who), b"%b%b%b%b" % (*versions, _loss(nano, delta, rho))


def _loss(nano: int, delta: str, rho: str) -> bytes:
    first, second, third = b"%d" % nano, delta.encode(), rho.encode()
    return b"i%d:%bs%d:%bs%d:%b" % (len(first), first, len(second), second, len(third), third)


def check_releases(connection: book.StoreConnection, seals: Seals, first: int, last: int) -> None:
    """Check the mac of every stored release of a charge after ``first`` up to ``last``. Errors: Mismatch."""
    for origin, key, nano, payload, mac in connection.execute(_RELEASES, (first, last)):
        number, loss = b"%d" % origin, b"%d" % nano
        message = b"s7:releasei%d:%bb%d:%bi%d:%bb%d:%b" % (
            len(number), number, len(key), key, len(loss), loss, len(payload), payload,
        )  # fmt: skip
        if seals.mac(message) != mac:
            raise Mismatch("a stored release was altered", origin)
