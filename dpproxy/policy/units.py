"""Whose privacy a table's rows touch: references followed to the table that owns the unit."""

from collections.abc import Iterator
from dataclasses import dataclass

from dpproxy.errors import BoundsMissing, InvalidParameter
from dpproxy.policy.model import Policy, TablePolicy, Unit


@dataclass(frozen=True, slots=True)
class Step:
    """One reference: rows of ``table`` belong to the rows of ``referenced_table`` whose column equals ``key``.

    ``referenced_column`` need not be that table's own privacy key, and need not be unique: a row that matches rows of
    several units belongs to each of them. A NULL or dangling ``key`` belongs to nobody.
    """

    table: str
    key: str
    referenced_table: str
    referenced_column: str


def unit_table(policy: Policy, table: str) -> TablePolicy:
    """The table that owns the privacy unit of ``table``: itself, or the end of its references; its ceiling counts.

    Raises:
        BoundsMissing: a table on the way has no privacy key (it may be declared later than the reference), or the last
            one has its rows for units, and none of its columns says which.
        InvalidParameter: the references form a cycle.
    """
    *_, (owner, _) = _followed(policy, table)
    return owner


def reference_chain(policy: Policy, table: str) -> tuple[Step, ...]:
    """The references from ``table`` to the table that owns its unit, nearest first; none where it is its own.

    Raises:
        BoundsMissing, InvalidParameter: as ``unit_table``.
    """
    return tuple(
        Step(found.name, unit.key, *unit.references)
        for found, unit in _followed(policy, table)
        if unit.key is not None and unit.references is not None
    )


def _followed(policy: Policy, table: str) -> Iterator[tuple[TablePolicy, Unit]]:
    """The tables from ``table`` to the owner, with what is declared of their units."""
    seen: set[str] = set()
    name: str | None = table
    while name is not None:
        found = policy.tables.get(name)
        if found is None or found.unit is None:
            raise BoundsMissing(
                f'the privacy unit of table "{table}" is not declared',
                hint="An administrator declares the key of the table it refers to: SET PRIVACY KEY (...);",
            )
        if name in seen:
            raise InvalidParameter(f'the references of table "{table}" form a cycle')
        if found.unit.key is None and seen:
            raise BoundsMissing(
                f'the privacy unit of table "{table}" is a row of another table, and no key tells which',
                hint="An administrator declares the key of the table it refers to: SET PRIVACY KEY (...);",
            )
        seen.add(name)
        yield found, found.unit
        name = None if found.unit.references is None else found.unit.references[0]
