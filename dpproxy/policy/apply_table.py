"""Declarations of tables.

KEY, PUBLIC and HIDDEN replace one another at any time. Columns, expected rows and grants stay as declared; the unit,
blocks, foreign keys and the ceiling go with PUBLIC and HIDDEN, and so do grants of exact answers, while what was spent
of a ceiling stays in the ledger.
"""

from fractions import Fraction
from typing import assert_never

from msgspec.structs import replace

from dpproxy.policy import amounts
from dpproxy.policy.apply_quantiles import quantiles
from dpproxy.policy.blocks import block_column
from dpproxy.policy.dump import alter_table, decimal
from dpproxy.policy.lookup import table_column, table_policy
from dpproxy.policy.model import Ceiling, Composition, Counted, Exposure, Policy, TablePolicy, Unit
from dpproxy.policy.statements import (
    SetBlocks,
    SetCeiling,
    SetExpectedRows,
    SetExposure,
    SetKey,
    SetQuantiles,
    TableChange,
)
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.errors import DependentObjects, InvalidParameter, TypeMismatch
from dpproxy.values.pgtypes import BYTEA, INTEGERS, PLAIN, TEXTS, UUID, Column, Schema


def change_table(policy: Policy, change: TableChange, schema: Schema | None) -> Policy:
    """The policy with one declaration of a table replaced."""
    table = table_policy(policy, change.table, schema)
    match change:
        case SetKey():
            changed = _key(policy, table, change, schema)
        case SetExposure():
            changed = replace(
                table, exposure=change.exposure, unit=None, ceiling=None, blocks=None, quantiles=None,
                foreign_keys=(),
            )  # fmt: skip
        case SetCeiling():
            changed = replace(table, ceiling=_ceiling(table, change))
        case SetBlocks():
            if change.column is not None:
                table_column(change.table, change.column, schema)
            changed = replace(table, blocks=block_column(table, change))
        case SetExpectedRows():
            changed = replace(table, expected_rows=amounts.count(change.rows, amounts.MOST_EXPECTED))
        case SetQuantiles():
            changed = replace(table, quantiles=quantiles(change, Counted.ROWS))
        case _:
            assert_never(change)
    is_protected = changed.exposure is Exposure.PROTECTED
    exact = tuple(grant for grant in policy.exact if is_protected or grant.table != table.name)
    return replace(policy, tables={**policy.tables, table.name: changed}, exact=exact)


def _key(policy: Policy, table: TablePolicy, change: SetKey, schema: Schema | None) -> TablePolicy:
    key = None if change.key is None else table_column(change.table, change.key, schema)
    check_tells_apart(change.key, key)
    references = None
    if change.references is not None and change.key is not None:
        target, column = change.references
        table_policy(policy, target, schema)
        check_same_type(change.key, key, table_column(target, column, schema))
        _no_cycle(policy, table.name, change.key.text, target)
        references = (target.text, column.text)
    _no_ceiling_left(table, change)
    _no_grant_unpaid(policy, change.table)
    unit = Unit(
        key=None if change.key is None else change.key.text,
        references=references,
        max_rows=1 if change.max_rows is None else amounts.count(change.max_rows),
        max_groups=None if change.max_groups is None else amounts.count(change.max_groups),
    )
    return replace(table, exposure=Exposure.PROTECTED, unit=unit)


def check_tells_apart(name: Name | None, key: Column | None) -> None:
    """Refuse a key of a type without equality, or one whose equal values can be written differently."""
    if name is not None and key is not None and key.type.oid in PLAIN - {UUID.oid, BYTEA.oid}:
        raise TypeMismatch(
            f'the key "{key.name}" is of type {key.type.name}, whose values tell nobody apart',
            hint="A privacy key is a number, a text, a UUID or a date.",
            position=name.position,
        )


def check_same_type(name: Name, key: Column | None, target: Column | None) -> None:
    """Refuse a key whose values could not equal those it refers to."""
    if key is None or target is None or key.type.is_same(target.type):
        return
    if not any({key.type.oid, target.type.oid} <= family for family in (INTEGERS, TEXTS)):
        raise TypeMismatch(
            f'the key "{key.name}" is of type {key.type.name}, the column it refers to of type {target.type.name}',
            hint="Both have to be of one type, or texts, or whole numbers.",
            position=name.position,
        )


def _no_cycle(policy: Policy, table: str, key: str, target: Name) -> None:
    """Refuse a reference that leads back to ``table``."""
    name = target.text
    while name != table:
        found = policy.tables.get(name)
        if found is None or found.unit is None or found.unit.references is None:
            return
        name = found.unit.references[0]
    raise InvalidParameter(
        f'the references of table "{table}" would form a cycle',
        hint=f"One table has to own the unit: {alter_table(table, None, f'KEY ({identifier(key)})')};",
        position=target.position,
    )


def _no_ceiling_left(table: TablePolicy, change: SetKey) -> None:
    """Refuse a change of the unit that would leave its ceiling behind."""
    if table.ceiling is not None and change.references is not None:
        raise DependentObjects(
            f'table "{table.name}" has a ceiling of its own, and a ceiling belongs to the table that owns the unit',
            hint=f"{alter_table(table.name, None, 'HIDDEN')}; takes the ceiling back; declare the key after it.",
            position=change.table.position,
        )


def _no_grant_unpaid(policy: Policy, table: Name) -> None:
    """Refuse to protect a table that a role may read without a budget."""
    unpaid = next((g for g in policy.grants if g.table == table.text and g.budget is None), None)
    if unpaid is not None:
        raise DependentObjects(
            f'role "{unpaid.role}" reads table "{table.text}" without a budget',
            hint=f"First REVOKE SELECT ON {table_text(table.text)} FROM {identifier(unpaid.role)};",  # noqa: S608 - a hint
            position=table.position,
        )


def _ceiling(table: TablePolicy, change: SetCeiling) -> Ceiling:
    if table.unit is None:
        raise InvalidParameter(
            f'table "{table.name}" has no privacy unit to set a ceiling for',
            hint=f"Declare it first: SUGGEST PRIVACY FOR {table_text(table.name)}; proposes one.",
            position=change.table.position,
        )
    if table.unit.references is not None:
        raise InvalidParameter(
            f'the privacy unit of table "{table.name}" is owned by another table, and so is the ceiling',
            hint=f'Declare the ceiling of "{table.unit.references[0]}", or of the table that one refers to.',
            position=change.table.position,
        )
    was = table.ceiling or Ceiling(Fraction(0))
    delta = was.delta if change.delta is None else amounts.delta(change.delta)
    accountant = was.accountant if change.accountant is None else change.accountant
    if accountant is Composition.ZCDP and not delta:
        clause = f"CEILING EPSILON {decimal(Fraction(change.epsilon.value))} DELTA 0.00001 ACCOUNTANT ZCDP"
        raise InvalidParameter(
            "ACCOUNTANT ZCDP needs a DELTA: what rho is in epsilon depends on it",
            hint=f"{alter_table(table.name, None, clause)};",
            position=change.table.position if change.delta is None else change.delta.position,
        )
    return Ceiling(amounts.epsilon(change.epsilon), delta, accountant)
