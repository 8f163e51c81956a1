"""Group keys: exactly the declared values, never what the data holds."""

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import assert_never

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.domains import read_column
from dpproxy.analysis.typed import Typed
from dpproxy.errors import BoundsMissing, TooComplex
from dpproxy.pgtypes import DATE, FLOATS, INTEGERS, NUMERIC, TEXTS, Column, SqlType
from dpproxy.policy.model import Between, Discovered, Domain, Members, References, Scalar

MOST_KEYS = 100_000


@dataclass(frozen=True, slots=True)
class Key:
    """One GROUP BY key: how it is read, and every value it can take, in declared order.

    ``name`` is for people: a column's, or the expression as it was written. ``values`` are in the physical form of
    ``typed`` (whole numbers of the last digit for numeric keys); rows are grouped by ``raw``.
    """

    name: str
    typed: Typed
    raw: exp.Expr
    values: tuple[Scalar | None, ...]

    @property
    def type(self) -> SqlType:
        """The type a client sees."""
        return self.typed.type

    @property
    def is_raw(self) -> bool:
        """Rows are grouped by what the column holds, declared or not."""
        return type(self.raw) is exp.Column


def group_key(column: Column, domain: Domain, at: int | None) -> Key:
    """The key of a declared column. Raises ``BoundsMissing`` where the domain does not enumerate."""
    typed = read_column(column, domain)
    match domain:
        case Members(values):
            if column.type.oid in FLOATS or (column.type.oid == NUMERIC.oid and None in values):
                raise _not_enumerable(column, at)
            physical = tuple(_physical(v, typed.scale) for v in values)
            return Key(column.name, typed, _grouped(column, typed, values), physical)
        case Between(low, high):
            return Key(column.name, typed, typed.sql, _enumerate(column, low, high, at))
        case References() | Discovered():
            raise _not_enumerable(column, at)
        case _:
            assert_never(domain)


def _grouped(column: Column, typed: Typed, values: tuple[Scalar | None, ...]) -> exp.Expr:
    """What rows are grouped by: the raw column where any value of its type can leave the engine, else the mapped one.

    Mapped, an undeclared value is NULL and drops out; so where NULL itself is a key the raw column is needed.
    """
    if column.type.oid in TEXTS or column.type.oid in INTEGERS or None in values:
        return duck.column(column.name)
    return typed.sql


def declared(key: Key, name: str, alias: str) -> exp.Expr:
    """The declared values as a relation ``alias(name)``."""
    rows = [exp.Tuple(expressions=[duck.constant(v)]) for v in key.values]
    columns = [exp.to_identifier(name)]
    return exp.Values(expressions=rows, alias=exp.TableAlias(this=exp.to_identifier(alias), columns=columns))


def inside(key: Key) -> exp.Expr:
    """True for rows whose key is a declared value."""
    known = [v for v in key.values if v is not None]
    test: exp.Expr = exp.In(this=key.raw, expressions=[duck.constant(v) for v in known])
    if len(known) < len(key.values):
        test = exp.Or(this=exp.Is(this=key.raw, expression=exp.Null()), expression=test)
    return exp.Paren(this=test)


def _physical(value: Scalar | None, scale: int | None) -> Scalar | None:
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return int(value * 10 ** (scale or 0))
    return value


def _enumerate(column: Column, low: Scalar, high: Scalar, at: int | None) -> tuple[Scalar, ...]:
    if column.type.oid in INTEGERS and isinstance(low, int) and isinstance(high, int):
        check_size(high - low + 1, at)
        return tuple(range(low, high + 1))
    if column.type.oid == DATE.oid and isinstance(low, date) and isinstance(high, date):
        days = (high - low).days + 1
        check_size(days, at)
        return tuple(low + timedelta(days=n) for n in range(days))
    raise _not_enumerable(column, at)


def _not_enumerable(column: Column, at: int | None) -> BoundsMissing:
    return BoundsMissing(
        f'column "{column.name}" has no declared set of keys',
        hint="Group by a column whose domain is declared by IN, or by BETWEEN over whole numbers or days.",
        position=at,
    )


def check_size(keys: int, at: int | None) -> None:
    """Raise ``TooComplex`` for more keys than a statement may answer."""
    if keys > MOST_KEYS:
        raise TooComplex(
            f"the statement has {keys} declared keys, more than {MOST_KEYS}",
            hint="Group by fewer or coarser columns.",
            position=at,
        )
