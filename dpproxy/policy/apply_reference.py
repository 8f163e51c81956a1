"""Domains that refer to a public table, of one or several columns; discovered domains; taxonomies.

The table has to be public when it is referred to. Where it later is not, ``usable`` leaves the domain out.
"""

from msgspec.structs import replace

from dpproxy.policy.apply_foreign_key import check_length, check_one_unit, texts
from dpproxy.policy.dump import alter_table
from dpproxy.policy.lookup import check_distinct, table_column, table_policy
from dpproxy.policy.model import (
    Composite,
    Discovered,
    Exposure,
    Policy,
    References,
    TablePolicy,
    Taxonomic,
    Taxonomy,
)
from dpproxy.policy.statements import (
    Change,
    CreateTaxonomy,
    DropTaxonomy,
    SetComposite,
    SetDiscovered,
    SetForeignKey,
    SetReferences,
    SetTaxonomy,
    TaxonomyChange,
)
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import table_text
from dpproxy.values.errors import DependentObjects, InvalidParameter, TypeMismatch, UndefinedObject
from dpproxy.values.pgtypes import BOOL, DATE, INTEGERS, NUMERIC, PLAIN, TEXTS, TIMESTAMP, Column, Schema

_KEYS = INTEGERS | TEXTS | {DATE.oid, TIMESTAMP.oid, BOOL.oid, NUMERIC.oid}
"""Types whose values can be keys: floats cannot, two that print alike may differ."""
_DISCOVERABLE = _KEYS - {BOOL.oid, NUMERIC.oid} | PLAIN
"""Types whose values can be discovered."""


def column_reference(
    policy: Policy, change: SetReferences, column: Column | None, schema: Schema | None
) -> References:
    """The domain of one column. Raises a ``Refusal`` where table or column referred to do not fit."""
    target, referenced = change.target
    _public(policy, target, schema)
    _identical(change.column, column, table_column(target, referenced, schema))
    if change.or_null and column is not None and column.type.oid == NUMERIC.oid:
        raise TypeMismatch(
            f'NULL is no group of column "{column.name}", which is of type {column.type.name}',
            hint="Declare DOMAIN REFERENCES without OR NULL: rows without a value are in no group.",
            position=change.column.position,
        )
    return References(target.text, referenced.text, or_null=change.or_null)


def taxonomic(policy: Policy, change: SetTaxonomy, column: Column | None, schema: Schema | None) -> Taxonomic:
    """The domain of a column that holds concepts. Raises a ``Refusal`` where taxonomy or column do not fit."""
    found = _find_taxonomy(policy, change.taxonomy)
    target, code = Name(found.table, change.taxonomy.position), Name(found.code, change.taxonomy.position)
    _public(policy, target, schema)
    _identical(change.column, column, table_column(target, code, schema))
    return Taxonomic(found.table, found.code, taxonomy=found.name)


def change_taxonomy(policy: Policy, change: TaxonomyChange, schema: Schema | None) -> Policy:
    """The policy with a taxonomy created, replaced or dropped; columns follow one that is replaced."""
    match change:
        case CreateTaxonomy():
            _public(policy, change.table, schema)
            code = table_column(change.table, change.code, schema)
            _identical(change.parent, table_column(change.table, change.parent, schema), code)
            found = Taxonomy(change.name.text, change.table.text, change.code.text, change.parent.text)
            tables = {name: _following(table, found) for name, table in policy.tables.items()}
            return replace(policy, tables=tables, taxonomies={**policy.taxonomies, found.name: found})
        case DropTaxonomy():
            _find_taxonomy(policy, change.name)
            _unused(policy, change.name)
            kept = {name: one for name, one in policy.taxonomies.items() if name != change.name.text}
            return replace(policy, taxonomies=kept)


def _following(table: TablePolicy, taxonomy: Taxonomy) -> TablePolicy:
    domain = Taxonomic(taxonomy.table, taxonomy.code, taxonomy=taxonomy.name)
    columns = {
        name: replace(column, domain=domain)
        if isinstance(column.domain, Taxonomic) and column.domain.taxonomy == taxonomy.name
        else column
        for name, column in table.columns.items()
    }
    return table if columns == table.columns else replace(table, columns=columns)


