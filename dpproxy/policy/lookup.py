"""Names of statements looked up in the schema.

A schema of None means a stored policy, whose names and constants were checked when they were declared.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Final

from dpproxy.policy.model import Exposure, Policy, TablePolicy
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.errors import InvalidParameter, UndefinedColumn, UndefinedTable
from dpproxy.values.pgtypes import Column, Schema

_IS_VIEW = "It is a view: declare the tables it reads, and GRANT SELECT ON it."
MOST_NAMED: Final = 30
"""Columns that a hint lists."""
_LISTED = "SHOW PRIVACY TABLES; lists those there are."


def table_policy(policy: Policy, table: Name, schema: Schema | None) -> TablePolicy:
    """The declarations of a table, empty where there are none.

    Raises:
        UndefinedTable: not in the schema.
    """
    if schema is not None and table.text not in schema.tables:
        is_view = table.text in schema.views
        raise UndefinedTable(
            f'table "{table.text}" does not exist',
            hint=_IS_VIEW
            if is_view
            else _elsewhere(table.text, schema) or _near(table.text, schema.tables) or _LISTED,
            position=table.position,
        )
    return policy.tables.get(table.text, TablePolicy(table.text))


def check_relation(relation: Name, policy: Policy, schema: Schema | None) -> None:
    """Check that a table or a view has this name. Raises ``UndefinedTable``."""
    if relation.text in policy.views:
        return
    if schema is not None and relation.text not in schema.tables and relation.text not in schema.views:
        raise UndefinedTable(
            f'table "{relation.text}" does not exist',
            hint=_elsewhere(relation.text, schema)
            or _near(relation.text, (*schema.tables, *schema.views))
            or _LISTED,
            position=relation.position,
        )


def is_protected(policy: Policy, relation: str, schema: Schema | None) -> bool:
    """Whether a table is protected, or a view shows rows of one; a released view does not."""
    view = policy.views.get(relation)
    if view is not None:
        return view.is_inside
    bases = (relation,) if schema is None else schema.bases(relation)
    return any(base in policy.tables and policy.tables[base].exposure is Exposure.PROTECTED for base in bases)


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
            hint=_near(column.text, names) or f"Columns of {table.text}: {', '.join(names[:MOST_NAMED])}.",
            position=column.position,
        )
    return found


def check_distinct(columns: Iterable[Name]) -> None:
    """Refuse a list of columns that names one twice."""
    seen: set[str] = set()
    for name in columns:
        if name.text in seen:
            raise InvalidParameter(f'column "{name.text}" is named twice', position=name.position)
        seen.add(name.text)


def _elsewhere(name: str, schema: Schema) -> str | None:
    """A hint for a table of another schema than public: statements of administrators follow no search path."""
    found = min((one for one, (_, table) in schema.places.items() if table == name), default=None)
    return (
        None
        if found is None
        else f"Write {table_text(found)}: it is in the schema {schema.places[found][0]}."
    )


def _near(name: str, names: Collection[str]) -> str | None:
    """A hint for a name that is misspelt, or differs only in case: unquoted names are folded to lower case."""
    near = next((one for one in names if one.lower() == name.lower()), None)
    if near is not None:
        return f'Unquoted names are lower case: write "{near}" in double quotes.'
    found = get_close_matches(name, names, n=1, cutoff=0.65)
    return f"Did you mean {identifier(found[0])}?" if found else None
