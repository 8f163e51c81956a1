"""Declarations of columns. HIDDEN takes back domain and class; a domain keeps the class, a class the domain."""

from dataclasses import replace
from typing import assert_never

from dpproxy.errors import InvalidParameter, TypeMismatch
from dpproxy.pgtypes import Column, Schema
from dpproxy.policy.apply_reference import column_reference, discovered, taxonomic
from dpproxy.policy.fitting import fit
from dpproxy.policy.lookup import table_column, table_policy
from dpproxy.policy.model import Between, ColumnPolicy, Members, Policy, Scalar
from dpproxy.policy.statements import (
    ColumnChange,
    Literal,
    SetBetween,
    SetColumnClass,
    SetColumnHidden,
    SetDiscovered,
    SetMembers,
    SetReferences,
    SetTaxonomy,
)

MOST_MEMBERS = 100_000


def change_column(policy: Policy, change: ColumnChange, schema: Schema | None) -> Policy:
    """The policy with one declaration of a column replaced."""
    table = table_policy(policy, change.table, schema)
    column = table_column(change.table, change.column, schema)
    before = table.columns.get(change.column.text, ColumnPolicy())
    match change:
        case SetBetween():
            after = replace(before, domain=_between(change, column))
        case SetMembers():
            after = replace(before, domain=_members(change, column))
        case SetReferences():
            after = replace(before, domain=column_reference(policy, change, column, schema))
        case SetTaxonomy():
            after = replace(before, domain=taxonomic(policy, change, column, schema))
        case SetDiscovered():
            after = replace(before, domain=discovered(change, column))
        case SetColumnHidden():
            after = ColumnPolicy()
        case SetColumnClass():
            after = replace(before, column_class=change.column_class)
        case _:
            assert_never(change)
    changed = replace(table, columns={**table.columns, change.column.text: after})
    return replace(policy, tables={**policy.tables, table.name: changed})


def _between(change: SetBetween, column: Column | None) -> Between:
    low, high = _bound(change.low, column), _bound(change.high, column)
    if column is None and change.low.kind is not change.high.kind:
        raise TypeMismatch("the bounds are of different types", position=change.high.position)
    if high < low:  # type: ignore[operator]  # both are of the column's type
        raise InvalidParameter("the upper bound is below the lower", position=change.high.position)
    return Between(low, high, change.outside)


def _bound(literal: Literal, column: Column | None) -> Scalar:
    value = _value(literal, column)
    if value is None or isinstance(value, bool | str):
        raise TypeMismatch(
            "a bound has to be a number, a date or a timestamp",
            hint="List the values instead: DOMAIN IN (...).",
            position=literal.position,
        )
    return value


def _members(change: SetMembers, column: Column | None) -> Members:
    if not change.values:
        raise InvalidParameter("DOMAIN IN lists no value", position=change.position)
    if len(change.values) > MOST_MEMBERS:
        raise InvalidParameter(f"DOMAIN IN lists more than {MOST_MEMBERS} values", position=change.position)
    seen: dict[Scalar | None, None] = {}
    for literal in change.values:
        value = _value(literal, column)
        if value in seen:
            raise InvalidParameter("DOMAIN IN lists a value twice", position=literal.position)
        seen[value] = None
    return Members(tuple(seen))


def _value(literal: Literal, column: Column | None) -> Scalar | None:
    """The constant as the column's type, as it was written for a stored policy."""
    return literal.value if column is None else fit(literal, column)
