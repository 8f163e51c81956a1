"""A compiled expression: DuckDB SQL with its PostgreSQL type, its bounds and whether it can be NULL."""

from datetime import date
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.plain import engine_type
from dpproxy.analysis.unseen import Unseen
from dpproxy.policy.model import Scalar
from dpproxy.values.days import midnight
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOATS,
    INT4,
    INT8,
    INTEGERS,
    NUMERIC,
    PLAIN,
    TEXT,
    TIMESTAMP,
    SqlType,
)

INT64 = 2**63 - 1
WIDEST = 10**37
"""No exact intermediate value may pass this: 128-bit integers hold it with room to spare."""
LARGEST_DOUBLE = Fraction(10) ** 300
"""Bounds of a DOUBLE beyond this are no bounds: the value may be infinite."""


class Steps(Struct, frozen=True):
    """A column that holds a number in whole steps of ``unit``: ``sql``, a BIGINT between ``low`` and ``high``."""

    value: nodes.Expr
    """The number itself: only an expression that is this very object has these steps."""
    sql: nodes.Expr
    unit: Fraction
    low: int
    high: int


class Digits(Struct, frozen=True):
    """A numeric that is held as a DOUBLE besides, with the digits that PostgreSQL gives it."""

    value: nodes.Expr
    """The DOUBLE: only an expression that is this very object has these digits."""
    exact: "Typed"


class Typed(Struct, frozen=True):
    """One compiled expression.

    A number is held as an integer times ``10**-scale``, or as DOUBLE where ``scale`` is None. ``low`` and
    ``high`` bound a number's value (not its integer); None is unbounded. ``constant`` holds the value where
    ``is_constant``.
    ``parameter`` is the number of a ``$n`` whose type is not known yet.
    """

    sql: nodes.Expr
    type: SqlType
    scale: int | None = 0
    low: Fraction | None = None
    high: Fraction | None = None
    nullable: bool = True
    is_constant: bool = False
    constant: Scalar | None = None
    parameter: int | None = None
    presence: nodes.Expr | None = None
    """Something simpler that is NULL exactly where this is."""
    longest: int | None = None
    """The most characters of a text, None where unknown."""
    is_unit: bool = False
    """The column that holds the privacy unit, read as it is: no rule passes it on."""
    first: date | None = None
    last: date | None = None
    """Bounds of a date, or of a timestamp as ``datetime``; None where unknown."""
    opaque: bool = False
    """Anything its type holds, of any length: it is compared with constants, and nothing else is done with it."""
    steps: Steps | None = None
    """Where it is held in whole steps besides. Only of use with the expression it names: rules may copy it along."""
    digits: Digits | None = None
    """Where its digits are known besides; of use with the expression it names, as ``steps`` are."""

    @property
    def is_number(self) -> bool:
        """An integer, numeric or floating-point expression."""
        return self.type.oid in INTEGERS or self.type.oid in FLOATS or self.type.oid == NUMERIC.oid

    @property
    def is_integer(self) -> bool:
        """An expression of an integer type."""
        return self.type.oid in INTEGERS

    @property
    def is_moment(self) -> bool:
        """A date or a timestamp."""
        return self.type.oid in (DATE.oid, TIMESTAMP.oid)

    @property
    def bounded(self) -> bool:
        """Both bounds are known."""
        return self.low is not None and self.high is not None

    @property
    def magnitude(self) -> Fraction | None:
        """The largest absolute value, None if unbounded."""
        if self.low is None or self.high is None:
            return None
        return max(abs(self.low), abs(self.high))

    @property
    def unseen(self) -> Unseen | None:
        """The constant, where nobody may look at it."""
        held: object = self.constant
        return held if isinstance(held, Unseen) else None

    @property
    def is_null(self) -> bool:
        """The constant NULL."""
        return self.is_constant and self.constant is None


def boolean(sql: nodes.Expr, *, nullable: bool) -> Typed:
    """A truth value."""
    return Typed(nodes.Paren(sql), BOOL, nullable=nullable)


_NULLS = {DATE.oid: "DATE", TIMESTAMP.oid: "TIMESTAMP", TEXT.oid: "VARCHAR", BOOL.oid: "BOOLEAN"}


