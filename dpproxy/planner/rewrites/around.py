"""A SELECT around a grouped one, which only computes on its rows, as BI tools and WITH write it: both are one SELECT.

``SELECT q.ward, 2 * q.n FROM (SELECT ward, count(*) AS n FROM visits GROUP BY 1) AS q`` is
``SELECT ward, 2 * count(*) FROM visits GROUP BY 1``, and a condition on its keys is HAVING. The intervals of one SELECT
are those of each of its numbers, by the law of their one draw, where a query around it may do anything with them, and
so takes all rows together.
"""

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


class _Inside(Struct, frozen=True):
    """The grouped SELECT, the name that it has outside, and what each of its columns is."""

    select: exp.Select
    alias: str
    columns: Mapping[str, exp.Expr]


def with_inside(outer: exp.Select) -> exp.Select:
    """The statement as one SELECT; as it is where it is of another form."""
    source, rest = _source(outer)
    found = None if source is None else _inside(source)
    if found is None or _has_others(outer, _OUTER):
        return outer
    listed, having = _listed(outer, found), _having(outer, found)
    order = _order(outer, found, [item.alias for item in listed or ()])
    group = _group(found, listed or ())
    if listed is None or having is None or order is None or group is None or not _shows_all(outer, found):
        return outer
    made = found.select.copy()
    made.set("expressions", listed)
    made.set("group", group if group.expressions else None)
    made.set("having", having if having.this else None)
    for name in ("limit", "offset"):
        made.set(name, outer.args.get(name))
    made.set("order", order if order.expressions else None)
    made.set("with_", rest)
    return made


def _source(outer: exp.Select) -> tuple[exp.Subquery | None, exp.With | None]:
    """The subquery or the last name of WITH that FROM has alone, and the names that are left."""
    clause, names = outer.args.get("from_"), outer.args.get("with_")
    source = None if clause is None else clause.this
    if type(source) is exp.Subquery:
        return source, names
    if type(source) is not exp.Table or source.db or names is None or names.args.get("recursive"):
        return None, names
    *others, last = names.expressions
    alias = source.args.get("alias")
    is_alone = sum(1 for table in outer.find_all(exp.Table) if table.name == last.alias) == 1
    if source.name != last.alias or not is_alone or (alias is not None and alias.columns):
        return None, names
    if set(_given(source)) - {"this", "alias"} or last.alias in [one.alias for one in others]:
        return None, names
    outside = exp.TableAlias(
        this=exp.to_identifier(source.alias_or_name, quoted=True), columns=last.args["alias"].columns
    )
    return exp.Subquery(this=last.this, alias=outside), exp.With(expressions=others) if others else None


def _inside(source: exp.Subquery) -> _Inside | None:
    """What is inside, itself without a query around it; None where it does not group rows, or orders or limits them."""
    alias, query = source.args.get("alias"), source.this
    if type(query) is not exp.Select or set(_given(source)) - {"this", "alias"}:
        return None
    select = with_inside(query)
    if _has_others(select, _INNER) or any(is_star(entry) for entry in select.expressions):
        return None
    is_grouped = select.args.get("group") or any(
        is_aggregate(n) for e in select.expressions for n in own_nodes(e)
    )
    listed = items(select)
    names = [item.name for item in listed]
    if alias is not None:
        renamed = [column.name for column in alias.columns]
        names = [*renamed, *names[len(renamed) :]]
    if not is_grouped or len(set(names)) < len(names) or len(names) != len(listed):
        return None
    columns = {name: item.node for name, item in zip(names, listed, strict=True)}
    if any(n for e in columns.values() for n in e.find_all(exp.Window, exp.Query, exp.UDTF, exp.Parameter)):
        return None
    return _Inside(select, source.alias, columns)


def _given(node: exp.Expr) -> list[str]:
    return [name for name, value in node.args.items() if value]


def _has_others(select: exp.Select, known: frozenset[str]) -> bool:
    return not known.issuperset(_given(select))


def _listed(outer: exp.Select, found: _Inside) -> list[exp.Alias] | None:
    """The SELECT list, computed of what is inside; None where it has another form."""
    listed: list[exp.Alias] = []
    for item in items(outer):
        if is_star(item.node):
            if isinstance(item.node, exp.Column) and item.node.table != found.alias:
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


def _shows_all(outer: exp.Select, found: _Inside) -> bool:
    """Whether all its numbers are used: so each statement around one query asks for one and the same release."""
    used = {n.name for entry in outer.expressions for n in entry.find_all(exp.Column)}
    numbers = {name for name, e in found.columns.items() if any(is_aggregate(n) for n in own_nodes(e))}
    return numbers <= used or any(is_star(entry) for entry in outer.expressions)


def _order(outer: exp.Select, found: _Inside, names: Sequence[str]) -> exp.Order | None:
    """ORDER BY over what is inside: places, names of the SELECT list, which come first, and what is computed."""
    order = outer.args.get("order")
    made = exp.Order(expressions=[]) if order is None else order.copy()
    for entry in made.expressions:
        node = entry.this
        is_input = bool(node.meta_get(OF_INPUT))
        is_listed = type(node) is exp.Column and not node.table and node.name in names and not is_input
        if is_listed or type(node) is exp.Literal:
            continue
        computed = _computed(node, found)
        if computed is None:
            return None
        computed.meta[OF_INPUT] = True
        entry.set("this", computed)
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
