"""A stored policy held against the data as it is now: what no longer fits is hidden, never guessed at."""

from dataclasses import replace

from dpproxy.errors import Refusal
from dpproxy.pgtypes import Schema
from dpproxy.policy.apply import apply
from dpproxy.policy.dump import dump
from dpproxy.policy.model import Policy, TablePolicy
from dpproxy.policy.store import change_of


def usable(policy: Policy, schema: Schema) -> tuple[Policy, list[str]]:
    """The policy without the tables whose declarations do not fit the schema, and a line for each of these.

    A table dropped or retyped since it was declared is one; the stored policy keeps it.
    """
    misfits = {name: _misfit(table, schema) for name, table in policy.tables.items()}
    kept = {name: table for name, table in policy.tables.items() if misfits[name] is None}
    lines = [f'table "{name}" stays hidden: {reason}' for name, reason in sorted(misfits.items()) if reason]
    return replace(policy, tables=kept), lines


def _misfit(table: TablePolicy, schema: Schema) -> str | None:
    """Why a table's declarations do not fit, None where they do."""
    policy = Policy()
    try:
        for sql in dump(Policy(tables={table.name: table})):
            policy = apply(policy, change_of(sql), schema)
    except Refusal as refusal:
        return refusal.message
    return None
