"""Which people a release is about, where a condition names blocks of the units: nobody else's rows are in it.

The unit's own table has one row of each unit, so each unit is in the block that its row names, or in none. Where
WHERE asks that this column is one of some declared values, every row that is left is, through the unit equated in each
join, a row of a unit of these blocks: adding or removing any other unit leaves the exact stage as it is, and costs
nothing. That needs the one row to be fixed before the condition is asked, so the table is read as it was prepared, cut
to one row of each unit, or has its rows for units. A generation is one division of people: the same key, column, data
and data version, and the same secret that decided which row was kept.
"""

import hashlib
from collections.abc import Sequence

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.planner.keys.conditions import asked_key
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.relation import JoinedRows, Scan, own_nodes
from dpproxy.policy.blocks import flaw
from dpproxy.policy.dump import constant
from dpproxy.policy.model import TablePolicy

MOST_BLOCKS = 50
"""Accounts that one release debits; what is about more blocks debits everybody."""


def blocks_of(rows: JoinedRows, conditions: Sequence[exp.Expr], planning: Planning) -> tuple[str, ...]:
    """The blocks that rows under these conditions of WHERE are of; none where they may be anybody's."""
    owner = planning.context.policy.tables[rows.owner]
    if owner.blocks is None or flaw(owner, owner.blocks) is not None or not planning.context.snapshot:
        return ()
    for condition in conditions:
        for node in own_nodes(condition):
            values = _listed(node, condition, owner, rows, planning)
            if values:
                prefix = _generation(owner, planning)
                return tuple(f"{prefix}:{value}" for value in values)
    return ()


def _listed(
    node: exp.Expr, condition: exp.Expr, owner: TablePolicy, rows: JoinedRows, planning: Planning
) -> tuple[str, ...]:
    """The declared values that a condition allows the block column; none where it is about something else."""
    if type(node) is not exp.Column or node.name != owner.blocks:
        return ()
    found = list(rows.candidates(node))
    if len(found) != 1 or not _is_fixed(found[0][0], owner):
        return ()
    asked = asked_key(node, rows, planning, [condition])
    declared = found[0][1].key(position(node)).values
    if asked is None or not 0 < len(asked.values) <= MOST_BLOCKS or not set(asked.values) <= set(declared):
        return ()
    return tuple(sorted(constant(value) for value in asked.values if value is not None))


def _is_fixed(scan: Scan, owner: TablePolicy) -> bool:
    """Whether an item of FROM is the unit's own table, with one row of each unit whatever WHERE says."""
    if not scan.whole or scan.table != owner.name:
        return False
    return scan.held or (owner.unit is not None and owner.unit.key is None)


def _generation(owner: TablePolicy, planning: Planning) -> str:
    context = planning.context
    key = None if owner.unit is None else owner.unit.key
    text = repr((context.snapshot, key, owner.blocks))
    return f"{context.policy.data_version}.{hashlib.sha256(text.encode()).hexdigest()[:16]}"
