"""What else tells the rows of an open relation apart, for the size of joins alone: no sensitivity follows from it.

A window that numbers rows, with what it is partitioned by; a constant that each arm of a UNION ALL has another of.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from dpproxy.planner.open.relations import Open
from dpproxy.planner.select_list import items

_RANKS = (exp.Rank, exp.DenseRank)


def numbered(
    written: Sequence[exp.Expr],
    place_of: Callable[[exp.Expr], int | None],
    are_unique: Callable[[Sequence[exp.Expr]], bool],
) -> frozenset[int] | None:
    """The places of such a window and of its partition in a SELECT list; None where there is none.

    ``place_of`` finds an expression in the list; ``are_unique`` says of expressions that no two rows share their
    values: of such rows a rank is a number, too.
    """
    for place, node in enumerate(written):
        if not isinstance(node, exp.Window):
            continue
        partition = node.args.get("partition_by") or []
        order = node.args.get("order")
        ordered = [entry.this for entry in order.expressions] if order is not None else []
        is_number = isinstance(node.this, exp.RowNumber) or (
            isinstance(node.this, _RANKS) and are_unique([*partition, *ordered])
        )
        places = [found for part in partition if (found := place_of(part)) is not None]
        if is_number and len(places) == len(partition):
            return frozenset({place, *places})
    return None


def tagged(query: exp.SetOperation, left: Open, right: Open) -> frozenset[int] | None:
    """What tells the rows of both sides of UNION ALL apart, and the place of a constant that tells the sides apart."""
    sides = [found.further or found.unique for found in (left, right)]
    arms = [_constants(side) for side in (query.left, query.right)]
    tag = next((n for n, (a, b) in enumerate(zip(*arms, strict=False)) if a and b and not a & b), None)
    if tag is None or sides[0] is None or sides[1] is None:
        return None
    return frozenset({tag}) | sides[0] | sides[1]


def _constants(query: exp.Expr) -> list[frozenset[exp.Expr]]:
    """For each column the constants that it is in the arms of a query; none where it is anything else in one."""
    query = query.unnest()
    if isinstance(query, exp.Union):
        both = zip(_constants(query.left), _constants(query.right), strict=False)
        return [a | b if a and b else frozenset() for a, b in both]
    shown = items(query) if isinstance(query, exp.Select) else []
    return [frozenset({i.node}) if isinstance(i.node, exp.Literal) else frozenset() for i in shown]