def null(kind: SqlType) -> Typed:
    """NULL of a type, which its SQL tells too where it decides what a function does.

    Its bounds hold one value, so that it bounds nothing else.
    """
    name = engine_type(kind) if kind.oid in PLAIN else _NULLS.get(kind.oid)
    day = {DATE.oid: date(2000, 1, 1), TIMESTAMP.oid: midnight(date(2000, 1, 1))}.get(kind.oid)
    return Typed(
        nodes.Null() if name is None else duck.cast(nodes.Null(), name), kind, low=Fraction(0), high=Fraction(0),
        is_constant=True, longest=0, first=day, last=day,
    )  # fmt: skip


def inexact(
    sql: nodes.Expr, kind: SqlType, low: Fraction | None, high: Fraction | None, *, nullable: bool
) -> Typed:
    """A DOUBLE; its bounds are doubles too, so that chains of operations do not grow them.

    Rounding, NaN and infinities can leave the bounds: whatever turns a DOUBLE into a whole number clamps it first.
    """
    return Typed(sql, kind, None, nearest_double(low), nearest_double(high), nullable)


def bounded_exactly(value: Typed) -> Typed:
    """``exactly`` of what has bounds: those of digits are so wide where zero divides that noise would hide all."""
    return exactly(value) if value.bounded else value


def exactly(value: Typed) -> Typed:
    """A number with its digits where they are known: for what compares, rounds or counts steps."""
    held = value.digits
    if held is None or held.value is not value.sql or value.type.oid != NUMERIC.oid:
        return value
    return replace(held.exact, nullable=value.nullable, presence=value.presence)


def with_digits(value: Typed, exact: Typed | None) -> Typed:
    """A DOUBLE and, where there are any, its digits: ``exact`` is NULL where it is."""
    if exact is None or exact.scale is None:
        return value
    return replace(value, digits=Digits(value.sql, exact))


def nearest_double(bound: Fraction | None) -> Fraction | None:
    """The bound as a DOUBLE, None where it is none or too large."""
    return None if bound is None or abs(bound) > LARGEST_DOUBLE else Fraction(float(bound))


def number(value: Fraction, *, float_type: SqlType | None = None) -> Typed:
    """A numeric constant: exact when it has at most 37 digits, DOUBLE otherwise or when asked.

    Errors: ``OverflowError`` where no DOUBLE holds it.
    """
    scale = 0 if float_type else _scale_of(value)
    if float_type is not None or scale is None:
        as_float = Fraction(float(value))
        return Typed(
            duck.double(float(value)), float_type or NUMERIC, None, as_float, as_float,
            nullable=False, is_constant=True, constant=value,
        )  # fmt: skip
    whole = value.numerator * 10**scale // value.denominator
    is_long = not -(2**31) <= whole < 2**31
    kind = NUMERIC if scale or not -INT64 - 1 <= whole <= INT64 else INT8 if is_long else INT4
    held = int(value) if scale == 0 else value
    return Typed(
        duck.integer(whole), kind, scale, value, value, nullable=False, is_constant=True, constant=held
    )


def _scale_of(value: Fraction) -> int | None:
    below = value.denominator
    scale = next((s for s in range(31) if 10**s % below == 0), None)
    return scale if scale is not None and abs(value.numerator) * 10**scale < WIDEST * below else None


def as_double(value: Typed) -> nodes.Expr:
    """The expression as DOUBLE."""
    if value.scale is None:
        return value.sql
    if (unseen := value.unseen) is not None:
        return unseen.double()
    if value.is_constant and isinstance(value.constant, int | Fraction):
        return duck.double(float(value.constant))
    whole = duck.cast(value.sql, "DOUBLE")
    return whole if value.scale == 0 else duck.binary("/", whole, duck.double(float(10**value.scale)))


def as_scaled(value: Typed, scale: int) -> nodes.Expr:
    """The integer of an exact number at a scale no smaller than its own."""
    if value.scale is None or scale < value.scale:
        raise AssertionError("an exact number can only be widened")
    if scale == value.scale:
        return value.sql
    if (unseen := value.unseen) is not None:
        return unseen.scaled(scale)
    factor = 10 ** (scale - value.scale)
    if value.is_constant and isinstance(value.constant, int | Fraction):
        return duck.integer(int(value.constant * 10**scale))
    return duck.binary("*", duck.cast(value.sql, "HUGEINT"), duck.integer(factor))
