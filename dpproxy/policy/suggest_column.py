"""Proposals for a column's domain, the best first; the last one is always HIDDEN."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

import sqlglot
from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpproxy.policy.dump import alter_table, constant, target_of
from dpproxy.policy.model import Exposure, Policy, Scalar
from dpproxy.policy.names import is_contact, is_free_text, is_identifier, words
from dpproxy.policy.suggest_unit import FILL_IN, Proposal, foreign_keys, is_unique
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOATS,
    INTEGERS,
    NUMERIC,
    TEXTS,
    TIMESTAMP,
    TIMESTAMPTZ,
    CheckConstraint,
    Column,
    Schema,
)

_USUAL: dict[str, tuple[int, int]] = {
    "age": (0, 120),
    "year": (1900, 2100),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "percent": (0, 100),
    "latitude": (-90, 90),
    "lat": (-90, 90),
    "longitude": (-180, 180),
    "lon": (-180, 180),
}
_LARGEST = 1000
_EARLIEST, _LATEST = "1900-01-01", "2099-12-31"


def column_proposals(policy: Policy, schema: Schema, table: str, column: Column) -> Iterator[Proposal]:
    """For one column, from its type, its constraints, its name and what is declared of other tables."""

    def propose(text: str, reason: str) -> Proposal:
        return Proposal(alter_table(table, column.name, f"{text};"), reason)

    declared = policy.tables.get(table)
    unit = None if declared is None else declared.unit
    if is_unique(schema, table, column.name) or (unit is not None and unit.key == column.name):
        yield propose("CLASS IDENTIFIER", "a key: it names a person or a row, and stays hidden")
    yield from _foreign(policy, schema, table, column, propose)
    yield from _checked(schema, table, column, propose)
    yield from _by_name(column, propose)
    yield from _by_type(column, propose)
    yield propose("HIDDEN", f"a type without domains: {column.type.name}")


_Propose = Callable[[str, str], Proposal]


def _foreign(
    policy: Policy, schema: Schema, table: str, column: Column, propose: _Propose
) -> Iterator[Proposal]:
    for key in foreign_keys(schema, table):
        if key.columns != (column.name,):
            continue
        target = policy.tables.get(key.target)
        reference = f"DOMAIN {target_of(key.target, key.referenced)}"
        if target is not None and target.exposure is Exposure.PUBLIC:
            yield propose(reference, f'a foreign key to the public table "{key.target}"')
        elif target is None:
            reason = f'a foreign key to "{key.target}": if that is declared PUBLIC, declare {reference}'
            yield propose("HIDDEN", reason)


def _checked(schema: Schema, table: str, column: Column, propose: _Propose) -> Iterator[Proposal]:
    checks = [c.expression for c in schema.constraints if isinstance(c, CheckConstraint) and c.table == table]
    match limits(checks, column.name):
        case ColumnLimits(values=tuple(values)):
            listed = ", ".join(constant(value) for value in dict.fromkeys(values))
            yield propose(f"DOMAIN IN ({listed})", "a CHECK constraint or an enum lists them")
        case ColumnLimits(low, high) if low is not None and high is not None:
            yield propose(between(low, high), "a CHECK constraint bounds it")
        case ColumnLimits(low, high) if low is not None or high is not None:
            usual = _usual(column)
            low, high = (usual[0] if low is None else low), (usual[1] if high is None else high)
            reason = "a CHECK constraint gives one bound; the other only a person knows: fill it in"
            yield replace(propose(between(low, high) + FILL_IN, reason), unbounded=column.name)
        case _:
            pass


def _by_name(column: Column, propose: _Propose) -> Iterator[Proposal]:
    if is_identifier(column.name):
        yield propose("CLASS IDENTIFIER", "by its name it tells rows apart: it stays hidden")
    if column.type.oid not in TEXTS:
        return
    if is_contact(column.name):
        yield propose("CLASS IDENTIFIER", "by its name it may name or find a person: it stays hidden")
    if is_free_text(column.name):
        yield propose("HIDDEN", "by its name it holds what people wrote")


def _by_type(column: Column, propose: _Propose) -> Iterator[Proposal]:
    kind = column.type.oid
    if kind == BOOL.oid:
        yield propose("DOMAIN IN (TRUE, FALSE)", "the values of its type")
    elif kind in TEXTS:
        yield propose(
            "DOMAIN DISCOVERED",
            "its values follow from no declaration: where they are known, list them by DOMAIN IN (...), or refer to a "
            "public table; discovered ones need a budget with DELTA",
        )
    elif kind in INTEGERS | FLOATS | {NUMERIC.oid, DATE.oid, TIMESTAMP.oid, TIMESTAMPTZ.oid}:
        reason = "its bounds follow from no declaration, and what is outside is moved to them: fill them in"
        yield replace(propose(between(*_usual(column)) + FILL_IN, reason), unbounded=column.name)


def _usual(column: Column) -> tuple[Scalar, Scalar]:
    """Placeholder bounds, which the reader is to replace: as the column's name suggests, else any of its type."""
    kind = column.type
    if kind.oid in {DATE.oid, TIMESTAMP.oid, TIMESTAMPTZ.oid}:
        return _EARLIEST, _LATEST
    low, high = next((_USUAL[word] for word in words(column.name) if word in _USUAL), (0, _LARGEST))
    if kind.precision is None or kind.scale is None:
        return low, high
    largest = Fraction(10**kind.precision - 1, 10**kind.scale)
    return max(Fraction(low), -largest), min(Fraction(high), largest)


