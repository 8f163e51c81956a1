"""The values of accounting: who is debited, what a statement costs, what the ledger holds (nano-epsilon)."""

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from dpproxy.accounting.canonical import encode
from dpproxy.policy.interval import Interval

NANO = 1_000_000_000
"""Nano-epsilon in one epsilon."""

MAX_NANO = 2**63 - 1
"""The most an account can hold, also where no limit is declared."""

NO_DELTA = Fraction(0)
NO_RHO = Fraction(0)


Own = tuple[str, str, str]
"""Kind, name and member of an account, in all its blocks and windows."""


class Kind(Enum):
    """The kinds of account, in the order in which their limits are checked."""

    SESSION = "session"
    USER = "user"
    BUDGET = "budget"
    CEILING = "ceiling"

    def __init__(self, column: str) -> None:
        self.column = column  # what ``value`` is, which takes long to say


@dataclass(frozen=True, slots=True)
class Account:
    """One account: its key is all five fields, compared separately, so that no names can run into each other.

    Attributes:
        name: the unit's table for a ceiling, the budget for BUDGET and USER, the session's random name.
        member: the user for USER, the budget for SESSION.
        block: the block of disjoint people of a ceiling, "" for everybody.
        window: when it was debited, as ``windows`` numbers it; 0 where nobody asks for a time. Of a ceiling 1 for what
            only concentrated accounting bounds, else 0.
    """

    kind: Kind
    name: str
    member: str = ""
    block: str = ""
    window: int = 0

    @property
    def own(self) -> Own:
        """The account in all its blocks and windows."""
        return self.kind.column, self.name, self.member

    @classmethod
    def ceiling(cls, table: str, block: str = "") -> "Account":
        """The most that all statements together may learn about one unit of ``table``, or of a block of its units."""
        return cls(Kind.CEILING, table, block=block)

    @classmethod
    def budget(cls, name: str) -> "Account":
        """All users of a budget together."""
        return cls(Kind.BUDGET, name)

    @classmethod
    def user(cls, budget: str, user: str) -> "Account":
        """One user of a budget."""
        return cls(Kind.USER, budget, user)

    @classmethod
    def session(cls, name: str, budget: str = "") -> "Account":
        """What one connection pays from a budget."""
        return cls(Kind.SESSION, name, budget)


