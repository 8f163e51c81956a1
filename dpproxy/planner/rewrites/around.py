"""A SELECT around a grouped one, which only computes on its rows, as BI tools and WITH write it: both are one SELECT.

``SELECT q.ward, 2 * q.n FROM (SELECT ward, count(*) AS n FROM visits GROUP BY 1) AS q`` is
``SELECT ward, 2 * count(*) FROM visits GROUP BY 1``, and a condition on its keys is HAVING. The intervals of one SELECT
are those of each of its numbers, by the law of their one draw, where a query around it may do anything with them, and
so takes all rows together.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from sqlglot import exp

from dpproxy.aggregates.table import is_aggregate
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.planner.select_list import OF_INPUT, grouped, is_star, items

_OUTER = frozenset({"kind", "expressions", "from_", "where", "order", "limit", "offset", "with_"})
_INNER = frozenset({"kind", "expressions", "from_", "joins", "where", "group"})
_COMPUTED = (
    exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Abs,
    exp.Round, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Window, exp.WindowSpec, exp.Order, exp.Ordered,
    exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.Sum, exp.Avg, exp.Min, exp.Max,
)  # fmt: skip
"""What the query around may be made of: all of it has intervals inside, too."""
_CONDITIONS = (
    *_COMPUTED, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In,
    exp.Is, exp.Null, exp.Boolean, exp.Like, exp.ILike, exp.Parameter,
)  # fmt: skip
"""What its conditions may be made of, which are about keys."""
MOST = 2_000
"""Nodes of the one SELECT: a column may stand in it often, and each time with all that it is inside."""


class _Source(Struct, frozen=True):
    """What FROM has alone: its query, the names of it and of its columns outside, and whether WITH defines it."""

    query: exp.Expr
    alias: str
    columns: Sequence[str] = ()
    of_with: bool = False


class _Inside(Struct, frozen=True):
    """The grouped SELECT, the name that it has outside, and what each of its columns is."""

    select: exp.Select
    alias: str
    columns: Mapping[str, exp.Expr]


def with_inside(outer: exp.Select) -> exp.Select:
    """The statement as one SELECT, of nodes of its own; as it is where it is of another form."""
    source = None if _has_others(outer, _OUTER) else _source(outer)
    found = None if source is None else _inside(source)
    if source is None or found is None or _size(outer, found) > MOST:
        return outer
    listed, having = _listed(outer, found), _having(outer, found)
    order = _order(outer, found, [item.alias for item in listed or ()])
    group = _group(found, listed or ())
    if (
        listed is None
        or having is None
        or order is None
        or group is None
        or not _shows_all(outer, found, group)
    ):
        return outer
    made = found.select.copy()
    made.set("expressions", listed)
    made.set("group", group if group.expressions else None)
    made.set("having", having if having.this else None)
    for name in ("limit", "offset", "with_"):
        clause = outer.args.get(name)
        made.set(name, None if clause is None else clause.copy())
    made.set("order", order if order.expressions else None)
    if source.of_with:
        others = made.args["with_"].expressions[:-1]
        made.set("with_", exp.With(expressions=others) if others else None)
    return made


def _source(outer: exp.Select) -> _Source | None:
    """The subquery or the last name of WITH that FROM has alone."""
    clause, names = outer.args.get("from_"), outer.args.get("with_")
    source = None if clause is None else clause.this
    if source is None or set(_given(source)) - {"this", "alias"}:
        return None
    renamed = [column.name for column in source.args["alias"].columns] if source.args.get("alias") else []
    if type(source) is exp.Subquery:
        return _Source(source.this, source.alias, renamed)
    if type(source) is not exp.Table or names is None or names.args.get("recursive") or renamed:
        return None
    last = names.expressions[-1]
    named = [n.alias if type(n) is exp.CTE else n.name for n in outer.find_all(exp.Table, exp.CTE)]
    if source.name != last.alias or named.count(last.alias) > 2:
        return None  # another one, or read by another entry, too
    columns = [column.name for column in last.args["alias"].columns]
    return _Source(last.this, source.alias_or_name, columns, of_with=True)


def _inside(source: _Source) -> _Inside | None:
    """What is inside, itself without a query around it; None where it does not group rows, or orders or limits them."""
    if type(source.query) is not exp.Select:
        return None
    select = with_inside(source.query)
    if _has_others(select, _INNER) or any(is_star(entry) for entry in select.expressions):
        return None
    is_grouped = select.args.get("group") or any(
        is_aggregate(n) for e in select.expressions for n in own_nodes(e)
    )
    listed = items(select)
    names = [*source.columns, *(item.name for item in listed[len(source.columns) :])]
    if not is_grouped or len(set(names)) < len(names) or len(names) != len(listed):
        return None
    columns = {name: item.node for name, item in zip(names, listed, strict=True)}
    if any(n for e in columns.values() for n in e.find_all(exp.Window, exp.Query, exp.UDTF, exp.Parameter)):
        return None
    return _Inside(select, source.alias, columns)


def _size(outer: exp.Select, found: _Inside) -> int:
    """The nodes that columns of what is inside are in the one SELECT, at least."""
    sizes = {name: sum(1 for _ in node.walk()) for name, node in found.columns.items()}
    read = Counter(n.name for n in own_nodes(outer) if type(n) is exp.Column)
    stars = sum(map(is_star, outer.expressions))
    return stars * sum(sizes.values()) + sum(count * sizes.get(name, 0) for name, count in read.items())


def _given(node: exp.Expr) -> list[str]:
    return [name for name, value in node.args.items() if value]


def _has_others(select: exp.Select, known: frozenset[str]) -> bool:
    return not known.issuperset(_given(select))


def _listed(outer: exp.Select, found: _Inside) -> list[exp.Alias] | None:
    """The SELECT list, computed of what is inside; None where it has another form."""
    listed: list[exp.Alias] = []
    for item in items(outer):
        if is_star(item.node):
            named = item.node if isinstance(item.node, exp.Column) else None
            if named is not None and (named.table != found.alias or "db" in _given(named)):
                return None
            if _given(item.node if isinstance(item.node, exp.Star) else item.node.this):
                return None
            entries = [(name, node.copy()) for name, node in found.columns.items()]
        else:
            made = _computed(item.node, found)
            if made is None:
                return None
            entries = [(item.name, made)]
        listed += [exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True)) for name, node in entries]
    return listed


def _computed(
    node: exp.Expr, found: _Inside, kinds: tuple[type[exp.Expr], ...] = _COMPUTED
) -> exp.Expr | None:
    """An expression over columns of what is inside as one over its rows."""
    if any(type(n) not in kinds or (is_aggregate(n) and not _is_in_window(n)) for n in node.walk()):
        return None
    columns = list(node.find_all(exp.Column))
    if not columns or any(_is_other(n, found) for n in columns):
        return None
    if not all(_is_of_rows(found.columns[n.name]) for n in columns):
        return None  # the type of a constant depends on what is around it
    if type(node) is exp.Column:
        return found.columns[node.name].copy()
    return node.copy().transform(lambda n: _in_place(found.columns[n.name]) if type(n) is exp.Column else n)


def _is_other(column: exp.Column, found: _Inside) -> bool:
    is_of_it = column.table in ("", found.alias) and {"this", "table"}.issuperset(_given(column))
    return not is_of_it or column.name not in found.columns


def _is_in_window(node: exp.Expr) -> bool:
    return type(node.parent) is exp.Window and node.arg_key == "this"


def _is_of_rows(node: exp.Expr) -> bool:
    """Whether it has a column or an aggregate, so that its type does not depend on what is around it."""
    return any(type(n) is exp.Column or is_aggregate(n) for n in own_nodes(node))


def _in_place(node: exp.Expr) -> exp.Expr:
    return node.copy() if type(node) is exp.Column or is_aggregate(node) else exp.Paren(this=node.copy())


def _having(outer: exp.Select, found: _Inside) -> exp.Having | None:
    """WHERE around groups as HAVING; None where it is of other than keys: noise then chooses rows."""
    clause = outer.args.get("where")
    if clause is None:
        return exp.Having()
    made = _computed(clause.this, found, _CONDITIONS)
    is_of_keys = made is not None and not any(is_aggregate(n) or type(n) is exp.Window for n in made.walk())
    return exp.Having(this=made) if is_of_keys else None


def _shows_all(outer: exp.Select, found: _Inside, group: exp.Group) -> bool:
    """Whether all it computes is used: each statement around one query asks for the same release."""
    used = {n.name for entry in outer.expressions for n in entry.find_all(exp.Column)}
    left = (e for name, e in found.columns.items() if name not in used)
    return any(map(is_star, outer.expressions)) or all(e.unnest() in group.expressions for e in left)


def _order(outer: exp.Select, found: _Inside, names: Sequence[str]) -> exp.Order | None:
    """ORDER BY over what is inside: places, names of the SELECT list, which come first, and what is computed."""
    order = outer.args.get("order")
    made = exp.Order(expressions=[]) if order is None else order.copy()
    for entry in made.expressions:
        node = entry.this
        is_listed = type(node) is exp.Column and not node.table and node.name in names
        if is_listed or type(node) is exp.Literal:
            continue
        computed = _computed(node, found)
        if computed is None:
            return None
        entry.set("this", computed)
        entry.meta[OF_INPUT] = True  # whatever the SELECT list calls by its name
    return made


def _group(found: _Inside, listed: Sequence[exp.Alias]) -> exp.Group | None:
    """GROUP BY without places of the SELECT list, which is another now; None where a name in it would mean another."""
    group = found.select.args.get("group")
    if group is None:
        return exp.Group()
    if group.find(exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple) or _given(group) != ["expressions"]:
        return None
    inside = items(found.select)
    made = exp.Group(expressions=[grouped(e, inside, lambda _: True).copy() for e in group.expressions])
    bare = {n.name for n in made.expressions if type(n) is exp.Column and not n.table}
    own = {item.name: item.node for item in inside}
    meant = {name: own.get(name, exp.column(name)) for name in bare}
    shown = [(entry.alias, entry.this) for entry in listed if entry.alias in bare]
    kept = {name for name, node in shown}
    is_other = any(node != meant[name] for name, node in shown)
    return (
        None if is_other or any(_is_alias(n, node) and n not in kept for n, node in meant.items()) else made
    )


def _is_alias(name: str, node: exp.Expr) -> bool:
    return type(node) is not exp.Column or node.name != name
