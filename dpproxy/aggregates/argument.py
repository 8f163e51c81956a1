"""The argument of an aggregate as whole steps of a lattice: one row moves a sum by a known number of steps.

Whole and decimal numbers step by their last digit. DOUBLE steps by a power of two, about width / 2^30: at
2^20 the worst rounding bias over ten million rows would exceed the noise.
"""

import math
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import BoundsMissing, TypeMismatch

LATTICE_BITS = 30
LARGEST_STEPS = 2**61
LARGEST_REACH = Fraction(2) ** 400
"""A DOUBLE argument reaches no farther: the square of its error is a DOUBLE still."""
SMALLEST_REACH = -400
"""As a power of two: steps are no finer than for an argument of this reach."""


class Argument(Struct, frozen=True):
    """``sql`` is the row's value in whole steps of ``unit`` (a BIGINT, NULL where the argument is NULL)."""

    sql: nodes.Expr
    unit: Fraction
    low: int
    high: int
    typed: Typed
    unrounded: nodes.Expr | None = None
    """Of a DOUBLE argument, the steps before they are rounded."""
    distinct: bool = False
    """Each value counts once, whatever the number of rows that hold it."""

    @property
    def width(self) -> int:
        """The most one row adds to or takes from a sum, in steps; at least 1."""
        return max(abs(self.low), abs(self.high), 1)

    @property
    def is_constant(self) -> bool:
        """Whether all values but NULL are the same."""
        return self.low == self.high

    @property
    def centre(self) -> int:
        """The middle of the range, in steps."""
        return (self.low + self.high) // 2

    @property
    def centred(self) -> nodes.Expr:
        """The row's steps from the centre.

        Of a DOUBLE they are taken before rounding, which is faster and stays inside the same whole steps: the
        difference is monotone in the row's value, and exact where that is a whole step, so that rounding it cannot
        pass the centred ends of the range.
        """
        if self.centre == 0:
            return self.sql
        if self.unrounded is not None:
            return _rounded(duck.binary("-", self.unrounded, duck.double(float(self.centre))))
        return duck.binary("-", self.sql, duck.integer(self.centre))

    @property
    def centred_width(self) -> int:
        """The most one row moves a sum of centred values, in steps; at least 1."""
        return max(self.high - self.centre, self.centre - self.low, 1)

    def each(self, aggregate: str, sql: nodes.Expr) -> nodes.Expr:
        """SUM or COUNT of the steps of every row, or of each value once.

        One row more or less adds or takes one value or none, so the widths hold either way.
        """
        return nodes.Call(aggregate, (sql,), self.distinct)


def argument(node: exp.Expr, typed: Typed) -> Argument:
    """Put a compiled argument on its lattice. Raises ``TypeMismatch`` or ``BoundsMissing`` (PD003).

    A ``node`` that is a column by itself has been read inside its bounds; everything else is clamped again.
    """
    if not typed.is_number:
        raise TypeMismatch(
            f"an aggregate of type {typed.type.shown} is not answered",
            hint="min(x), max(x), and the mean of days since one: avg(x - date '2024-01-01')."
            if typed.is_moment
            else "count(x) and count(DISTINCT x) are answered, and the values that occur with GROUP BY x.",
            position=position(node),
        )
    if typed.low is None or typed.high is None:
        raise BoundsMissing(
            "the argument of the aggregate has no bounds",
            detail="Bounds follow from the declared domains through the expression; here they are lost.",
            hint=f"Bound it: least(greatest({node.sql('postgres')}, 0), 100).",
            position=position(node),
        )
    held = typed.steps
    if held is not None and held.value is typed.sql:
        return Argument(held.sql, held.unit, held.low, held.high, typed)
    is_read_clamped = isinstance(node.unnest(), exp.Column)
    if max(abs(typed.low), abs(typed.high)) > LARGEST_REACH:
        raise _too_wide(node)
    built = _decimal(typed) if typed.scale is not None else _double(typed, clamped=is_read_clamped)
    if max(abs(built.low), abs(built.high)) > LARGEST_STEPS:
        raise _too_wide(node)
    return built if is_read_clamped else _clamped(built)


def _too_wide(node: exp.Expr) -> BoundsMissing:
    return BoundsMissing(
        "the argument's bounds are too wide for exact sums",
        hint=f"Declare narrower domains, or bound it: least(greatest({node.sql('postgres')}, 0), 100).",
        position=position(node),
    )


def _decimal(typed: Typed) -> Argument:
    scale = typed.scale or 0
    low, high = _outer(typed, Fraction(1, 10**scale))
    return Argument(duck.cast(typed.sql, "BIGINT"), Fraction(1, 10**scale), low, high, typed)


def _double(typed: Typed, *, clamped: bool) -> Argument:
    low, high = typed.low or Fraction(0), typed.high or Fraction(0)
    reach = max(abs(low), abs(high), high - low)
    exponent = max(math.frexp(float(reach))[1], SMALLEST_REACH) - LATTICE_BITS if reach else -LATTICE_BITS
    unit = Fraction(2) ** exponent
    inside = (
        typed.sql if clamped else duck.clamp(typed.sql, duck.double(float(low)), duck.double(float(high)))
    )
    scaled = duck.binary("*", inside, duck.double(2.0 ** (-exponent)))
    first, last = _outer(typed, unit)
    return Argument(_rounded(scaled), unit, first, last, typed, scaled)


def _rounded(steps: nodes.Expr) -> nodes.Expr:
    return duck.cast(duck.call("round", steps), "BIGINT")


def _outer(typed: Typed, unit: Fraction) -> tuple[int, int]:
    low, high = typed.low or Fraction(0), typed.high or Fraction(0)
    return math.floor(low / unit), math.ceil(high / unit)


def _clamped(built: Argument) -> Argument:
    if built.typed.scale is None:  # clamped as DOUBLE already, before it was rounded to whole steps
        return built
    inside = duck.clamp(built.typed.sql, duck.integer(built.low), duck.integer(built.high))
    inside = replace(inside, idle=True, present=not built.typed.nullable)
    return Argument(duck.cast(inside, "BIGINT"), built.unit, built.low, built.high, built.typed)
