"""Group keys: exactly the declared values, never what the data holds."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Rest
from dpproxy.analysis import duck
from dpproxy.analysis.domains import Lookup, read_column, referenced
from dpproxy.analysis.typed import Typed
from dpproxy.policy.model import Between, Discovered, Domain, Members, References, Scalar
from dpproxy.values.days import midnight
from dpproxy.values.errors import BoundsMissing, TooComplex
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOATS,
    INTEGERS,
    NUMERIC,
    TEXTS,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    SqlType,
)

MOST_KEYS = 100_000
_HELD_OTHERWISE = frozenset({NUMERIC.oid, TIMESTAMPTZ.oid})
"""What is read in another form than the column's own."""
LONGEST_LIST = 100
"""Keys that a row is compared with one by one."""
Value = Scalar | float | None
"""One value in the form its expression has in the engine."""


class GroupKey(Struct, frozen=True):
    """One GROUP BY key: how it is read, and every value it can take, in declared order.

    ``name`` is for people: a column's, or the expression as it was written. ``values`` are in the physical form of
    ``typed`` (whole numbers of the last digit for numeric keys); rows are grouped by ``raw``.
    """

    name: str
    typed: Typed
    raw: nodes.Expr
    values: tuple[Scalar | None, ...]
    present: nodes.Expr | None = None
    """Where nothing is listed, and every value that a row holds is one: which rows have one that counts."""
    rest: Rest = "any"
    in_utc: bool = False
    """Its values are moments: timestamps of UTC, which a client sees with a time zone."""
    span: tuple[Scalar, Scalar] | None = None
    """The first and the last of the values, where everything between them is declared, too."""
    constant: Typed | None = None
    """A DOUBLE that is the same in every row: the key is one number in its place."""
    is_held: bool = True
    """Its values are in the form that a column of the expression has."""

    def only(self, values: tuple[Scalar | None, ...]) -> "GroupKey":
        """The same with some of its values, in their order."""
        if len(values) == len(self.values):
            return self
        is_whole = _ends([v for v in self.values if v is not None]) is not None
        places = {p: v for v in values if v is not None and (p := _place(v)) is not None} if is_whole else {}
        return replace(
            self, values=values, span=(places[min(places)], places[max(places)]) if places else None
        )

    @property
    def type(self) -> SqlType:
        """The type a client sees."""
        return TIMESTAMPTZ if self.in_utc else self.typed.type

    @property
    def is_raw(self) -> bool:
        """Rows are grouped by what the column holds, declared or not."""
        return type(self.raw) is nodes.ColumnRef and not self.is_discovered

    @property
    def is_discovered(self) -> bool:
        """Its values are not public."""
        return self.present is not None


def of_moments(key: GroupKey) -> GroupKey:
    """The same in the form it leaves the engine in: moments with a time zone as timestamps of UTC."""
    if key.typed.type.oid != TIMESTAMPTZ.oid or key.is_discovered:
        return key
    return replace(key, typed=replace(key.typed, type=TIMESTAMP), in_utc=True)


def group_key(column: Column, domain: Domain, at: int | None, lookup: Lookup | None = None) -> GroupKey:
    """The key of a declared column. Raises ``BoundsMissing`` where the domain does not enumerate."""
    match domain:
        case Members(values):
            typed = read_column(column, domain)
            if column.type.oid in FLOATS or (column.type.oid in _HELD_OTHERWISE and None in values):
                raise not_enumerable(column.name, at)
            if column.type.oid == TIMESTAMPTZ.oid:
                return of_moments(GroupKey(column.name, typed, typed.sql, _exact(values, typed)))
            is_whole = column.type.oid == BOOL.oid and {True, False} <= set(values)
            rest = _rest(values, nullable=not column.not_null) if is_whole else "any"
            return GroupKey(
                column.name, typed, _grouped(column, typed, values), _exact(values, typed), rest=rest
            )
        case Between(low, high):
            typed = read_column(column, domain)
            values = _enumerate(column, low, high, at)
            return GroupKey(
                column.name, typed, typed.sql, values, rest=_rest(values, nullable=typed.nullable)
            )
        case References():
            return _referenced_key(column, domain, at, lookup)
        case Discovered():
            raise not_enumerable(column.name, at)


def _rest(values: Sequence[Scalar | None], *, nullable: bool) -> Rest:
    """Of a key that has a declared value where it is not NULL."""
    return "null" if nullable and None not in values else "none"


def _referenced_key(column: Column, domain: References, at: int | None, lookup: Lookup | None) -> GroupKey:
    """The values of a public column, by what the column holds: those it does not have drop out by a join."""
    if column.type.oid in FLOATS:
        raise not_enumerable(column.name, at)
    values: tuple[Scalar | None, ...] = referenced(column, domain, lookup, MOST_KEYS + 1)
    values = (*values, None) if domain.or_null else values
    check_size(len(values), at)
    typed = replace(read_column(column, domain, lookup), opaque=False)
    raw = typed.sql if column.type.oid == NUMERIC.oid else duck.column(column.name)
    return GroupKey(column.name, typed, raw, _exact(values, typed))