def _find_taxonomy(policy: Policy, name: Name) -> Taxonomy:
    found = policy.taxonomies.get(name.text)
    if found is None:
        raise UndefinedObject(
            f'taxonomy "{name.text}" does not exist',
            hint="A taxonomy is made of a public table with a column of codes and one of their parents.",
            position=name.position,
        )
    return found


def _unused(policy: Policy, name: Name) -> None:
    for table in policy.tables.values():
        for column, declared in table.columns.items():
            if isinstance(declared.domain, Taxonomic) and declared.domain.taxonomy == name.text:
                raise DependentObjects(
                    f'taxonomy "{name.text}" is the domain of column "{column}" of table "{table.name}"',
                    hint=f"First {alter_table(table.name, column, 'HIDDEN')};",
                    position=name.position,
                )


def discovered_domain(change: SetDiscovered, column: Column | None) -> Discovered:
    """DOMAIN DISCOVERED of a column. Raises ``TypeMismatch``."""
    if column is not None and column.type.oid not in _DISCOVERABLE:
        raise TypeMismatch(
            f'column "{column.name}" is of type {column.type.name}: texts, whole numbers, dates and timestamps '
            "can be discovered",
            hint=f"SUGGEST PRIVACY FOR {table_text(change.table.text)}; proposes what fits it.",
            position=change.column.position,
        )
    return Discovered()


def change_composite(policy: Policy, change: SetComposite, schema: Schema | None) -> Policy:
    """The policy with the key set of these columns replaced or removed; a set of columns has at most one."""
    table = table_policy(policy, change.table, schema)
    columns = [table_column(change.table, name, schema) for name in change.columns]
    check_distinct(change.columns)
    of_these = {name.text for name in change.columns}
    kept = [one for one in table.composites if set(one.columns) != of_these]
    if change.target is not None:
        target, referenced = change.target
        _public(policy, target, schema)
        check_length(change, "DOMAIN")
        for name, column, other in zip(change.columns, columns, referenced, strict=True):
            _identical(name, column, table_column(target, other, schema))
        kept.append(Composite(texts(change.columns), target.text, texts(referenced)))
    changed = replace(table, composites=tuple(sorted(kept, key=lambda one: one.columns)))
    return replace(policy, tables={**policy.tables, table.name: changed})


def check_public(policy: Policy, change: Change) -> None:
    """Refuse to refer to a table that is not public yet, where the statement is new and no schema is at hand."""
    match change:
        case (
            SetReferences(target=(target, _))
            | SetComposite(target=(target, _))
            | CreateTaxonomy(table=target)
        ):
            _refuse_unless_public(policy.tables.get(target.text, TablePolicy(target.text)), target)
        case SetForeignKey():
            check_one_unit(policy, change)
        case _:
            pass


def _public(policy: Policy, target: Name, schema: Schema | None) -> None:
    """Refuse a table that is not public; of a stored policy, ``usable`` asks again."""
    found = table_policy(policy, target, schema)
    if schema is not None:
        _refuse_unless_public(found, target)


def _refuse_unless_public(found: TablePolicy, target: Name) -> None:
    if found.exposure is not Exposure.PUBLIC:
        raise InvalidParameter(
            f'table "{target.text}" is not public: keys come from public tables only',
            hint=f"First {alter_table(target.text, None, 'PUBLIC')}; where no row of it is about a person.",
            position=target.position,
        )


def _identical(name: Name, column: Column | None, referenced: Column | None) -> None:
    """Refuse columns whose values would have to be converted to be compared, and types that are no keys."""
    if column is None or referenced is None:
        return
    if column.type != referenced.type:
        raise TypeMismatch(
            f'column "{column.name}" is of type {column.type.name}, the column it refers to is not',
            hint="Both have to be of one type, of numerics with the same digits.",
            position=name.position,
        )
    if column.type.oid not in _KEYS:
        raise TypeMismatch(
            f'column "{column.name}" is of type {column.type.name}, whose values are no keys',
            hint="Such a column has bounds: DOMAIN BETWEEN its least and its greatest value.",
            position=name.position,
        )
