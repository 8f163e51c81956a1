"""MIN and MAX of what has no bounds, or beside keys that nobody listed: of the values that enough people share.

``SELECT k, min(x), count(*) FROM t GROUP BY k`` is ``SELECT k, (SELECT min(x) FROM v WHERE v.k = r.k), n FROM r``,
where r is ``SELECT k, count(*) AS n FROM t GROUP BY k`` and v is ``SELECT DISTINCT k, x FROM t``: two releases, of
which v selects its rows as keys that are not public are selected. The smallest value of all would be one person's.
"""

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from dpproxy.aggregates.calls import name_of
from dpproxy.aggregates.table import private
from dpproxy.analysis.position import position
from dpproxy.planner.keys.conditions import conditions_of
from dpproxy.planner.keys.discovery import is_discovered
from dpproxy.planner.keys.grouping import aggregate_nodes, group_keys, grouping_sets, key_columns
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.two_steps import ROWS, Halves, held_in, inner_query, over_released
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.planner.select_list import is_star
from dpproxy.values.errors import Refusal, Unsupported

Released = tuple[Halves, Mapping[str, exp.Select]]
"""The inner query and the outer one, and the queries of the values, by the names that the outer one has for them."""


SHARED = "min and max are of the values that enough people share: rarer ones do not count"


def over_values(select: exp.Select, rows: JoinedRows, planning: Planning) -> Released | None:
    """The SELECT over groups and over the values in them; None where no MIN or MAX is of shared values."""
    asked = [n for n in aggregate_nodes(select) if _is_plain(n)]
    sets = grouping_sets(select, rows) if asked else []
    if not sets or any(key_columns(keys, rows) for keys in sets) or any(map(is_star, select.expressions)):
        return None
    if len(sets) != 1:
        _refuse_sets(asked, rows, planning)
        return None
    [keys] = sets
    conditions = conditions_of(select, rows, keys)

    def are_discovered(nodes: Sequence[exp.Expr]) -> bool:
        try:
            return group_keys(nodes, rows, planning, conditions).discovered
        except Refusal:  # said where they are released
            return False

    beside = are_discovered(keys)
    found = [
        n
        for n in asked
        if (beside or _has_no_bounds(n, rows, planning)) and are_discovered([*keys, _value(n)])
    ]
    if not found:
        return None
    values = list(dict.fromkeys(_value(n) for n in found))
    planning.cuts += [SHARED] if SHARED not in planning.cuts else []
    names = {value: f"#values{place}" for place, value in enumerate(values)}
    instead = {n: _least_of(_call(n), names[_value(n)]) for n in found}
    queries = {name: inner_query(select, [*keys, value]).distinct() for value, name in names.items()}
    for query in queries.values():
        query.set("limit", None)
        query.set("offset", None)
    return over_released(select, rows, sets, instead), queries


def _refuse_sets(asked: Sequence[exp.Expr], rows: JoinedRows, planning: Planning) -> None:
    """Raises ``Unsupported`` for values without bounds in more than one set of keys."""
    for node in asked:
        if _has_no_bounds(node, rows, planning):
            raise Unsupported(
                f"{name_of(_call(node))} of what nobody listed is of one set of keys",
                hint="Ask for each set in a statement of its own, with GROUP BY and its keys alone.",
                position=position(node),
            )


def _is_plain(node: exp.Expr) -> bool:
    """Whether it is MIN or MAX, and nothing asks for its interval."""
    is_extreme = type(_call(node)) in (exp.Min, exp.Max)
    return is_extreme and type(node.find_ancestor(exp.Dot, exp.Query)) is not exp.Dot


def _call(node: exp.Expr) -> exp.Expr:
    """The call without its FILTER."""
    found: exp.Expr = node.this if type(node) is exp.Filter else node
    return found


def _value(node: exp.Expr) -> exp.Expr:
    """What the call is of; NULL, which is no key, where its FILTER does not hold."""
    value: exp.Expr = _call(node).this
    return exp.case().when(node.expression.this, value) if type(node) is exp.Filter else value


def _has_no_bounds(node: exp.Expr, rows: JoinedRows, planning: Planning) -> bool:
    """Whether it is of a column that nobody listed, and no draw among its values is known."""
    if not any(is_discovered(column, rows) for column in _value(node).find_all(exp.Column)):
        return False
    try:
        private(node, rows.scope(planning.parameters))
    except Refusal:
        return True
    return False


def _least_of(call: exp.Expr, name: str) -> Callable[[Sequence[exp.Expr]], exp.Expr]:
    """MIN or MAX of the values in the group of the row around it."""

    def least(keys: Sequence[exp.Expr]) -> exp.Expr:
        found = exp.select(type(call)(this=held_in(len(keys)))).from_(
            exp.Table(this=exp.to_identifier(name, quoted=True))
        )
        for place, key in enumerate(keys):
            outer = exp.column(key.name, ROWS, quoted=True)
            found = found.where(exp.NullSafeEQ(this=held_in(place), expression=outer), copy=False)
        return exp.Subquery(this=found)

    return least
