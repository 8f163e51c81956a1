"""What a SELECT groups by, and which aggregates it calls."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.table import is_call
from dpproxy.algebra import nodes as algebra
from dpproxy.algebra.plan import KeySet
from dpproxy.analysis import duck
from dpproxy.analysis.keys import GroupKey, check_size, of_moments
from dpproxy.analysis.position import position
from dpproxy.planner.keys.conditions import asked_key
from dpproxy.planner.keys.discovery import MOST_SHOWN, PLANNED, among, discovered_set, key_of, unlisted
from dpproxy.planner.keys.keysets import key_sets
from dpproxy.planner.keys.narrowing import narrowed
from dpproxy.planner.keys.public_tables import public_key
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.fields import Identifier
from dpproxy.planner.rows.relation import JoinedRows, own_nodes
from dpproxy.planner.select_list import SelectItem, grouped, is_star, items
from dpproxy.values.errors import BoundsMissing, GroupingError, SyntaxRefused, TooComplex, Unsupported

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
MOST_SETS = 64
"""Grouping sets of one SELECT."""


class Keys(Struct, frozen=True):
    """The keys of one grouping set, in the order of their columns ``k0...``, and the sets they vary in."""

    by_node: dict[exp.Expr, tuple[int, GroupKey]]
    sets: tuple[KeySet, ...]

    @property
    def count(self) -> int:
        """How many keys are answered; of discovered ones, for how many the answer is planned."""
        return PLANNED if self.discovered else prod(len(s.rows) for s in self.sets)

    @property
    def most(self) -> int:
        """How many keys may be shown: intervals that hold together hold for so many."""
        return MOST_SHOWN if self.discovered else self.count

    @property
    def discovered(self) -> bool:
        """True where keys are not public."""
        return any(s.discovered for s in self.sets)

    @property
    def listed(self) -> list[GroupKey]:
        """In column order."""
        return [key for _, key in sorted(self.by_node.values(), key=lambda pair: pair[0])]


def grouping_sets(select: exp.Select, rows: JoinedRows) -> list[list[exp.Expr]]:
    """The expressions of each grouping set: one set for plain keys, several for ROLLUP, CUBE and GROUPING SETS.

    Errors: 42803, 54001.
    """
    listed = items(select)
    group, distinct = select.args.get("group"), select.args.get("distinct")
    if distinct is not None:
        return [_distinct(select, listed, rows)]
    if group is None:
        return [[]]
    parts = [_sets(node, listed, rows) for node in group.expressions]
    if prod(len(p) for p in parts) > MOST_SETS:
        raise TooComplex(f"more than {MOST_SETS} grouping sets", position=position(group.expressions[0]))
    combined = [[node for part in chosen for node in part] for chosen in product(*parts)]
    return [list(dict.fromkeys(nodes)) for nodes in combined]


def without_distinct(select: exp.Select, rows: JoinedRows) -> exp.Select:
    """The SELECT without a DISTINCT that changes nothing: its list has every key, or it is one row of aggregates.

    Errors: 42601 for an ORDER BY of what is not in the list, as with DISTINCT; what GROUP BY itself has.
    """
    group, distinct = select.args.get("group"), select.args.get("distinct")
    if distinct is None or distinct.args.get("on") is not None:
        return select
    if group is None and not aggregate_nodes(select):
        return select
    keys = [] if group is None else group.expressions
    if any(isinstance(node, _SETS) for node in keys):
        return select  # rows of two sets may be equal
    listed = items(select)
    shown = {item.node.unnest() for item in listed}
    if not all(node in shown for entry in keys for node in _members(entry, listed, rows)):
        return select
    _check_order(select, listed)
    copy: exp.Select = select.copy()
    copy.set("distinct", None)
    return copy


def _check_order(select: exp.Select, listed: Sequence[SelectItem]) -> None:
    known = {item.name for item in listed}
    nodes = [item.node.unnest() for item in listed]
    order = select.args.get("order")
    for entry in order.expressions if order is not None else ():
        node = entry.this.unnest()
        is_named = type(node) is exp.Column and not node.table and node.name in known
        if not is_named and node not in nodes and not isinstance(node, exp.Literal):
            raise SyntaxRefused(
                "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                hint="Leave DISTINCT out: the list has every key of GROUP BY.",
                position=position(node),
            )


def _distinct(select: exp.Select, listed: Sequence[SelectItem], rows: JoinedRows) -> list[exp.Expr]:
    distinct = select.args["distinct"]
    stars = any(is_star(i.node) for i in listed)
    on = distinct.args.get("on")
    if on is not None and key_columns(on.expressions, rows):
        raise Unsupported(
            "the first rows of people are rows still: they are counted, or grouped by",
            hint=f"SELECT count(*) FROM ({duck.words(select)}) AS t;",  # noqa: S608 - a hint
            position=position(on),
        )
    if (
        select.args.get("group") is not None
        or distinct.args.get("on") is not None
        or aggregate_nodes(select)
        or stars
    ):
        raise Unsupported(
            "DISTINCT is answered for a list of declared columns, or of all keys of GROUP BY, only",
            hint="Leave DISTINCT out: GROUP BY answers every declared key once.",
            position=position(select),
        )
    return list(dict.fromkeys(item.node.unnest() for item in listed))


def _sets(node: exp.Expr, listed: Sequence[SelectItem], rows: JoinedRows) -> list[list[exp.Expr]]:
    """One entry of GROUP BY as the sets it stands for."""
    match node:
        case exp.Rollup():
            entries = [_members(e, listed, rows) for e in node.expressions]
            return [[n for e in entries[:count] for n in e] for count in range(len(entries), -1, -1)]
        case exp.Cube():
            entries = [_members(e, listed, rows) for e in node.expressions]
            if len(entries) > 6:
                raise TooComplex(f"more than {MOST_SETS} grouping sets", position=position(node))
            chosen = product((True, False), repeat=len(entries))
            return [[n for e, taken in zip(entries, c, strict=True) if taken for n in e] for c in chosen]
        case exp.GroupingSets():
            return [s for e in node.expressions for s in _nested(e, listed, rows)]
        case _:
            return [_members(node, listed, rows)]


def _nested(node: exp.Expr, listed: Sequence[SelectItem], rows: JoinedRows) -> list[list[exp.Expr]]:
    if isinstance(node, _SETS):
        return _sets(node, listed, rows)
    return [_members(node, listed, rows)]


def _members(node: exp.Expr, listed: Sequence[SelectItem], rows: JoinedRows) -> list[exp.Expr]:
    nodes = node.expressions if isinstance(node, exp.Tuple) else [node]
    return [_resolved(n, listed, rows) for n in nodes]


def _resolved(node: exp.Expr, listed: Sequence[SelectItem], rows: JoinedRows) -> exp.Expr:
    """What an entry means. Raises 42803 for an aggregate."""
    target = grouped(node, listed, rows.knows)
    if not isinstance(target, exp.Query) and _makes_one([target]):
        raise GroupingError("aggregate functions are not allowed in GROUP BY", position=position(target))
    return target


def key_columns(nodes: Sequence[exp.Expr], rows: JoinedRows) -> bool:
    """Whether one of the nodes is a key column of protected rows: each group then has rows of one unit only."""
    for node in nodes:
        if type(node) is exp.Column:
            found = list(rows.candidates(node))
            if len(found) == 1 and found[0][1].link is not None and found[0][0].unit is not None:
                return True
    return False


def group_keys(
    nodes: Sequence[exp.Expr], rows: JoinedRows, planning: Planning, conditions: Sequence[exp.Expr] = ()
) -> Keys:
    """The declared values of each key, or tuples of values where columns vary together.

    ``conditions`` of WHERE that are about keys alone leave out the keys that fail them. Where they have no
    list, or too many combinations to answer each, and there is a delta, those that enough people share are found.

    Errors: 0A000, PD003 (not enumerable), 54001 (too many combinations).
    """
    for node in nodes:  # people are no groups, whatever else is asked
        if type(node) is exp.Column and isinstance(
            next((f for _, f in rows.candidates(node)), None), Identifier
        ):
            rows.field(node).key(position(node))
    try:
        found = {node: _key(node, rows, planning, conditions) for node in nodes}
        if any(key.is_discovered for key in found.values()):
            return _discovered(found, rows)
        by_node, sets = narrowed(*key_sets(found, rows, planning), conditions, planning)
        check_size(prod(len(s.rows) for s in sets), position(nodes[0]) if nodes else None)
    except (BoundsMissing, TooComplex):
        if not planning.terms.delta:
            raise
        return _discovered({node: _searched(node, rows, planning, conditions) for node in nodes}, rows)
    return Keys(_answered(by_node, sets), sets)


def _searched(
    node: exp.Expr, rows: JoinedRows, planning: Planning, conditions: Sequence[exp.Expr]
) -> GroupKey:
    """A key that is looked for in the rows: among its declared values, where these can be listed."""
    try:
        listed = _key(node, rows, planning, conditions)
    except (BoundsMissing, TooComplex):
        return unlisted(node, rows, planning, position(node))
    return (
        listed
        if listed.is_discovered or public_key(node, rows) is not None
        else among(listed, position(node))
    )


def _discovered(found: Mapping[exp.Expr, GroupKey], rows: JoinedRows) -> Keys:
    """Keys of which the values are not public, or too many: those that enough people share."""
    keys = {
        node: replace(key, present=algebra.TRUE) if public_key(node, rows) is not None else key
        for node, key in found.items()
    }
    numbered = {node: (place, key) for place, (node, key) in enumerate(keys.items())}
    return Keys(numbered, (discovered_set([*keys.values()]),))


def _answered(
    by_node: dict[exp.Expr, tuple[int, GroupKey]], sets: Sequence[KeySet]
) -> dict[exp.Expr, tuple[int, GroupKey]]:
    """The keys with the values that are answered, and no others."""
    values = [tuple(dict.fromkeys(row[n] for row in s.rows)) for s in sets for n in range(len(s.types))]
    return {node: (place, key.only(values[place])) for node, (place, key) in by_node.items()}


def _key(node: exp.Expr, rows: JoinedRows, planning: Planning, conditions: Sequence[exp.Expr]) -> GroupKey:
    """What is declared, or follows from it; where nothing does, what the statement itself lists."""
    if (public := public_key(node, rows)) is not None:
        return of_moments(public[1])
    try:
        key = key_of(node, rows, planning, position(node), conditions)
    except BoundsMissing:
        asked = asked_key(node, rows, planning, conditions)
        if asked is None:
            raise
        return asked
    return (asked_key(node, rows, planning, conditions) or key) if key.is_discovered else key


def has_aggregates(select: exp.Select) -> bool:
    """Whether an aggregate, answered or not, makes one row of many."""
    return _makes_one(_places(select))


def _places(select: exp.Select) -> list[exp.Expr]:
    return [*select.expressions, *(select.args[a] for a in ("having", "order") if select.args.get(a))]


def _makes_one(places: Sequence[exp.Expr]) -> bool:
    return any(isinstance(n, exp.AggFunc) and not _is_window(n) for p in places for n in own_nodes(p))


def aggregate_nodes(select: exp.Select) -> list[exp.Expr]:
    """Every aggregate call outside WHERE and GROUP BY, once. Raises 42803 for nested ones."""
    found: dict[exp.Expr, None] = {}
    for place in _places(select):
        for node in own_nodes(place):
            if not is_call(node) or _is_window(node):
                continue
            if any(is_call(above) for above in _above(node)):
                raise GroupingError("aggregate function calls cannot be nested", position=position(node))
            found[node] = None
    return list(found)


def _is_window(node: exp.Expr) -> bool:
    while isinstance(node.parent, exp.Filter) and node.arg_key == "this":
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


def _above(node: exp.Expr) -> Iterator[exp.Expr]:
    while node.parent is not None and not isinstance(node.parent, exp.Query):
        node = node.parent
        if not isinstance(node.parent, exp.Window):
            yield node