@dataclass(frozen=True, slots=True)
class Debit:
    """An account that pays, and its limits in force now; None: recorded without one.

    Attributes:
        account: its window is the ledger's to say.
        limit: in nano-epsilon, for people where ``rho_limit`` is the one that holds.
        rho_limit: of concentrated losses; where there is one, losses add up as rho.
        refresh: how often the account refills, None for never.
    """

    account: Account
    limit: int | None = None
    delta_limit: Fraction | None = None
    rho_limit: Fraction | None = None
    refresh: Interval | None = None

    def left(self, spent: "Cost") -> int | None:
        """What one more release may lose after ``spent``, in nano-epsilon; None without a limit."""
        if self.rho_limit is not None:
            rho = max(NO_RHO, self.rho_limit - spent.rho)
            return isqrt(2 * NANO * NANO * rho.numerator // rho.denominator)
        return None if self.limit is None else max(0, self.limit - spent.nano)

    def delta_left(self, spent: "Cost") -> Fraction | None:
        """The delta that one more release may cost; None without a limit."""
        return None if self.delta_limit is None else max(NO_DELTA, self.delta_limit - spent.delta)


@dataclass(frozen=True, slots=True)
class Charge:
    """What one statement is about to cost.

    Attributes:
        statement: canonical hash, 32 bytes.
        nano: the loss, the same for every account debited.
        delta: what it costs besides, in every account too.
        debits: at most one per account.
        release: key of the exact stage and the data version, 32 bytes.
        label: a short public description such as ``count, avg(age) by sex on adult``;
            never the analyst's own text.
        concentrated: what ``nano`` says holds as rho = nano**2 / 2 alone: no pure epsilon bounds the release.

    Errors: ValueError for anything the ledger could not hold.
    """

    who: str
    statement: bytes
    policy_version: int
    data_version: int
    mechanism: str
    nano: int
    debits: tuple[Debit, ...]
    release: bytes
    label: str
    delta: Fraction = NO_DELTA
    concentrated: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.nano <= MAX_NANO:
            raise ValueError("a loss is a positive number of nano-epsilon below 2^63")
        if not 0 <= self.delta < 1:
            raise ValueError("delta is from 0 to below 1")
        if len(self.statement) != 32 or len(self.release) != 32:
            raise ValueError("hashes have 32 bytes")
        if len({debit.account for debit in self.debits}) != len(self.debits):
            raise ValueError("an account is debited once per charge")
        if any(debit.limit is not None and not 0 <= debit.limit <= MAX_NANO for debit in self.debits):
            raise ValueError("a limit is from 0 to 2^63 - 1 nano-epsilon")
        if any((limit or 0) < 0 for debit in self.debits for limit in (debit.delta_limit, debit.rho_limit)):
            raise ValueError("a limit of delta or rho is not below 0")
        if any(debit.account.window for debit in self.debits):
            raise ValueError("the window of an account is the ledger's to say")
        # Text that is not Unicode fails here, in the caller, not in the thread that writes.
        names = (name for d in self.debits for name in (d.account.name, d.account.member, d.account.block))
        "".join((self.who, self.mechanism, self.label, *names)).encode()

    @property
    def cost(self) -> "Cost":
        """What every account is debited."""
        return Cost.of(self.nano, self.delta)


@dataclass(frozen=True, slots=True)
class Reset:
    """A budget, or one user of it, is to begin anew.

    Errors: ValueError for another kind of account, and for anything the ledger could not hold.
    """

    who: str
    account: Account
    reason: str
    label: str
    policy_version: int
    data_version: int

    def __post_init__(self) -> None:
        if self.account.kind not in (Kind.BUDGET, Kind.USER) or self.account.window:
            raise ValueError("a budget or a user of it begins anew, nothing else does")
        encode(self.who, self.reason, self.label, *key_of(self.account))


@dataclass(frozen=True, slots=True)
class Posting:
    """One debit as the ledger holds it: ``delta`` and ``rho`` are rationals as text."""

    account: Account
    limit: int | None
    nano: int
    delta: str = "0"
    rho: str = "0"


class EntryKind(Enum):
    """What an entry records. The meaning of a stored kind never changes; new meanings get new kinds."""

    CHARGE = "charge"
    """A new release from data: debits every account of the charge."""
    ADOPT = "adopt"
    """A stored release shown to somebody new: debits only the accounts it had not cost yet."""
    RESET = "reset"
    """An administrator lets a budget, or one user of it, begin anew: debits nothing, names the window that begins."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger.

    Attributes:
        sequence: from 1, without gaps.
        at: microseconds since 1970 in UTC, never less than the entry before.
        origin: sequence of the charge whose release this pays for: its own for a charge.
        note: a reason given by an administrator.
    """

    sequence: int
    kind: str
    at: int
    who: str
    statement: bytes
    policy_version: int
    data_version: int
    mechanism: str
    nano: int
    delta: str
    rho: str
    release: bytes
    origin: int
    label: str
    note: str
    postings: tuple[Posting, ...]

    def canonical(self) -> bytes:
        """The bytes the chain authenticates: every field, postings in order."""
        postings = tuple((*key_of(p.account), p.limit, p.nano, p.delta, p.rho) for p in self.postings)
        return encode(
            "entry", self.sequence, self.kind, self.at, self.who, self.statement, self.policy_version,
            self.data_version, self.mechanism, self.nano, self.delta, self.rho, self.release, self.origin,
            self.label, self.note, postings,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cost:
    """What is paid, or was so far: nano-epsilon, delta, and rho of the same losses; each of them adds up."""

    nano: int = 0
    delta: Fraction = NO_DELTA
    rho: Fraction = NO_RHO

    @classmethod
    def of(cls, nano: int, delta: Fraction = NO_DELTA) -> "Cost":
        """The cost of one release: (epsilon, delta) is at most epsilon**2 / 2 of rho besides the same delta."""
        return cls(nano, delta, _rho(nano))

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.nano + other.nano, _plus(self.delta, other.delta), _plus(self.rho, other.rho))

    def __or__(self, other: "Cost") -> "Cost":
        """The larger of each: what people pay at most of whom everybody pays one of the two."""
        return Cost(max(self.nano, other.nano), max(self.delta, other.delta), max(self.rho, other.rho))


@lru_cache(maxsize=1024)
def _rho(nano: int) -> Fraction:
    return Fraction(nano * nano, 2 * NANO * NANO)


def _plus(one: Fraction, other: Fraction) -> Fraction:
    """Their sum; most deltas are 0, and a Fraction takes long to add it."""
    return one + other if one and other else one or other


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that is durable: the data may now be touched.

    Attributes:
        before: the debits as they were asked for, each with what counted against its limits before this charge.
    """

    entry: Entry
    before: tuple[tuple[Debit, Cost], ...]

    @property
    def sequence(self) -> int:
        """The entry's number in the ledger."""
        return self.entry.sequence

    @property
    def cost(self) -> Cost:
        """What it debits."""
        return Cost.of(self.entry.nano, Fraction(self.entry.delta))

    @property
    def spent(self) -> tuple[tuple[Debit, Cost], ...]:
        """The debits as they were asked for, each with what counts against its limits after this charge."""
        return tuple((debit, spent + self.cost) for debit, spent in self.before)

    @property
    def remaining(self) -> int | None:
        """What one more statement may lose, in nano-epsilon; None where nothing is limited."""
        return min(
            (left for debit, total in self.spent if (left := debit.left(total)) is not None), default=None
        )


@dataclass(frozen=True, slots=True)
class Stored:
    """A released answer that was kept.

    Attributes:
        id: sequence of the charge that paid for it first.
        payers: every account debited for it so far.
    """

    id: int
    nano: int
    payload: bytes = field(repr=False)
    payers: frozenset[Account]


Key = tuple[str, str, str, str, int]
"""An account's key as the tables hold it."""


def key_of(account: Account) -> Key:
    """The account as columns."""
    return (account.kind.column, account.name, account.member, account.block, account.window)


def account_of(key: Key) -> Account:
    """The columns as an account; ValueError for a kind this version does not know."""
    kind, name, member, block, window = key
    return Account(Kind(kind), name, member, block, window)


def format_epsilon(nano: int) -> str:
    """Exact decimal epsilon.

    Example:
        >>> format_epsilon(100_000_000), format_epsilon(2 * NANO), format_epsilon(1)
        ('0.1', '2', '0.000000001')
    """
    whole, rest = divmod(nano, NANO)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def format_delta(delta: Fraction, rounding: str = ROUND_CEILING) -> str:
    """A delta for people, to 6 digits, rounded up unless told otherwise.

    Example:
        >>> format_delta(Fraction(1, 10**8)), format_delta(Fraction(0)), format_delta(Fraction(1, 3))
        ('1e-8', '0', '0.333334')
    """
    shown = Context(prec=6, rounding=rounding).divide(Decimal(delta.numerator), Decimal(delta.denominator))
    if not shown:
        return "0"
    return f"{shown.normalize():f}" if shown >= Decimal("0.0001") else f"{shown.normalize():e}"


def nano_limit(epsilon: Fraction) -> int:
    """A limit in nano-epsilon, rounded down and held to what an account can hold."""
    return min(MAX_NANO, epsilon.numerator * NANO // epsilon.denominator)
