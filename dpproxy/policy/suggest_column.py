"""What a column may show: proposals for its domain, the best first, the last one always HIDDEN."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from dpproxy.policy.checks import Limits, limits
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
    Check,
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
    checks = [c.expression for c in schema.constraints if isinstance(c, Check) and c.table == table]
    match limits(checks, column.name):
        case Limits(values=tuple(values)):
            listed = ", ".join(constant(value) for value in dict.fromkeys(values))
            yield propose(f"DOMAIN IN ({listed})", "a CHECK constraint lists them")
        case Limits(low, high) if low is not None and high is not None:
            yield propose(between(low, high), "a CHECK constraint bounds it")
        case Limits(low, high) if low is not None or high is not None:
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
    """Bounds to be replaced: those its name suggests, else some that its type holds."""
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
