"""Blocks divide the units of a table: each unit belongs to the block that its one row names, or to none."""

from dpproxy.policy.dump import alter_table
from dpproxy.policy.model import Members, Policy, TablePolicy
from dpproxy.policy.statements import SetBlocks
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.values.errors import DependentObjects, InvalidParameter, Refusal


def flaw(table: TablePolicy, column: str) -> tuple[str, str] | None:
    """Why a column does not divide the units of a table, and what to do; None where it does."""
    unit, declared = table.unit, table.columns.get(column)
    if unit is None or unit.references is not None:
        return (
            f'table "{table.name}" does not own its privacy unit',
            "Declare the blocks of the table that does: they divide people, wherever their rows are.",
        )
    if unit.key is not None and unit.max_rows != 1:
        return (
            f'a privacy unit may have several rows in table "{table.name}", and so several blocks',
            f"{alter_table(table.name, None, f'KEY ({identifier(unit.key)})')}; keeps one row of each.",
        )
    if declared is None or not isinstance(declared.domain, Members):
        return (
            f'column "{column}" has no list of values',
            f"First declare one, with DOMAIN IN: SUGGEST PRIVACY FOR {table_text(table.name)}; proposes domains.",
        )
    return None


def block_column(table: TablePolicy, change: SetBlocks) -> str | None:
    """The column that a statement declares. Raises ``InvalidParameter`` where it does not divide the units."""
    if change.column is None:
        return None
    found = flaw(table, change.column.text)
    if found is not None:
        raise InvalidParameter(found[0], hint=found[1], position=change.column.position)
    return change.column.text


def with_checked_blocks(policy: Policy, table: Name) -> Policy:
    """The policy, where the column of a table still divides its units into blocks. Raises ``DependentObjects``."""
    found = policy.tables[table.text]
    if found.blocks is not None and flaw(found, found.blocks) is not None:
        raise _needed(found.name, found.blocks, table.position)
    return policy


def _needed(table: str, column: str, at: int | None) -> Refusal:
    return DependentObjects(
        f'the units of table "{table}" are divided into blocks by "{column}"',
        hint=f"First {alter_table(table, None, 'BLOCKS HIDDEN')}; so that every statement is about everybody.",
        position=at,
    )
