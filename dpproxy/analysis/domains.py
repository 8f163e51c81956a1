"""Reading a protected column: every value is mapped into its declared domain where it is read."""

from datetime import UTC, date, datetime
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import Protocol, assert_never

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.literals import LIMITS
from dpproxy.analysis.typed import WIDEST, Typed, nearest_double, null
from dpproxy.policy.model import Between, Discovered, Domain, Members, Outside, References, Scalar
from dpproxy.values.days import midnight
from dpproxy.values.errors import BoundsMissing, Unsupported
from dpproxy.values.pgtypes import BOOL, FLOAT4, FLOATS, INTEGERS, NUMERIC, TEXTS, TIMESTAMPTZ, Column


class Lookup(Protocol):
    """What planning knows of a column of a public table."""

    def __call__(self, table: str, column: str, most: int) -> tuple[Scalar | None, ...]:
        """Its distinct values, so many at most."""

    def ends(self, table: str, column: str) -> tuple[Scalar, Scalar] | None:
        """The first and the last of whole numbers or days, where everything between them is there, too."""


LONGEST_READ = 1_000
"""Characters of a text without listed values; what follows is as if it were not there."""
MOST_LISTED = 1_000
"""Values up to which a referenced column is compared with each one, row by row."""


def read_column(
    column: Column, domain: Domain, lookup: Lookup | None = None, *, is_computed: bool = False
) -> Typed:
    """The column mapped into its domain: clamped or NULL outside BETWEEN, NULL outside IN.

    Of a domain without NULL, NULL is the middle, where the column is known to have none but in the source: not on the
    inner side of an outer join.

    The CASE form keeps NULL, and NaN, which the engine orders above every number, becomes the upper bound. A moment
    with a time zone becomes a timestamp of UTC once it is inside: infinity has none. Values of
    another table are as those of IN while they are few. Beyond, and where none are declared, the column is anything its
    type holds; but where it is computed with, values that have no gap bound it.
    """
    match domain:
        case Between():
            return _between(column, domain)
        case Members():
            return _members(column, domain)
        case References():
            values = referenced(column, domain, lookup, MOST_LISTED + 1)
            if len(values) <= MOST_LISTED:
                return _members(column, Members(values))
            ends = lookup.ends(domain.table, domain.column) if is_computed and lookup is not None else None
            return _anything(column) if ends is None else _between(column, Between(*ends, Outside.NULL))
        case Discovered():
            return _anything(column)
        case _:
            assert_never(domain)


def referenced(column: Column, domain: References, lookup: Lookup | None, most: int) -> tuple[Scalar, ...]:
    """The values of the public column, without NULL, so many at most. Raises ``Unsupported`` where nobody has them."""
    if lookup is None:
        raise Unsupported(
            f'column "{column.name}" has a domain that is not read here',
            hint="An administrator lists its values with DOMAIN IN.",
        )
    found = lookup(domain.table, domain.column, most)
    return tuple([v for v in found if v is not None][:most])


def _anything(column: Column) -> Typed:
    """Every value of the type: numbers are bounded by it, texts and dates by nothing."""
    kind, raw = column.type, duck.column(column.name)
    nullable = not column.not_null
    if kind.oid in INTEGERS:
        limit = LIMITS[kind.oid]
        return Typed(raw, kind, 0, Fraction(-limit), Fraction(limit - 1), nullable)
    if kind.oid in FLOATS:
        return Typed(_raw(column), kind, None, nullable=nullable)
    if kind.oid == NUMERIC.oid:
        reach = Fraction(10) ** ((kind.precision or 0) - (kind.scale or 0))
        bounded: list[Scalar] = [-reach, reach]
        return _typed(column, _raw(column), bounded, nullable=nullable)
    if kind.oid in TEXTS:  # as far as it is read: what one row costs is bounded
        first = duck.call("left", raw, duck.integer(LONGEST_READ))
        return Typed(first, kind, nullable=nullable, longest=LONGEST_READ, presence=raw)
    return Typed(raw, kind, nullable=nullable, opaque=kind.oid != BOOL.oid)


def _between(column: Column, domain: Between) -> Typed:
    raw = _raw(column)
    low, high = _bound(column, domain.low), _bound(column, domain.high)
    if domain.outside is Outside.CLAMP:
        mapped: nodes.Expr = duck.clamp(raw, _constant(column, low), _constant(column, high))
    else:
        inside = nodes.And(
            (
                nodes.Binary(">=", raw, _constant(column, low)),
                nodes.Binary("<=", raw, _constant(column, high)),
            )
        )
        mapped = duck.case([(inside, raw)], None)
    clamped = domain.outside is Outside.CLAMP
    filled = domain.not_null and column.not_null
    if filled:
        mapped = duck.call("coalesce", mapped, _constant(column, _middle(column, low, high)))
    nullable = not filled and not (clamped and column.not_null)
    typed = _typed(column, mapped, [low, high], nullable=nullable)
    return replace(typed, presence=duck.column(column.name)) if clamped and not filled else typed


