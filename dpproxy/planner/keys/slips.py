"""Constants that a column is compared with, and that are none of its declared values: most often a slip of the pen."""

from collections.abc import Iterator

from sqlglot import exp

from dpproxy.algebra.plan import Notice
from dpproxy.analysis.unseen import Unseen
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.relation import JoinedRows, own_nodes
from dpproxy.policy.model import Members
from dpproxy.values.pgtypes import UNKNOWN

MOST_NAMED = 10
"""Declared values that the notice lists."""


def tell_undeclared(select: exp.Select, rows: JoinedRows, planning: Planning) -> None:
    """A notice for each text that WHERE compares a column with, though the policy lists others for it."""
    where = select.args.get("where")
    for node in own_nodes(where) if where is not None else ():
        for column, text in _compared(node, planning):
            values = _declared(column, rows, planning)
            if values and isinstance(text, Unseen):
                text.among(values)
            elif values and text not in values:
                planning.tell(_notice(column.name, values))


def _compared(node: exp.Expr, planning: Planning) -> Iterator[tuple[exp.Column, str | Unseen]]:
    """The pairs of a column and a text in one comparison."""
    sides: list[exp.Expr] = []
    if type(node) in (exp.EQ, exp.NEQ):
        sides = [node.this, node.expression]
    elif type(node) is exp.In:
        sides = [node.this, *node.expressions]
    column = next((side for side in sides if type(side) is exp.Column), None)
    for side in sides if column is not None else ():
        if type(side) is exp.Literal and side.is_string and column is not None:
            yield column, str(side.this)
        elif type(side) is exp.Parameter and column is not None:
            yield from ((column, unseen) for unseen in _unseen(side, planning))


def _unseen(node: exp.Parameter, planning: Planning) -> list[Unseen]:
    """The text that is written where a parameter stands for it."""
    number, given = int(node.name), planning.parameters
    values = given.values if given.types.get(number) is UNKNOWN else None
    return [v for v in (values or ())[number - 1 : number] if isinstance(v, Unseen)]


def _declared(node: exp.Column, rows: JoinedRows, planning: Planning) -> tuple[str, ...]:
    """The texts that the policy lists for a column; none where it lists no texts."""
    found = list(rows.candidates(node))
    table = planning.context.policy.tables.get(found[0][0].table) if len(found) == 1 else None
    policy = None if table is None else table.columns.get(found[0][1].column.name)
    domain = None if policy is None else policy.domain
    if not isinstance(domain, Members):
        return ()
    return tuple(value for value in domain.values if isinstance(value, str))


def _notice(column: str, values: tuple[str, ...]) -> Notice:
    named = ", ".join(f"'{value}'" for value in values[:MOST_NAMED])
    more = f" and {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else ""
    return Notice(
        f'column "{column}" is compared with a text that is none of its declared values',
        detail=f"Declared are {named}{more}.",
    )
