"""Whose privacy a table's rows touch: references followed to the table that owns the unit."""

from dpproxy.errors import BoundsMissing, InvalidParameter
from dpproxy.policy.model import Policy, TablePolicy


def unit_table(policy: Policy, table: str) -> TablePolicy:
    """The table that owns the privacy unit of ``table``: itself, or the end of its references; its ceiling counts.

    Raises:
        BoundsMissing: a table on the way has no privacy key (it may be declared later than the reference).
        InvalidParameter: the references form a cycle.
    """
    seen: set[str] = set()
    name = table
    while name not in seen:
        seen.add(name)
        found = policy.tables.get(name)
        if found is None or found.unit is None:
            raise BoundsMissing(
                f'the privacy unit of table "{table}" is not declared',
                hint="An administrator declares the key of the table it refers to: SET PRIVACY KEY (...);",
            )
        if found.unit.references is None:
            return found
        name = found.unit.references[0]
    raise InvalidParameter(f'the references of table "{table}" form a cycle')
