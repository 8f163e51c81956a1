"""The privacy unit of a table: references are followed to the table that owns it."""

from collections.abc import Iterator

from dpproxy.policy.model import Policy, TablePolicy, Unit
from dpproxy.values.errors import BoundsMissing, InvalidParameter, Refusal
from dpproxy.values.pgtypes import Schema


def unit_table(policy: Policy, table: str) -> TablePolicy:
    """The table that owns the privacy unit of ``table``: itself, or the end of its references.

    That table's ceiling applies.

    Raises:
        BoundsMissing: a table on the way has no privacy key (it may be declared later than the reference), or the last
            one has PRIVACY KEY ROW, which no column can refer to.
        InvalidParameter: the references form a cycle.
    """
    *_, (owner, _) = _followed(policy, table)
    return owner


def are_of_one_unit(policy: Policy, table: str, target: str) -> bool:
    """Whether the rows of two tables have keys that lead to one privacy unit."""
    units = [policy.tables[name].unit for name in (table, target) if name in policy.tables]
    if len(units) < 2 or not all(unit is not None and unit.key is not None for unit in units):
        return False
    try:
        return unit_table(policy, table).name == unit_table(policy, target).name
    except Refusal:
        return False


def unanswerable(policy: Policy) -> list[str]:
    """A line for each granted protected table on which every query is refused, for lack of a declaration."""
    granted = {grant.table for grant in policy.grants}
    lines = []
    for name, table in sorted(policy.tables.items()):
        if name not in granted or table.unit is None:
            continue
        try:
            owner = unit_table(policy, name)
        except Refusal as refusal:
            lines.append(f'nothing is answered about table "{name}": {refusal.message}')
            continue
        if owner.ceiling is None:
            lines.append(
                f'nothing is answered about table "{name}": table "{owner.name}" has no privacy ceiling; '
                "ALTER TABLE ... SET PRIVACY CEILING EPSILON ...; declares it"
            )
    return lines


def without_people(policy: Policy, schema: Schema) -> list[str]:
    """A line for each protected table whose rows may be without a key: they are nobody's, and no answer counts them."""
    lines = []
    for name, table in sorted(policy.tables.items()):
        key = None if table.unit is None or table.unit.key is None else schema.column(name, table.unit.key)
        if key is not None and not key.not_null:
            lines.append(f'rows of table "{name}" whose "{key.name}" is NULL count for nobody')
    return lines


def shared(policy: Policy) -> list[str]:
    """A line for each budget that shares its releases: what one of its users may learn is not what they may spend."""
    return [
        f'budget "{name}" shares its releases: one of its users may learn its whole limit, '
        f"epsilon {float(budget.limit):g}; USER LIMIT bounds what they spend"
        for name, budget in sorted(policy.budgets.items())
        if budget.shares
    ]


def _followed(policy: Policy, table: str) -> Iterator[tuple[TablePolicy, Unit]]:
    """The tables from ``table`` to the owner, with what is declared of their units."""
    seen: set[str] = set()
    name: str | None = table
    while name is not None:
        found = policy.tables.get(name)
        if found is None or found.unit is None:
            raise BoundsMissing(
                f'the privacy unit of table "{table}" is not declared',
                hint="An administrator declares the key of the table that its own refers to.",
            )
        if name in seen:
            raise InvalidParameter(f'the references of table "{table}" form a cycle')
        if found.unit.key is None and seen:
            raise BoundsMissing(
                f'the privacy unit of table "{table}" is a row of another table, and no key tells which',
                hint="An administrator declares the key of the table that its own refers to.",
            )
        seen.add(name)
        yield found, found.unit
        name = None if found.unit.references is None else found.unit.references[0]
