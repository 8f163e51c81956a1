"""What names mean where an expression stands: over rows of protected data, or over released values."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from msgspec import Struct, field
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.policy.model import Scalar
from dpproxy.values.errors import TooComplex, UndefinedParameter, Unsupported
from dpproxy.values.pgtypes import TEXT, SqlType
from dpproxy.values.structs import PartlyShown

MOST_BITS = 1024
MOST_DIGITS = 400
"""The largest numbers taken as parameters; no DOUBLE is larger."""


MOST_WORK = 500_000
LONGEST = 2_000
"""Characters of a text of which no length is known."""


class ExpressionLevel(Enum):
    """ROW: each operation is total and bounded. RELEASED: anything goes, nothing is private any more."""

    ROW = "row"
    RELEASED = "released"


class StatementClock(Struct, frozen=True):
    """What a statement takes for now, in UTC without saying so, and by which clock it reads moments."""

    began: datetime
    """When its transaction began."""
    arrived: datetime
    """When the statement did."""
    zone: tzinfo


class Parameters(PartlyShown, Struct):
    """The ``$n`` of a statement: declared or inferred types, and values once they are bound.

    ``values`` is None while the statement is only being prepared.
    """

    HIDDEN = frozenset({"sizes"})

    types: dict[int, SqlType] = field(default_factory=dict)
    values: tuple[object, ...] | None = None
    budget: int = MOST_WORK
    """What is left of the work that compiling the statement, and running it on one row, may take."""
    present: StatementClock | None = None
    """None where a query is kept and asked for at other times."""
    longest: dict[str, int] = field(default_factory=dict)
    """The most characters of the columns of text that were read, by their names in the engine."""
    sizes: dict[int, tuple[nodes.Node, int]] = field(default_factory=dict)
    """How many nodes are in what was compiled, by the identity of each, which stands beside."""

    @property
    def zone(self) -> tzinfo:
        """The session's. Raises ``Unsupported`` where a query is kept, and asked in any session."""
        if self.present is None:
            raise Unsupported(
                "what depends on the session's time zone is not answered in a query that is kept",
                hint="Name the zone: x AT TIME ZONE 'UTC'.",
            )
        return self.present.zone

    @contextmanager
    def kept(self) -> Iterator[None]:
        """While a query is compiled that was written for any time and any session."""
        before, self.present = self.present, None
        try:
            yield
        finally:
            self.present = before

    def note(self, value: Typed) -> None:
        """Remember how long the columns are that a text is read from."""
        for column in value.sql.find_all(nodes.ColumnRef):
            known = self.longest.get(column.name, 0)
            self.longest[column.name] = max(known, LONGEST if value.longest is None else value.longest)

    def spend(self, work: int, node: exp.Expr | None = None) -> None:
        """Count nodes compiled and characters matched, for a node of the statement. Raises ``TooComplex``."""
        self.budget -= work
        if self.budget < 0:
            raise TooComplex("the statement is too complex", position=position(node))

    def infer(self, number: int, kind: SqlType) -> None:
        """Note the type the context asks of a parameter, unless one is known."""
        self.types.setdefault(number, kind)

    def value(self, number: int, at: int | None) -> object:
        """The bound value. Raises ``UndefinedParameter``."""
        if self.values is None or not 1 <= number <= len(self.values):
            raise UndefinedParameter(f"there is no parameter ${number}", position=at)
        return self.values[number - 1]

    @property
    def are_open(self) -> bool:
        """Whether values will come that are not known yet: whatever depends on them may be otherwise then."""
        return self.values is None and bool(self.types)

    def all_types(self) -> tuple[SqlType, ...]:
        """One type for each parameter from $1 on; text where the context told nothing."""
        return tuple(self.types.get(n, TEXT) for n in range(1, max(self.types, default=0) + 1))


class Scope(Struct, frozen=True):
    """Resolves the leaves of expressions; ``leaf`` answers None for what the rules should compile."""

    level: ExpressionLevel
    leaf: Callable[[exp.Expr], Typed | None]
    parameters: Parameters


def exact(value: object) -> Scalar | None:
    """A bound Python value as an exact constant; floats and Decimals become Fractions.

    Errors: ``TypeError`` for a type without constants, ``ValueError`` for a time zone, a NUL character or NaN,
    ``OverflowError`` for a number that no DOUBLE holds.
    """
    if value is None or isinstance(value, bool | Fraction):
        return value
    for kind, read in _READERS:
        if isinstance(value, kind):
            return read(value)
    raise TypeError("a parameter of an unsupported type")


def _moment(value: datetime) -> datetime:
    if value.tzinfo is not None:
        raise ValueError("a time zone")
    return value


def _text(value: str) -> str:
    if "\x00" in value:
        raise ValueError("a NUL character")
    value.encode()  # a lone surrogate is a ValueError too
    return value


def _whole(value: int) -> int:
    if value.bit_length() > MOST_BITS:
        raise OverflowError("a number out of range")
    return value


def _decimal(value: Decimal) -> Fraction:
    """The exponent is checked before the digits are written out."""
    if value.is_finite() and value and not -MOST_DIGITS < value.adjusted() < MOST_DIGITS:
        raise OverflowError("a number out of range")
    return Fraction(value) if value else Fraction(0)


_READERS: tuple[tuple[type, Callable[[Any], Scalar]], ...] = (
    (datetime, _moment),
    (date, lambda value: value),
    (str, _text),
    (int, _whole),
    (Decimal, _decimal),
    (float, Fraction),
)
"""In this order: a datetime is a date."""