class Days(Struct, frozen=True):
    """So many days, from the first one on."""

    first: date
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[date]:
        return (self.first + timedelta(days=n) for n in range(self.count))


Values = Sequence[Value] | Days
"""What an expression can be, in order; what is regular is not written out."""


def days(first: date, last: date) -> Days:
    """Every day from one to another."""
    return Days(first, (last - first).days + 1)


def held(value: Value, typed: Typed) -> Value:
    """A value in the form its expression has in the engine: whole numbers of the last digit, or a DOUBLE."""
    if isinstance(value, bool | float | str) or value is None:
        return value
    if isinstance(value, date):
        if isinstance(value, datetime) and value.tzinfo is not None:
            return value.astimezone(UTC).replace(tzinfo=None)
        return midnight(value) if typed.type.oid in (TIMESTAMP.oid, TIMESTAMPTZ.oid) else value
    return float(value) if typed.scale is None else int(value * 10**typed.scale)


_HELD_AS_WRITTEN = frozenset((int, str, type(None)))


def _exact(values: Sequence[Scalar | None], typed: Typed) -> tuple[Scalar | None, ...]:
    if typed.scale == 0 and {*map(type, values)} <= _HELD_AS_WRITTEN:
        return tuple(values)
    forms = (held(v, typed) for v in values)
    return tuple(form for form in forms if not isinstance(form, float))


def _grouped(column: Column, typed: Typed, values: tuple[Scalar | None, ...]) -> nodes.Expr:
    """What rows are grouped by: the raw column where any value of its type can leave the engine, else the mapped one.

    Mapped, an undeclared value is NULL and drops out; so where NULL itself is a key the raw column is needed.
    """
    if column.type.oid in TEXTS or column.type.oid in INTEGERS or None in values:
        return duck.column(column.name)
    return typed.sql


def declared(key: GroupKey, name: str, alias: str) -> nodes.Item:
    """The declared values as a relation ``alias(name)``."""
    if not key.values:
        none = nodes.Select(items=(duck.named(nodes.Null(), name),), where=nodes.FALSE)
        return nodes.Subquery(none, nodes.Bare(alias))
    rows = tuple((duck.constant(v),) for v in key.values)
    return nodes.Values(rows, nodes.Bare(alias), (nodes.Bare(name),))


def inside(key: GroupKey) -> nodes.Expr:
    """True for rows whose key is a declared value."""
    if not key.values:
        return nodes.FALSE
    known = [v for v in key.values if v is not None]
    if not known:
        return nodes.Paren(nodes.IsNull(key.raw))
    ends = key.span or _ends(known) if len(known) > LONGEST_LIST else None
    if ends is None:
        test: nodes.Expr = nodes.InList(key.raw, tuple(duck.constant(v) for v in known))
    else:  # a list of every day of a century takes seconds to plan
        test = nodes.And(
            (
                nodes.Binary(">=", key.raw, duck.constant(ends[0])),
                nodes.Binary("<=", key.raw, duck.constant(ends[1])),
            )
        )
        test = nodes.Paren(test)
    if len(known) < len(key.values):
        test = nodes.Or((nodes.IsNull(key.raw), test))
    return nodes.Paren(test)


def _ends(values: Sequence[Scalar]) -> tuple[Scalar, Scalar] | None:
    """The first and the last of whole numbers or days without a gap, None for others."""
    numbers = [_place(v) for v in values]
    whole = [n for n in numbers if n is not None]
    if not whole or len(whole) < len(numbers) or len({type(v) for v in values}) > 1:
        return None
    if max(whole) - min(whole) + 1 != len(set(whole)):
        return None
    return values[whole.index(min(whole))], values[whole.index(max(whole))]


def _place(value: Scalar) -> int | None:
    if isinstance(value, bool | datetime):
        return None
    return value.toordinal() if isinstance(value, date) else value if isinstance(value, int) else None


def _enumerate(column: Column, low: Scalar, high: Scalar, at: int | None) -> tuple[Scalar, ...]:
    found = _enumerated(column, low, high)
    if found is None:
        raise not_enumerable(column.name, at)
    check_size(_size(found), at)
    return tuple(found)


def _size(values: range | Days) -> int:
    """Of a range that may have more values than ``len`` counts."""
    return values.stop - values.start if isinstance(values, range) else len(values)


def _enumerated(column: Column, low: Scalar, high: Scalar) -> range | Days | None:
    if column.type.oid in INTEGERS and isinstance(low, int) and isinstance(high, int):
        return range(low, high + 1)
    if column.type.oid == DATE.oid and isinstance(low, date) and isinstance(high, date):
        return days(low, high)
    return None


def not_enumerable(name: str, at: int | None) -> BoundsMissing:
    """The refusal of a column that nobody can list the values of."""
    return BoundsMissing(
        f'column "{name}" has no declared set of keys',
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
