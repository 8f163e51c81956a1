"""What names mean where an expression stands: over rows of protected data, or over released values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction

from sqlglot import exp

from dpproxy.analysis.typed import Typed
from dpproxy.errors import UndefinedParameter
from dpproxy.pgtypes import TEXT, SqlType


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


def exact(value: object) -> int | Fraction | str | bool | date | datetime | None:
    """A bound Python value as an exact constant; floats and Decimals become Fractions (finite ones only)."""
    match value:
        case None | bool() | int() | str() | Fraction() | date() | datetime():
            return value
        case float() | Decimal():
            return Fraction(value)
        case _:
            raise TypeError("a parameter of an unsupported type")
