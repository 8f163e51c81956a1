"""What a SELECT groups by, and which aggregates it calls."""

from math import prod

from sqlglot import exp

from dpproxy.aggregates.table import AGGREGATES
from dpproxy.analysis.keys import Key, check_size, group_key
from dpproxy.analysis.position import position
from dpproxy.errors import GroupingError, Unsupported
from dpproxy.planner.answer import Item, items, ordinal
from dpproxy.planner.rows import RowScope


def group_keys(select: exp.Select, rows: RowScope) -> dict[exp.Expr, Key]:
    """The key columns, each once, with their declared values; those of SELECT DISTINCT are its list.

    Errors: 42803, 0A000, PD003 (not enumerable), 54001 (too many combinations).
    """
    listed = items(select)
    keys: dict[exp.Expr, Key] = {}
    for node in _named(select, listed):
        target = _resolved(node.unnest(), listed, rows)
        column, domain = rows.declared(target)
        keys[target] = group_key(column, domain, position(target))
    check_size(prod(len(key.values) for key in keys.values()), None)
    return keys


def _named(select: exp.Select, listed: tuple[Item, ...]) -> list[exp.Expr]:
    group, distinct = select.args.get("group"), select.args.get("distinct")
    if distinct is None:
        return group.expressions if group is not None else []
    if group is not None or distinct.expressions or aggregate_nodes(select):
        raise Unsupported(
            "DISTINCT is answered for a list of declared columns only",
            hint="Leave DISTINCT out: GROUP BY answers every declared key once.",
            position=position(select),
        )
    return [item.node for item in listed]


def _resolved(target: exp.Expr, listed: tuple[Item, ...], rows: RowScope) -> exp.Column:
    """A place in the SELECT list, a column of the table, or an alias, in this order."""
    if isinstance(target, exp.Literal) and not target.is_string:
        target = listed[ordinal(target, len(listed), "GROUP BY")].node.unnest()
    elif type(target) is exp.Column and not rows.knows(target.name):
        target = next((i.node.unnest() for i in listed if i.name == target.name), target)
    if isinstance(target, exp.AggFunc):
        raise GroupingError("aggregate functions are not allowed in GROUP BY", position=position(target))
    if type(target) is not exp.Column:
        raise Unsupported(
            "GROUP BY takes declared columns",
            hint="Group by the column itself and compute from it in the SELECT list.",
            position=position(target),
        )
    return target


def aggregate_nodes(select: exp.Select) -> list[exp.Expr]:
    """Every aggregate call outside WHERE and GROUP BY, once. Raises 42803 for nested ones."""
    found: dict[exp.Expr, None] = {}
    places = [*select.expressions, *(select.args[a] for a in ("having", "order") if select.args.get(a))]
    for place in places:
        for node in place.find_all(*AGGREGATES):
            if node.find_ancestor(*AGGREGATES) is not None:
                raise GroupingError("aggregate function calls cannot be nested", position=position(node))
            found[node] = None
    return list(found)
