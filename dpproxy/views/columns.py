"""The columns of a protected view: encode values as places (indices) in the column's declared domain, and decode them.

Methods of ``anonymize`` work on whole numbers only. Domains are declared, so that everything here is public except the
places of rows.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from dpproxy.anonymize.model import Categories, ConceptGraph, Domain, LatticeDomain
from dpproxy.policy.model import ColumnClass, Scalar
from dpproxy.sql.quoting import quoted
from dpproxy.values.days import EPOCH, micros, midnight
from dpproxy.values.pgtypes import BOOL, DATE, FLOATS, INTEGERS, NUMERIC, TEXT, TIMESTAMP, SqlType
from dpproxy.values.structs import PartlyShown

MOST_STEPS = 2**30
"""The most steps of a lattice: a finer one is made coarser."""

Places = npt.NDArray[np.int64]


class NumberColumn(Struct, frozen=True):
    """Numbers: place i stands for ``(low + i * step) * unit``, the last place for ``high * unit``."""

    low: int
    high: int
    unit: Fraction
    step: int = 1

    @classmethod
    def of(cls, low: int, high: int, unit: Fraction) -> "NumberColumn":
        """The lattice from ``low`` to ``high``, of at most ``MOST_STEPS`` steps."""
        return cls(low, high, unit, max(1, -(-(high - low) // MOST_STEPS)))

    @property
    def last(self) -> int:
        """The number of the last place."""
        return -(-(self.high - self.low) // self.step)


class MomentColumn(NumberColumn, frozen=True):
    """Dates and timestamps: numbers count days, or microseconds, from ``first``."""

    first: date = date(1970, 1, 1)


class Listed(Struct, frozen=True):
    """Declared values by place; ``parents`` for concepts of a taxonomy, ``ordered`` if their order is meaningful."""

    values: tuple[Scalar | None, ...]
    ordered: bool = False
    parents: tuple[tuple[int, ...], ...] | None = None


PlacesOf = NumberColumn | Listed


class ViewColumn(PartlyShown, Struct, frozen=True):
    """A column of a view; ``sql`` is an expression for a row's number, or for its value if the domain is ``Listed``.

    ``type`` is the type that clients see. NULL has a place only if it is listed; otherwise rows with NULL drop out.
    """

    HIDDEN = frozenset({"nullable"})

    name: str
    type: SqlType
    places: PlacesOf
    sql: str
    column_class: ColumnClass | None = None
    nullable: bool = False
    """Whether a number may be NULL: the place after the last one, for methods that take it."""

    @property
    def domain(self) -> Domain:
        """The domain in the form that methods take."""
        match self.places:
            case NumberColumn():
                return LatticeDomain(0, self.places.last)
            case Listed(values, ordered, parents):
                return Categories(len(values), ordered) if parents is None else ConceptGraph(parents)


def encode(
    column: ViewColumn, values: pa.ChunkedArray, *, nulls: bool = False
) -> tuple[Places, npt.NDArray[np.bool_]]:
    """The places of a column's values, and which rows have one; both of shape (rows,).

    With ``nulls`` a number that may be NULL has a place then, too.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - as long to load as numpy

    places = column.places
    match places:
        case NumberColumn():
            known = values.is_valid().to_numpy(zero_copy_only=False)
            numbers = pc.fill_null(values.cast(pa.int64()), places.low).to_numpy(zero_copy_only=False)
            found = (np.clip(numbers, places.low, places.high) - places.low + places.step // 2) // places.step
            if nulls and column.nullable:
                return np.where(known, found, places.last + 1).astype(np.int64), np.ones_like(known)
            return found.astype(np.int64), known
        case Listed(listed):
            found = pc.index_in(values, value_set=_as_held(listed, values.type), skip_nulls=False)
            known = found.is_valid().to_numpy(zero_copy_only=False)
            return pc.fill_null(found, 0).cast(pa.int64()).to_numpy(zero_copy_only=False), known


def _as_held(values: Sequence[Scalar | None], kind: pa.DataType) -> pa.Array:
    """Listed values as an array of the engine's type."""
    if pa.types.is_decimal(kind):
        return pa.array([None if v is None else Decimal(int(str(v))) for v in values], kind)
    return pa.array(values, kind)


def decode(column: ViewColumn, places: Places) -> pa.Array:
    """The values at ``places``: decimals as integers in units of their last digit, all other values as clients see."""
    match column.places:
        case MomentColumn() as moments:
            return _without(_moments(column, places), places > moments.last)
        case NumberColumn() as steps:
            numbers, absent = (
                np.clip(steps.low + places * steps.step, steps.low, steps.high),
                places > steps.last,
            )
            if column.type.oid in FLOATS:
                return pa.array(numbers * float(steps.unit), pa.float64(), mask=absent)
            return pa.array(numbers, pa.int64(), mask=absent)
        case Listed(values):
            listed = pa.array([_shown(v) for v in values], _TYPES.get(column.type.oid, pa.int64()))
            return listed.take(pa.array(places, pa.int64()))


def _without(values: pa.Array, absent: npt.NDArray[np.bool_]) -> pa.Array:
    """The values, NULL where they are ``absent``."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as long to load as numpy

    return pc.if_else(pa.array(absent), pa.scalar(None, values.type), values)


def _shown(value: Scalar | None) -> Scalar | float | None:
    return float(value) if isinstance(value, Fraction) else value


def _moments(column: ViewColumn, places: Places) -> pa.Array:
    moments = column.places
    if not isinstance(moments, MomentColumn):
        raise TypeError("no moments")
    since = np.clip(moments.low + places * moments.step, moments.low, moments.high)
    if column.type.oid == DATE.oid:
        days = (moments.first.toordinal() - EPOCH.toordinal() + since).astype(np.int32)
        return pa.array(days, pa.int32()).cast(pa.date32())
    return pa.array(micros(moments.first) + since, pa.int64()).cast(pa.timestamp("us"))


_TYPES: dict[int, pa.DataType] = {
    **dict.fromkeys(FLOATS, pa.float64()),
    TEXT.oid: pa.string(),
    BOOL.oid: pa.bool_(),
    DATE.oid: pa.date32(),
    TIMESTAMP.oid: pa.timestamp("us"),
}
_ENGINE: Mapping[int, str] = {
    **dict.fromkeys(FLOATS, "DOUBLE"),
    TEXT.oid: "VARCHAR",
    BOOL.oid: "BOOLEAN",
    DATE.oid: "DATE",
    TIMESTAMP.oid: "TIMESTAMP",
}
_WHOLE = {2: "SMALLINT", 4: "INTEGER", 8: "BIGINT"}


def stored_type(kind: SqlType) -> str:
    """The type of a column in the DuckDB file of a view."""
    if kind.oid in INTEGERS:
        return _WHOLE[kind.size]
    if kind.oid == NUMERIC.oid:
        return f"DECIMAL(38, {kind.scale or 0})"
    return _ENGINE[kind.oid]


def stored(name: str, kind: SqlType) -> str:
    """The expression that turns the result of ``decode`` into the column of a view's file."""
    column = quoted(name)
    if kind.oid == NUMERIC.oid and kind.scale:
        digit = f"CAST('{Decimal((0, (1,), -kind.scale)):f}' AS DECIMAL({kind.scale + 1}, {kind.scale}))"
        return f"CAST(CAST({column} AS DECIMAL(19, 0)) * {digit} AS DECIMAL(38, {kind.scale})) AS {column}"
    return f"CAST({column} AS {stored_type(kind)}) AS {column}"


class ShownColumn(Struct, frozen=True):
    """A column of a released relation, with the bounds of its domain: all public.

    ``steps`` is set if the relation stays inside: then its file contains places, not values.
    """

    name: str
    type: SqlType
    low: Fraction | None = None
    high: Fraction | None = None
    longest: int | None = None
    first: date | None = None
    last: date | None = None
    steps: NumberColumn | None = None


def shown_column(column: ViewColumn, *, inside: bool) -> ShownColumn:
    """The public facts of a view's column, from its domain alone."""
    places = column.places
    if isinstance(places, MomentColumn):
        ends = [_end(places, column.type, n) for n in (places.low, places.high)]
        return ShownColumn(
            column.name, column.type, first=ends[0], last=ends[1], steps=places if inside else None
        )
    if isinstance(places, NumberColumn):
        low, high = places.low * places.unit, places.high * places.unit
        return ShownColumn(column.name, column.type, low, high, steps=places if inside else None)
    texts = [len(v) for v in places.values if isinstance(v, str)]
    numbers = [v for v in places.values if isinstance(v, int | Fraction) and not isinstance(v, bool)]
    scale = Fraction(1, 10 ** (column.type.scale or 0)) if column.type.oid == NUMERIC.oid else Fraction(1)
    if not numbers:
        return ShownColumn(column.name, column.type, longest=max(texts, default=None))
    return ShownColumn(column.name, column.type, min(numbers) * scale, max(numbers) * scale)


def _end(places: MomentColumn, kind: SqlType, number: int) -> date:
    if kind.oid == DATE.oid:
        return date.fromordinal(places.first.toordinal() + number)
    return midnight(places.first) + timedelta(microseconds=number)
