"""The values of accounting: accounts and their limits, costs, ledger entries. Losses are in nano-epsilon."""

from decimal import ROUND_CEILING, Context, Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from msgspec import Struct
from msgspec.structs import astuple

from dpproxy.accounting.canonical import encode
from dpproxy.policy.interval import CalendarInterval
from dpproxy.values.structs import PartlyShown

NANO = 1_000_000_000
"""Nano-epsilon in one epsilon."""

MAX_NANO = 2**63 - 1
"""The most that an account can be debited in total, even without a declared limit."""

NO_DELTA = Fraction(0)
NO_RHO = Fraction(0)


Own = tuple[str, str, str]
"""Kind, name and member: an account irrespective of block and window."""


class AccountKind(Enum):
    """The kinds of account, in the order in which their limits are checked."""

    SESSION = "session"
    USER = "user"
    BUDGET = "budget"
    CEILING = "ceiling"

    def __init__(self, column: str) -> None:
        self.column = column  # the same as ``value``, which is slow to look up


class Account(Struct, frozen=True):
    """An account. All five fields are its key; they are never joined into one text, so no two names can collide.

    Attributes:
        name: the unit's table for a ceiling, the budget for BUDGET and USER, the session's random name.
        member: the user for USER, the budget for SESSION.
        block: of a ceiling, the block of disjoint privacy units; "" for all units.
        window: the period of the debit, as ``windows`` numbers it; 0 where the period does not matter. For a ceiling
            1 for debits that only concentrated accounting bounds, else 0.
    """

    kind: AccountKind
    name: str
    member: str = ""
    block: str = ""
    window: int = 0

    @property
    def own(self) -> Own:
        """The account without its block and window."""
        return self.kind.column, self.name, self.member

    @classmethod
    def ceiling(cls, table: str, block: str = "") -> "Account":
        """The account of all statements together, for one privacy unit of ``table``, or for one of a block."""
        return cls(AccountKind.CEILING, table, block=block)

    @classmethod
    def budget(cls, name: str) -> "Account":
        """The account of all users of a budget together."""
        return cls(AccountKind.BUDGET, name)

    @classmethod
    def user(cls, budget: str, user: str) -> "Account":
        """The account of one user of a budget."""
        return cls(AccountKind.USER, budget, user)

    @classmethod
    def session(cls, name: str, budget: str = "") -> "Account":
        """The account of one connection, for what it pays from a budget."""
        return cls(AccountKind.SESSION, name, budget)


