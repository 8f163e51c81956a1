"""Comparisons and the common form of several values; types never mix silently."""

from datetime import datetime
from fractions import Fraction

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.arithmetic import common_type
from dpproxy.analysis.dates import to_date, to_timestamp
from dpproxy.analysis.domains import LONGEST_READ
from dpproxy.analysis.instants import is_instant, to_instant
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import WIDEST, Typed, as_double, as_scaled, boolean, exactly, null
from dpproxy.analysis.unseen import LARGEST
from dpproxy.values.days import midnight
from dpproxy.values.errors import TypeMismatch, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import (
    DATE,
    FLOATS,
    JSON,
    TEXT,
    TEXTS,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    SqlType,
    array_of,
)


def compare(node: exp.Expr, kind: type[exp.Expr], a: Typed, b: Typed, scope: Scope) -> Typed:
    """One comparison. Raises ``UndefinedFunction`` (42883) where PostgreSQL has no such operator."""
    if a.type is UNKNOWN and b.type is UNKNOWN:
        a = settle(a, TEXT, scope, node)
    a, b = settle(a, b.type, scope, node), settle(b, a.type, scope, node)
    for one, other in ((a, b), (b, a)):
        if one.opaque and not (other.is_constant or other.parameter is not None):
            raise Unsupported(
                "a column without listed values is compared with constants only",
                hint="Compare with = or IN.",
                position=position(node),
            )
    a, b = _as_instants(node, a, b, scope)
    pair = _same_form(a, b)
    if pair is None:
        raise UndefinedFunction(
            f"operator does not exist: {a.type.shown} {duck.OPERATORS[kind]} {b.type.shown}",
            hint="No type is converted silently: write a CAST or compare values of one type.",
        )
    if kind in _EQUALITIES:
        pair = _uncut(pair[0], pair[1]), _uncut(pair[1], pair[0])
    null_safe = kind in (exp.NullSafeEQ, exp.NullSafeNEQ)
    return boolean(
        nodes.Binary(duck.OPERATORS[kind], *pair),
        nullable=not null_safe and (a.nullable or b.nullable),
    )


_EQUALITIES = frozenset({exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ})


def _uncut(value: nodes.Expr, other: nodes.Expr) -> nodes.Expr:
    """A column that is read as far as ``LONGEST_READ`` as it is, beside a constant that is shorter than that.

    The two are equal, or not, either way; an engine compares the column as it is faster, and may have an index of it.
    """
    is_shorter = type(other) is nodes.Hole or (
        type(other) is nodes.Text and len(other.value) < LONGEST_READ
    )  # who plans with a hole has no longer constant than LONGEST_LITERAL
    if is_shorter and type(value) is nodes.Call and value.name == "left":
        column, most = value.arguments
        if type(column) is nodes.ColumnRef and most == duck.integer(LONGEST_READ):
            return column
    return value


def _as_instants(node: exp.Expr, a: Typed, b: Typed, scope: Scope) -> tuple[Typed, Typed]:
    """A date or timestamp beside a moment as the moment when the session's clock shows it."""
    if is_instant(a) != is_instant(b):
        _look(a, b)
    if is_instant(a) and b.is_moment:
        return a, to_instant(b, scope.parameters.zone, node, scope)
    if is_instant(b) and a.is_moment:
        return to_instant(a, scope.parameters.zone, node, scope), b
    return a, b


def _same_form(a: Typed, b: Typed) -> tuple[nodes.Expr, nodes.Expr] | None:
    if a.is_number and b.is_number:
        return _same_number_form(a, b)
    if a.type.oid in TEXTS and b.type.oid in TEXTS:
        return a.sql, b.sql
    if a.is_moment and b.is_moment and a.type.oid != b.type.oid:
        _look(a, b)
        if _is_midnight(a) or _is_midnight(b):  # days are compared faster than moments
            return _as_date(a), _as_date(b)
        if any(v.opaque and v.type.oid == DATE.oid for v in (a, b)):
            return None  # a day that nothing bounds may be no timestamp
        return _as_timestamp(a), _as_timestamp(b)
    return (a.sql, b.sql) if a.type.oid == b.type.oid and a.type.oid not in _UNEQUAL else None


_UNEQUAL = frozenset({JSON.oid, array_of(JSON).oid})
"""Types without =."""


def _is_midnight(value: Typed) -> bool:
    held = value.constant
    return isinstance(held, datetime) and held == midnight(held.date())


def _as_date(value: Typed) -> nodes.Expr:
    return value.sql if value.type.oid == DATE.oid else to_date(value).sql


