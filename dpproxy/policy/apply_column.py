"""Declarations of columns. HIDDEN removes domain and class; a new domain keeps the class, a new class the domain."""

from datetime import date, datetime
from fractions import Fraction
from functools import partial
from typing import cast

from msgspec.structs import replace

from dpproxy.policy.apply_quantiles import quantiles
from dpproxy.policy.apply_reference import column_reference, discovered_domain, taxonomic
from dpproxy.policy.constants import read_date, read_timestamp
from dpproxy.policy.documents import field_column
from dpproxy.policy.fitting import Clock, fit, of_utc
from dpproxy.policy.lookup import table_column, table_policy
from dpproxy.policy.model import Between, ColumnPolicy, Counted, Domain, Members, Policy, Scalar
from dpproxy.policy.statements import (
    ColumnChange,
    Literal,
    LiteralKind,
    SetBetween,
    SetColumnClass,
    SetColumnHidden,
    SetColumnQuantiles,
    SetDiscovered,
    SetMembers,
    SetReferences,
    SetTaxonomy,
)
from dpproxy.values.days import midnight
from dpproxy.values.errors import InvalidParameter, InvalidText, TypeMismatch
from dpproxy.values.pgtypes import Column, Schema

MOST_MEMBERS = 100_000


def change_column(
    policy: Policy, change: ColumnChange, schema: Schema | None, clock: Clock = of_utc
) -> Policy:
    """The policy with one declaration of a column replaced."""
    table = table_policy(policy, change.table, schema)
    column = field_column(change.table, change.column, table, schema)
    column = column or table_column(change.table, change.column, schema)
    before = table.columns.get(change.column.text, ColumnPolicy())
    match change:
        case SetColumnHidden():
            after = ColumnPolicy()
        case SetColumnClass():
            after = replace(before, column_class=change.column_class)
        case SetColumnQuantiles():
            read = partial(_value, column=column, clock=clock) if change.of is Counted.VALUES else None
            after = replace(before, quantiles=quantiles(change, change.of, read))
        case _:
            after = replace(before, domain=_domain(policy, change, column, schema, clock))
    changed = replace(table, columns={**table.columns, change.column.text: after})
    return replace(policy, tables={**policy.tables, table.name: changed})


def _domain(
    policy: Policy,
    change: SetBetween | SetMembers | SetReferences | SetTaxonomy | SetDiscovered,
    column: Column | None,
    schema: Schema | None,
    clock: Clock,
) -> Domain:
    match change:
        case SetBetween():
            return _between(change, column, clock)
        case SetMembers():
            return _members(change, column, clock)
        case SetReferences():
            return column_reference(policy, change, column, schema)
        case SetTaxonomy():
            return taxonomic(policy, change, column, schema)
        case SetDiscovered():
            return discovered_domain(change, column)


def _between(change: SetBetween, column: Column | None, clock: Clock) -> Between:
    low, high = _bound(change.low, column, clock), _bound(change.high, column, clock)
    if column is None:
        low, high = _alike(low, high, change.high.position)
    if high < low:  # type: ignore[operator]  # both are of the column's type
        raise InvalidParameter("the upper bound is below the lower", position=change.high.position)
    return Between(low, high, change.outside, change.not_null)


def _alike(low: Scalar, high: Scalar, position: int | None) -> tuple[Scalar, Scalar]:
    """Bounds of one type, where the column's type is not known: a date with a timestamp becomes its midnight."""
    kinds = {type(low), type(high)}
    if (len(kinds) == 1 and _is_zoned(low) == _is_zoned(high)) or kinds <= {int, Fraction}:
        return low, high
    if kinds <= {date, datetime} and not (_is_zoned(low) or _is_zoned(high)):
        return midnight(cast("date", low)), midnight(cast("date", high))
    raise TypeMismatch("the bounds are of different types", position=position)


def _is_zoned(value: Scalar) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _bound(literal: Literal, column: Column | None, clock: Clock) -> Scalar:
    value = _moment(literal) if column is None else _value(literal, column, clock)
    if value is None or isinstance(value, bool | str):
        raise TypeMismatch(
            "a bound has to be a number, a date or a timestamp",
            hint="Such values have no bounds: DOMAIN IN lists them, REFERENCES takes them from a public table.",
            position=literal.position,
        )
    return value


def _members(change: SetMembers, column: Column | None, clock: Clock) -> Members:
    if not change.values:
        raise InvalidParameter(
            "DOMAIN IN lists no value", hint="List the values that are groups.", position=change.position
        )
    if len(change.values) > MOST_MEMBERS:
        raise InvalidParameter(f"DOMAIN IN lists more than {MOST_MEMBERS} values", position=change.position)
    seen: dict[Scalar | None, None] = {}
    for literal in change.values:
        value = _value(literal, column, clock)
        if value in seen:
            raise InvalidParameter(
                "DOMAIN IN lists a value twice", hint="List each value once.", position=literal.position
            )
        seen[value] = None
    return Members(tuple(seen))


def _moment(literal: Literal) -> Scalar | None:
    """A constant for a column whose type is not known: a text is a bound only if it is a date or a timestamp."""
    if literal.kind is not LiteralKind.TEXT:
        return literal.value
    for read in (read_date, read_timestamp):
        try:
            return read(str(literal.value), literal.position)
        except InvalidText:
            continue
    return literal.value


def _value(literal: Literal, column: Column | None, clock: Clock) -> Scalar | None:
    """The constant as a value of the column's type; as it is written where the policy is a stored one."""
    return literal.value if column is None else fit(literal, column, clock)