class Debit(Struct, frozen=True):
    """An account that pays, and its limits in force now; a limit of None means no limit.

    Attributes:
        account: the ledger sets its window.
        limit: in nano-epsilon; for display only if there is a ``rho_limit``.
        rho_limit: of concentrated losses; if set, losses are added up as rho.
        refresh: how often the account refills, None for never.
    """

    account: Account
    limit: int | None = None
    delta_limit: Fraction | None = None
    rho_limit: Fraction | None = None
    refresh: CalendarInterval | None = None

    def left(self, spent: "Cost") -> int | None:
        """The loss one more release may have after ``spent``, in nano-epsilon; None without a limit."""
        if self.rho_limit is not None:
            rho = max(NO_RHO, self.rho_limit - spent.rho)
            return isqrt(2 * NANO * NANO * rho.numerator // rho.denominator)
        return None if self.limit is None else max(0, self.limit - spent.nano)

    def delta_left(self, spent: "Cost") -> Fraction | None:
        """The delta that one more release may cost; None without a limit."""
        return None if self.delta_limit is None else max(NO_DELTA, self.delta_limit - spent.delta)


class Charge(Struct, frozen=True):
    """The cost of one statement, before it is reserved.

    Attributes:
        statement: hash of the canonical statement, 32 bytes.
        nano: the privacy loss in nano-epsilon, the same for every account.
        delta: the delta, likewise the same for every account.
        debits: at most one per account.
        release: key of the exact stage and the data version, 32 bytes.
        label: a short public description such as ``count, avg(age) by sex on adult``;
            never the analyst's own text.
        concentrated: the release is bounded only by rho = epsilon**2 / 2 of ``nano``, by no pure epsilon.

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


class Reset(Struct, frozen=True):
    """A request to reset what a budget, or one user of it, has spent.

    Errors: ValueError for another kind of account, and for anything the ledger could not hold.
    """

    who: str
    account: Account
    reason: str
    label: str
    policy_version: int
    data_version: int

    def __post_init__(self) -> None:
        if self.account.kind not in (AccountKind.BUDGET, AccountKind.USER) or self.account.window:
            raise ValueError("a budget or a user of it begins anew, nothing else does")
        encode(self.who, self.reason, self.label, *key_of(self.account))


class Posting(Struct, frozen=True):
    """One debit of an entry, as stored: ``delta`` and ``rho`` are rationals as text."""

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
    """A stored release shown to another user: debits only the accounts that had not paid for it."""
    READ = "read"
    """A stored release shown for nothing to another user of a budget that shares: debits 0 to the user's account."""
    RESET = "reset"
    """An administrator resets a budget, or one user of it: debits nothing; its posting names the new window."""


class LedgerEntry(Struct, frozen=True):
    """One ledger entry.

    Attributes:
        sequence: from 1, without gaps.
        at: microseconds since 1970 in UTC, never less than the entry before.
        origin: sequence of the charge whose release this entry pays for; a charge's own sequence.
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
        """The bytes the chain authenticates: every field in the order above, postings in theirs."""
        postings = tuple((*key_of(p.account), p.limit, p.nano, p.delta, p.rho) for p in self.postings)
        return encode("entry", *astuple(self)[:-1], postings)


class Cost(Struct, frozen=True):
    """The cost of a release, or a sum of costs: nano-epsilon, delta, and rho of the same losses, each additive."""

    nano: int = 0
    delta: Fraction = NO_DELTA
    rho: Fraction = NO_RHO

    @classmethod
    def of(cls, nano: int, delta: Fraction = NO_DELTA) -> "Cost":
        """The cost of an (epsilon, delta)-DP release, whose rho is at most epsilon**2 / 2 with the same delta."""
        return cls(nano, delta, _rho(nano))

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.nano + other.nano, _plus(self.delta, other.delta), _plus(self.rho, other.rho))

    def __or__(self, other: "Cost") -> "Cost":
        """The larger of each component: an upper bound for people who each pay one of the two costs."""
        return Cost(max(self.nano, other.nano), max(self.delta, other.delta), max(self.rho, other.rho))


@lru_cache(maxsize=1024)
def _rho(nano: int) -> Fraction:
    return Fraction(nano * nano, 2 * NANO * NANO)


def _plus(one: Fraction, other: Fraction) -> Fraction:
    """The sum; most deltas are 0, and adding Fractions is slow."""
    return one + other if one and other else one or other


class Reservation(Struct, frozen=True):
    """A charge that is durable in the ledger: the data may now be read.

    Attributes:
        before: the debits as in the charge, each with what counted against its limits before it.
    """

    entry: LedgerEntry
    before: tuple[tuple[Debit, Cost], ...]

    @property
    def sequence(self) -> int:
        """The sequence number of the ledger entry."""
        return self.entry.sequence

    @property
    def cost(self) -> Cost:
        """The cost debited to each account."""
        return Cost.of(self.entry.nano, Fraction(self.entry.delta))

    @property
    def spent(self) -> tuple[tuple[Debit, Cost], ...]:
        """The debits as in the charge, each with what counts against its limits after it."""
        return tuple((debit, spent + self.cost) for debit, spent in self.before)

    @property
    def remaining(self) -> int | None:
        """The loss one more statement may have, in nano-epsilon; None if no account has a limit."""
        return min(
            (left for debit, total in self.spent if (left := debit.left(total)) is not None), default=None
        )


class Drawing(Struct, frozen=True):
    """A release that was charged a moment ago, and is being drawn: who asks for the same waits for it.

    Attributes:
        origin: sequence of its charge.
        left: seconds until it is not waited for any longer; its process may have ended.
    """

    origin: int
    left: float


class StoredRelease(PartlyShown, Struct, frozen=True):
    """A released answer in the store.

    Attributes:
        id: sequence of the first charge that paid for it.
        payers: every account debited for it so far; see ``book.read_payers``.
        also: other releases of the same key that the payer who was asked for has paid for, the most accurate first.
    """

    HIDDEN = frozenset({"payload"})

    id: int
    nano: int
    payload: bytes
    payers: frozenset[Account]
    also: tuple[int, ...] = ()


Key = tuple[str, str, str, str, int]
"""The key of an account as stored in the tables: kind, name, member, block, window."""


def key_of(account: Account) -> Key:
    """The account as columns."""
    return (account.kind.column, account.name, account.member, account.block, account.window)


def account_of(key: Key) -> Account:
    """The account of stored columns. Raises ValueError for a kind this version does not know."""
    kind, name, member, block, window = key
    return Account(AccountKind(kind), name, member, block, window)


def format_epsilon(nano: int) -> str:
    """Exact decimal epsilon.

    Example:
        >>> format_epsilon(100_000_000), format_epsilon(2 * NANO), format_epsilon(1)
        ('0.1', '2', '0.000000001')
    """
    whole, rest = divmod(nano, NANO)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def format_delta(delta: Fraction, rounding: str = ROUND_CEILING) -> str:
    """A delta as text, with 6 digits, rounded up unless ``rounding`` says otherwise.

    Example:
        >>> format_delta(Fraction(1, 10**8)), format_delta(Fraction(0)), format_delta(Fraction(1, 3))
        ('1e-8', '0', '0.333334')
    """
    shown = Context(prec=6, rounding=rounding).divide(Decimal(delta.numerator), Decimal(delta.denominator))
    if not shown:
        return "0"
    return f"{shown.normalize():f}" if shown >= Decimal("0.0001") else f"{shown.normalize():e}"


def nano_limit(epsilon: Fraction) -> int:
    """A limit in nano-epsilon, rounded down, at most the maximum of an account."""
    return min(MAX_NANO, epsilon.numerator * NANO // epsilon.denominator)