def _middle(column: Column, low: Scalar, high: Scalar) -> Scalar:
    """A value of the column's type between both, where they are as far as can be."""
    if isinstance(low, date):
        return low + (high - low) // 2  # type: ignore[operator]  # both are of the column's type
    middle = Fraction(low + high) / 2  # type: ignore[operator]
    if column.type.oid in FLOATS:
        return _bound(column, middle)
    steps = 10 ** (column.type.scale or 0)
    return Fraction(floor(middle * steps), steps) if steps > 1 else floor(middle)


def _members(column: Column, domain: Members) -> Typed:
    return _listed(column, domain, tuple(map(type, domain.values)))


@lru_cache(maxsize=256)
def _listed(column: Column, domain: Members, _kinds: tuple[type, ...]) -> Typed:
    """The column NULL outside its values, whose kinds tell 1 from TRUE here."""
    raw = _raw(column)
    values = [_bound(column, v) for v in domain.values if v is not None]
    if not values:
        return null(column.type)
    test = nodes.InList(raw, tuple(_constant(column, v) for v in values))
    typed = _typed(column, duck.case([(test, raw)], None), values, nullable=True)
    if column.type.oid not in TEXTS:
        return typed
    return replace(typed, longest=max(len(v) for v in values if isinstance(v, str)))


def _raw(column: Column) -> nodes.Expr:
    """The column in a form that compares with any bound without failing: unsigned and wide integers as HUGEINT."""
    raw: nodes.Expr = duck.column(column.name)
    if column.type.oid == NUMERIC.oid and not column.type.scale:
        return duck.cast(raw, "HUGEINT")
    return duck.cast(raw, "DOUBLE") if column.type.oid == FLOAT4.oid else raw


def _constant(column: Column, value: Scalar) -> nodes.Expr:
    """A bound as an exact literal: through a DOUBLE, a long decimal would be rounded past its bound."""
    if column.type.oid == NUMERIC.oid and column.type.scale and isinstance(value, int | Fraction):
        return duck.decimal(value, column.type.scale)
    return duck.constant(value)


def _bound(column: Column, value: Scalar) -> Scalar:
    """A bound as the engine will compare it: of a float column, the nearest double; of moments, one with its zone."""
    if column.type.oid == TIMESTAMPTZ.oid and isinstance(value, date):
        moment = midnight(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if column.type.oid not in FLOATS or not isinstance(value, int | Fraction):
        return value
    nearest = nearest_double(Fraction(value))
    if nearest is None:
        raise _too_wide(column)
    return nearest


def _too_wide(column: Column) -> BoundsMissing:
    return BoundsMissing(
        f'the declared domain of column "{column.name}" is too wide for exact arithmetic',
        hint="Declare narrower bounds with SET PRIVACY DOMAIN BETWEEN.",
    )


def _typed(column: Column, mapped: nodes.Expr, bounds: list[Scalar], *, nullable: bool) -> Typed:
    kind = column.type
    moments = [b for b in bounds if isinstance(b, date)]
    if column.type.oid == TIMESTAMPTZ.oid:
        mapped = duck.call("make_timestamp", duck.call("epoch_us", nodes.Paren(mapped)))
        moments = [b.replace(tzinfo=None) for b in moments if isinstance(b, datetime)]
    if moments:
        return Typed(nodes.Paren(mapped), kind, nullable=nullable, first=min(moments), last=max(moments))
    numbers = [Fraction(b) for b in bounds if isinstance(b, int | Fraction) and not isinstance(b, bool)]
    if not numbers:
        return Typed(nodes.Paren(mapped), kind, nullable=nullable)
    low, high = min(numbers), max(numbers)
    if kind.oid in FLOATS:
        return Typed(nodes.Paren(mapped), kind, None, low, high, nullable)
    if not kind.scale:
        if max(abs(low), abs(high)) >= WIDEST:
            raise _too_wide(column)
        return Typed(nodes.Paren(mapped), kind, 0, low, high, nullable)
    return _decimal(column, mapped, low, high, nullable=nullable)


def _decimal(column: Column, mapped: nodes.Expr, low: Fraction, high: Fraction, *, nullable: bool) -> Typed:
    """A DECIMAL as the whole number of its last digit: the product has room, by the declared bounds."""
    scale = column.type.scale or 0
    if max(abs(low), abs(high)) * 10 ** (2 * scale) >= WIDEST:
        raise _too_wide(column)
    narrow = (column.type.precision or 38) <= 18 and max(abs(low), abs(high)) * 10 ** (2 * scale) < 10**18
    if narrow:  # the same in 64 bits, in a tenth of the time
        held = duck.binary("*", duck.cast(mapped, f"DECIMAL(18, {scale})"), duck.integer(10**scale))
        return Typed(duck.cast(held, "BIGINT"), column.type, scale, low, high, nullable)
    wide = duck.cast(mapped, f"DECIMAL(38, {scale})")
    steps = duck.cast(duck.binary("*", wide, duck.integer(10**scale)), "HUGEINT")
    return Typed(steps, column.type, scale, low, high, nullable)
