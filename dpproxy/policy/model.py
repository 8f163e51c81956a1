"""The policy as values: what the data's owner declares about tables, columns, budgets and grants.

Everything here is public by decision of the owner; nothing is read from rows. What is not declared is hidden.
"""

from collections.abc import Collection
from datetime import date, datetime
from enum import Enum
from fractions import Fraction

from msgspec import Struct, field

from dpproxy.policy.interval import CalendarInterval
from dpproxy.values.pgtypes import ForeignKey

Scalar = int | Fraction | str | bool | date | datetime
"""A declared constant: numbers are exact (Fraction unless whole), text, booleans, dates, timestamps."""


class Outside(Enum):
    """What a value outside BETWEEN becomes wherever it is read."""

    CLAMP = "CLAMP"
    NULL = "NULL"


class Between(Struct, frozen=True, cache_hash=True):
    """DOMAIN BETWEEN low AND high; for numbers, dates and timestamps; ``low <= high``."""

    low: Scalar
    high: Scalar
    outside: Outside = Outside.CLAMP
    not_null: bool = False
    """NULL becomes the middle."""


class Members(Struct, frozen=True, cache_hash=True):
    """DOMAIN IN (...): exactly these values, in declared order; None where NULL is listed."""

    values: tuple[Scalar | None, ...]


class References(Struct, frozen=True, cache_hash=True):
    """DOMAIN REFERENCES t (c): the values of a column of a public table; NULL is one only where it is declared so."""

    table: str
    column: str
    or_null: bool = False


class Taxonomic(References, frozen=True, kw_only=True):
    """DOMAIN TAXONOMY t: the concepts of a taxonomy, which are the codes of its public table."""

    taxonomy: str


class Discovered(Struct, frozen=True):
    """DOMAIN DISCOVERED: any value of the type; it bounds nothing, and keys need a threshold and a delta."""


Domain = Between | Members | References | Discovered


class Composite(Struct, frozen=True):
    """DOMAIN (a, b) REFERENCES t (c, d): together, the columns have the values of a row of a public table.

    ``columns`` and ``referenced`` are of one length, at least 2, in corresponding order. Each of ``columns`` may have a
    domain of its own besides.
    """

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]


class Taxonomy(Struct, frozen=True):
    """A hierarchy of concepts: the public table has a row for each concept and parent, and no parent for the root."""

    name: str
    table: str
    code: str
    parent: str


OptionValue = int | Fraction | str | tuple[str, ...] | tuple[Fraction, ...]
"""What stands after = in WITH (...): words and texts are str, numbers int where whole, lists tuples."""


VIEW, CUBE = "protected view", "privacy cube"
"""The kinds of protected views, for people."""
CUBE_METHOD = "dp_cube"


class ProtectedView(Struct, frozen=True):
    """A table to be made of a query by a method of anonymisation; ``options`` are sorted by name."""

    name: str
    options: tuple[tuple[str, OptionValue], ...]
    query: str

    def option(self, name: str) -> OptionValue | None:
        """The value of an option, None where it is not given."""
        return dict(self.options).get(name)

    @property
    def kind(self) -> str:
        """``VIEW`` or ``CUBE``; the query of a cube is what ``policy.cubes`` reads."""
        return CUBE if self.option("method") == CUBE_METHOD else VIEW

    @property
    def title(self) -> str:
        """Its kind and name, for people."""
        return f'{self.kind} "{self.name}"'

    @property
    def is_inside(self) -> bool:
        """Whether its rows are never released: queries about them are charged."""
        return self.option("release") == "query"


class ColumnClass(Enum):
    """SET PRIVACY CLASS, for protected views."""

    IDENTIFIER = "IDENTIFIER"
    QUASI_IDENTIFIER = "QUASI IDENTIFIER"
    SENSITIVE = "SENSITIVE"


class Counted(Enum):
    """What quantiles are of."""

    ROWS = "ROWS"
    GROUPS = "GROUPS"
    VALUES = "VALUES"


class LimitQuantiles(Struct, frozen=True):
    """What share of people a limit would leave whole, in percent and ascending, as SUGGEST released it.

    Of ROWS and GROUPS: who has at most so many. Of VALUES: of whom a row drawn at random lies below the mark.
    """

    of: Counted
    shares: tuple[tuple[Fraction, Scalar], ...]
    within: Fraction
    """By how many percent each share may be off."""

    def upto(self, mark: Scalar) -> Fraction:
        """The share at the farthest mark that is not beyond this one; 0 where there is none."""
        return max((share for share, at in self.shares if at <= mark), default=Fraction(0))  # type: ignore[operator]

    def inside(self, low: Scalar, high: Scalar) -> Fraction:
        """The share of values between bounds, at least: by the marks that are between them."""
        below = (share for share, at in self.shares if at >= low)  # type: ignore[operator]
        return max(self.upto(high) - min(below, default=Fraction(100)), Fraction(0))


