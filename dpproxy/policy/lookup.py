"""Names of statements looked up in the schema.

A schema of None stands for a stored policy: its names and constants were checked when they were declared.
"""

from collections.abc import Iterable

from dpproxy.errors import UndefinedColumn, UndefinedTable
from dpproxy.pgtypes import Column, Schema
from dpproxy.policy.model import Policy, TablePolicy
from dpproxy.policy.statements import Name


def table_policy(policy: Policy, table: Name, schema: Schema | None) -> TablePolicy:
    """What is declared of a table, nothing yet where that is so.

    Raises:
        UndefinedTable: not in the schema.
    """
    if schema is not None and table.text not in schema.tables:
        raise UndefinedTable(
            f'table "{table.text}" does not exist',
            hint=_other_case(table.text, schema.tables),
            position=table.position,
        )
    return policy.tables.get(table.text, TablePolicy(table.text))


def table_column(table: Name, column: Name, schema: Schema | None) -> Column | None:
    """A column of the schema, None without one.

    Raises:
        UndefinedColumn: the table has no such column.
    """
    if schema is None:
        return None
    found = schema.column(table.text, column.text)
    if found is None:
        names = [one.name for one in schema.tables.get(table.text, ())]
        raise UndefinedColumn(
            f'column "{column.text}" of table "{table.text}" does not exist',
            hint=_other_case(column.text, names),
            position=column.position,
        )
    return found


def _other_case(name: str, names: Iterable[str]) -> str | None:
    """A hint where only the case differs: unquoted names are folded to lower case."""
    near = next((one for one in names if one.lower() == name.lower()), None)
    return None if near is None else f'Unquoted names are lower case: write "{near}" in double quotes.'