def between(low: Scalar, high: Scalar) -> str:
    """The domain."""
    return f"DOMAIN BETWEEN {constant(low)} AND {constant(high)}"


# --- what CHECK constraints say


class ColumnLimits(Struct, frozen=True):
    """The bounds and values that constraints allow in a column, besides NULL; None where nothing is known."""

    low: Scalar | None = None
    high: Scalar | None = None
    values: tuple[Scalar, ...] | None = None


def limits(expressions: Iterable[str], column: str) -> ColumnLimits:
    """The bounds and values that these constraints allow together.

    A bound that ``<`` leaves out is given as if it were ``<=``. Dates are texts, as they are written.

    >>> limits(["((age >= 0) AND (age < 110))"], "age")
    ColumnLimits(low=0, high=110, values=None)
    """
    found = ColumnLimits()
    for expression in expressions:
        try:
            tree = sqlglot.parse_one(expression, read="duckdb")
        except SqlglotError:
            continue
        for part in _conjuncts(tree):
            found = _narrowed(found, part, column.lower())
    return found


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _narrowed(found: ColumnLimits, part: exp.Expr, column: str) -> ColumnLimits:
    """``found``, narrowed by a condition about the column; unchanged by a condition of a kind that is not known."""
    match part:
        case exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
            return _compared(found, part, column)
        case exp.Between() if _is(part.this, column):
            low, high = _constant(part.args["low"]), _constant(part.args["high"])
            return found if low is None or high is None else replace(found, low=low, high=high)
        case exp.In() if _is(part.this, column):
            listed = [_constant(one) for one in part.expressions]
        case exp.EQ(expression=exp.Any(this=array)) if _is_text(part.this, column):
            listed = _array_items(array)
        case exp.EQ() if _is_text(part.this, column):
            listed = [_constant(part.expression)]
        case _:
            return found
    values = tuple(one for one in listed if one is not None)
    # With a NULL in the list, or what is no constant, every value passes or may pass.
    return replace(found, values=values) if values and len(values) == len(listed) else found


def _compared(found: ColumnLimits, part: exp.Expr, column: str) -> ColumnLimits:
    upwards = isinstance(part, exp.GT | exp.GTE)
    left, right = part.this, part.expression
    if _is(right, column):
        left, right, upwards = right, left, not upwards
    bound = _constant(right) if _is(left, column) else None
    if bound is None:
        return found
    return replace(found, low=bound) if upwards else replace(found, high=bound)


def _is(node: exp.Expr, column: str) -> bool:
    node = node.unnest()
    return isinstance(node, exp.Column) and node.name.lower() == column


def _is_text(node: exp.Expr, column: str) -> bool:
    """The column, or as PostgreSQL writes one of VARCHAR: cast to a text."""
    node = node.unnest()
    return _is(node.this if isinstance(node, exp.Cast) and node.to.this is exp.DType.TEXT else node, column)


def _array_items(node: exp.Expr) -> list[Scalar | None]:
    """The items of an array, which is how PostgreSQL stores the values of IN; empty for anything else."""
    node = node.unnest()
    node = node.this.unnest() if isinstance(node, exp.Cast) else node
    return [_constant(one) for one in node.expressions] if isinstance(node, exp.Array) else []


def _constant(node: exp.Expr) -> Scalar | None:
    """A constant, None for anything else and for NULL."""
    node = node.unnest()
    match node:
        case exp.Literal(is_string=True):
            return str(node.this)
        case exp.Literal():
            return _number(node.this)
        case exp.Neg():
            value = _constant(node.this)
            return -value if isinstance(value, int | Fraction) else None
        case exp.Cast():
            return _cast(_constant(node.this), node.to.this)
        case _:
            return None


_TEXTS = frozenset({
    exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.USERDEFINED, exp.DType.DATE, exp.DType.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ,
})  # fmt: skip
_WHOLE = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_BROKEN = frozenset({exp.DType.DECIMAL, exp.DType.FLOAT, exp.DType.DOUBLE})


def _cast(value: Scalar | None, kind: exp.DType) -> Scalar | None:
    """PostgreSQL writes a type behind most constants; None where the cast would change the value."""
    if kind in _TEXTS:
        return value if isinstance(value, str) else None
    if kind not in _WHOLE | _BROKEN:
        return None
    number = _number(value) if isinstance(value, str) else value
    return number if isinstance(number, int) or kind in _BROKEN else None


def _number(text: str) -> int | Fraction | None:
    try:
        value = Fraction(text)
    except ValueError:
        return None
    return int(value) if value.denominator == 1 else value