class ColumnPolicy(Struct, frozen=True):
    """One declared column; ``domain`` is None where only a class, or HIDDEN, was declared."""

    domain: Domain | None = None
    column_class: ColumnClass | None = None
    quantiles: LimitQuantiles | None = None
    """Of groups or of values."""


class Unit(Struct, frozen=True):
    """The privacy unit of a table: ``key`` is None for PRIVACY KEY ROW."""

    key: str | None
    references: tuple[str, str] | None = None
    """(table, column) the key refers to: that table's unit is this table's unit."""
    max_rows: int = 1
    max_groups: int | None = None

    @property
    def groups(self) -> int:
        """MAX GROUPS, which is MAX ROWS unless declared."""
        return self.max_rows if self.max_groups is None else min(self.max_groups, self.max_rows)


class Composition(Enum):
    """How the losses of statements add up."""

    BASIC = "BASIC"
    """The sum of epsilon, and that of delta."""
    ZCDP = "ZCDP"
    """The sum of rho, as (epsilon, delta)."""


class Ceiling(Struct, frozen=True):
    """The limit on the privacy loss of all statements together for one unit of a table."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    accountant: Composition = Composition.BASIC

    @property
    def concentrated(self) -> bool:
        """Whether losses are accounted in rho (zCDP)."""
        return self.accountant is Composition.ZCDP


class Exposure(Enum):
    """How a table may be used."""

    HIDDEN = "HIDDEN"
    PUBLIC = "PUBLIC"
    PROTECTED = "PROTECTED"


class TablePolicy(Struct, frozen=True):
    """What is declared of one table; PROTECTED has a unit, the others have none."""

    name: str
    exposure: Exposure = Exposure.HIDDEN
    unit: Unit | None = None
    columns: dict[str, ColumnPolicy] = field(default_factory=dict)
    ceiling: Ceiling | None = None
    expected_rows: int | None = None
    composites: tuple[Composite, ...] = ()
    """Key sets of several columns together, at most one for a set of columns, sorted by their names."""
    foreign_keys: tuple[ForeignKey, ...] = ()
    """References to protected tables of the same unit, at most one for a set of columns, sorted by their names."""
    quantiles: LimitQuantiles | None = None
    """Of rows of one unit."""
    blocks: str | None = None
    """The column that divides the units: each is in the block of its one row, or in none."""


class Budget(Struct, frozen=True):
    """A named budget; limits in nats, None where not declared."""

    name: str
    limit: Fraction
    delta: Fraction = Fraction(0)
    user_limit: Fraction | None = None
    session_limit: Fraction | None = None
    max_epsilon: Fraction | None = None
    default_epsilon: Fraction | None = None
    refresh: CalendarInterval | None = None
    """The interval of REFRESH EVERY, None for NEVER."""
    shares: bool = False
    """Whether what one user has paid for answers the others for nothing."""

    @property
    def default_delta(self) -> Fraction:
        """The delta of a statement that does not set dp.delta: a hundredth of DELTA."""
        return self.delta / 100


class Grant(Struct, frozen=True):
    """SELECT on one table for one role, paid for by one budget; there may be one for each of several budgets.

    ``budget`` is never None for a protected table, and not read for a public one.
    """

    table: str
    role: str
    budget: str | None


class ExactGrant(Struct, frozen=True):
    """EXACT SELECT on one table for one role: answers without noise, each recorded before it is sent."""

    table: str
    role: str


class Policy(Struct, frozen=True):
    """The whole policy at one version of its state."""

    version: int = 0
    data_version: int = 1
    tables: dict[str, TablePolicy] = field(default_factory=dict)
    budgets: dict[str, Budget] = field(default_factory=dict)
    grants: tuple[Grant, ...] = ()
    exact: tuple[ExactGrant, ...] = ()
    taxonomies: dict[str, Taxonomy] = field(default_factory=dict)
    views: dict[str, ProtectedView] = field(default_factory=dict)

    def granted_to(self, roles: Collection[str]) -> frozenset[str]:
        """The tables and views that one of these roles may ask about."""
        return frozenset(grant.table for grant in self.grants if grant.role in roles)

    def exact_to(self, roles: Collection[str]) -> frozenset[str]:
        """The tables that one of these roles may read without noise."""
        return frozenset(grant.table for grant in self.exact if grant.role in roles)