def _as_timestamp(value: Typed) -> nodes.Expr:
    return value.sql if value.type.oid == TIMESTAMP.oid else to_timestamp(value).sql


def _same_number_form(a: Typed, b: Typed) -> tuple[nodes.Expr, nodes.Expr]:
    is_float = a.type.oid in FLOATS or b.type.oid in FLOATS
    one, other = exactly(a), exactly(b)
    if one.scale is not None and other.scale is not None and not is_float:
        scale = max(one.scale, other.scale)
        sizes = [m for m in (_size(one, scale), _size(other, scale)) if m is not None]
        if all(m * 10**scale < WIDEST for m in sizes):
            return as_scaled(one, scale), as_scaled(other, scale)
    return as_double(a), as_double(b)


def _size(value: Typed, scale: int) -> Fraction | None:
    """The magnitude; 0 for an unseen constant: there is room for each, or ``Looked`` is raised."""
    if value.unseen is None:
        return value.magnitude
    if LARGEST * 10**scale >= WIDEST:
        _look(value)
    return Fraction(0)


def _look(*several: Typed) -> None:
    """How these are compared depends on the values of constants."""
    for value in several:
        if value.unseen is not None:
            value.unseen.look()


def unify(node: exp.Expr, values: list[Typed], scope: Scope) -> tuple[list[nodes.Expr], Typed]:
    """All values in one physical form, and their merged shape (its ``sql`` is to be replaced)."""
    kind = _merged_type(node, values)
    settled = [settle(v, kind, scope, node) for v in values]
    nullable = any(v.nullable for v in settled)
    first = settled[0]
    if not first.is_number:
        if kind.oid in (DATE.oid, TIMESTAMP.oid):
            return _moments(settled, kind, nullable=nullable)
        if (
            kind.oid == TIMESTAMPTZ.oid and scope.level is ExpressionLevel.ROW
        ):  # NULL too is held as a timestamp
            held = [replace(v, sql=null(TIMESTAMP).sql) if v.is_null else v for v in settled]
            return _moments(held, kind, nullable=nullable)
        lengths = [v.longest for v in settled if v.longest is not None]
        longest = max(lengths) if len(lengths) == len(settled) else None
        return [v.sql for v in settled], Typed(first.sql, kind, nullable=nullable, longest=longest)
    known = [v for v in settled if not v.is_null] or settled
    low, high = _hull([v.low for v in known], min), _hull([v.high for v in known], max)
    shape = Typed(first.sql, kind, None, low, high, nullable)
    if kind.oid in FLOATS or any(v.scale is None for v in settled):
        return [as_double(v) for v in settled], shape
    scale = max(v.scale for v in settled if v.scale is not None)
    reach = max((abs(b) for b in (low, high) if b is not None), default=Fraction(0))
    if reach * 10**scale >= WIDEST:
        return [as_double(v) for v in settled], shape
    return [as_scaled(v, scale) for v in settled], replace(shape, scale=scale)


def _moments(values: list[Typed], kind: SqlType, *, nullable: bool) -> tuple[list[nodes.Expr], Typed]:
    values = [to_timestamp(v) if kind.oid != v.type.oid else v for v in values]
    known = [v for v in values if not v.is_null] or values
    firsts, lasts = ([getattr(v, end) for v in known] for end in ("first", "last"))
    first = None if None in firsts else min(firsts)
    last = None if None in lasts else max(lasts)
    shape = Typed(values[0].sql, kind, nullable=nullable, first=first, last=last)
    return [v.sql for v in values], shape


def _hull(bounds: list[Fraction | None], pick: object) -> Fraction | None:
    known = [b for b in bounds if b is not None]
    if len(known) < len(bounds):
        return None
    return min(known) if pick is min else max(known)


def _merged_type(node: exp.Expr, values: list[Typed]) -> SqlType:
    kinds = [v.type for v in values if v.type is not UNKNOWN]
    if not kinds:
        return TEXT
    merged = kinds[0]
    for index, kind in enumerate(kinds[1:], 1):
        both = [v for v in values if v.type is not UNKNOWN]
        if both[index].is_number and both[0].is_number:
            merged = common_type(merged, kind)
        elif merged.oid in TEXTS and kind.oid in TEXTS:
            merged = TEXT
        elif {merged.oid, kind.oid} == {DATE.oid, TIMESTAMP.oid}:
            merged = TIMESTAMP
        elif merged.oid != kind.oid:
            raise TypeMismatch(
                f"types {merged.shown} and {kind.shown} cannot be matched", position=position(node)
            )
    return merged
