"""What names mean where an expression stands: over rows of protected data, or over released values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from sqlglot import exp

from dpproxy.analysis.typed import Typed
from dpproxy.errors import TooComplex, UndefinedParameter
from dpproxy.pgtypes import TEXT, SqlType
from dpproxy.policy.model import Scalar

MOST_BITS = 1024
MOST_DIGITS = 400
"""The largest numbers taken as parameters; no DOUBLE is larger."""


MOST_WORK = 500_000


class Level(Enum):
    """ROW: each operation is total and bounded. RELEASED: anything goes, nothing is private any more."""

    ROW = "row"
    RELEASED = "released"


@dataclass(slots=True)
class Parameters:
    """The ``$n`` of a statement: declared or inferred types, and values once they are bound.

    ``values`` is None while the statement is only being prepared.
    """

    types: dict[int, SqlType] = field(default_factory=dict)
    values: tuple[object, ...] | None = None
    budget: int = MOST_WORK
    """What is left of the work that compiling the statement, and running it on one row, may take."""

    def spend(self, work: int, at: int | None) -> None:
        """Count nodes compiled and characters matched. Raises ``TooComplex``."""
        self.budget -= work
        if self.budget < 0:
            raise TooComplex("the statement is too complex", position=at)

    def infer(self, number: int, kind: SqlType) -> None:
        """Note the type the context asks of a parameter, unless one is known."""
        self.types.setdefault(number, kind)

    def value(self, number: int, at: int | None) -> object:
        """The bound value. Raises ``UndefinedParameter``."""
        if self.values is None or not 1 <= number <= len(self.values):
            raise UndefinedParameter(f"there is no parameter ${number}", position=at)
        return self.values[number - 1]

    def all_types(self) -> tuple[SqlType, ...]:
        """One type for each parameter from $1 on; text where the context told nothing."""
        return tuple(self.types.get(n, TEXT) for n in range(1, max(self.types, default=0) + 1))


@dataclass(frozen=True, slots=True)
class Scope:
    """Resolves the leaves of expressions; ``leaf`` answers None for what the rules should compile."""

    level: Level
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
