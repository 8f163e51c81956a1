"""LATERAL beside rows of people, as the join or the expressions that it is.

``s CROSS JOIN LATERAL (SELECT i.kind FROM items i WHERE i.item = s.item) l`` joins ``items``, and what a subquery
without FROM computes of the row stands in the place of its names. Other forms are left as they are.
"""

from collections.abc import Callable, Collection

from sqlglot import exp

from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.rows.relation import own_nodes

_OTHERS = ("with_", "joins", "group", "having", "distinct", "order", "limit", "offset", "windows", "laterals")

Columns = Callable[[exp.Table], Collection[str] | None]
"""The names that can be read of a table; None where that is no table."""


def without_laterals(select: exp.Select, columns: Columns, others: Collection[str]) -> exp.Select | None:
    """A copy in which no entry of FROM is LATERAL; None where one is of no such form.

    ``others`` are the columns of the entries that are not.
    """
    copy: exp.Select = select.copy()
    laterals = [j for j in copy.args["joins"] if type(j.this) is exp.Lateral]
    listed = [name for join in laterals for name in _shown(join.this, join.this.this.unnest())]
    others = {*others, *(name for name in listed if listed.count(name) > 1)}
    for join in laterals:
        inner = join.this.this.unnest()
        shown = _shown(join.this, inner)
        if not shown or not _is_inner(join):
            return None
        if inner.args.get("from_") is None:
            join.pop()
            if inner.args.get("where") is not None or _is_name(join.this.alias, copy):
                return None
            if not _put(copy, join.this.alias, shown, others):
                return None
        elif not _join(join, inner, shown, columns):
            return None
    return copy


def _shown(lateral: exp.Lateral, inner: exp.Expr) -> dict[str, exp.Expr]:
    """What it shows, by name; nothing where it is more than a list over the rows of one table."""
    if type(inner) is not exp.Select or any(inner.args.get(name) for name in _OTHERS):
        return {}
    if any(isinstance(n, exp.AggFunc | exp.Window | exp.Star) for n in inner.walk()):
        return {}
    if len(list(inner.find_all(exp.Query))) > 1:
        return {}
    items = inner.expressions
    given = [c.name for c in lateral.args["alias"].columns]
    names = [*given, *(i.name if isinstance(i, exp.Column) else i.alias for i in items[len(given) :])]
    return dict(zip(names, (item.unalias() for item in items), strict=False)) if all(names) else {}


def _is_inner(join: exp.Join) -> bool:
    """Whether every pair of rows counts that the subquery gives."""
    on = join.args.get("on")
    is_true = on is None or (isinstance(on, exp.Boolean) and on.this)
    return is_true and join.side in ("", "LEFT") and not (join.args.get("using") or join.args.get("method"))


def _is_name(alias: str, select: exp.Select) -> bool:
    """Whether something else has the name, in a subquery."""
    return any(n.alias_or_name == alias for n in select.find_all(exp.Table, exp.Subquery, exp.Lateral))


def _put(select: exp.Select, alias: str, shown: dict[str, exp.Expr], others: Collection[str]) -> bool:
    """Write what it shows in the place of its names; False where a name may be another, or may be read as another."""
    later = [join.this.this.unnest() for join in select.args["joins"] if type(join.this) is exp.Lateral]
    plain = [
        inner for inner in later if inner.args.get("from_") is None
    ]  # their bare names are of what is before
    own = {id(node) for tree in (select, *plain) for node in own_nodes(tree)}
    for column in list(select.find_all(exp.Column)):
        is_bare = not column.table and id(column) in own and not _is_of_the_list(column, select)
        if column.name not in shown or not (column.table == alias or is_bare):
            continue
        if (is_bare and column.name in others) or _is_taken(column, shown[column.name], select):
            return False
        value: exp.Expr = exp.Paren(this=shown[column.name].copy())
        is_item = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
        column.replace(exp.alias_(value, column.name, quoted=True) if is_item else value)
    return True


def _is_of_the_list(column: exp.Column, select: exp.Select) -> bool:
    """Whether it is a bare name in ORDER BY, which is one of the SELECT list first."""
    named = {item.alias for item in select.expressions if isinstance(item, exp.Alias)}
    return isinstance(column.parent, exp.Ordered) and column.name in named


def _is_taken(column: exp.Column, value: exp.Expr, select: exp.Select) -> bool:
    """Whether a name in ``value`` may be one of a subquery that the column stands in."""
    names = {c.table for c in value.find_all(exp.Column)}
    inner = column.find_ancestor(exp.Select)
    while inner is not None and inner is not select:
        tables = [n for n in own_nodes(inner) if isinstance(n, exp.Table | exp.Subquery | exp.Lateral)]
        if tables and names & {"", *(table.alias_or_name for table in tables)}:
            return True
        inner = inner.find_ancestor(exp.Select)
    return False


def _join(join: exp.Join, inner: exp.Select, shown: dict[str, exp.Expr], columns: Columns) -> bool:
    """Join the table of the subquery on what compares it with the row before it; False where that cannot be told."""
    table, alias = inner.args["from_"].this, join.this.alias
    names = columns(table) if type(table) is exp.Table else None
    if names is None or table.alias_column_names:
        return False

    def is_own(column: exp.Column) -> bool:
        return column.table == table.alias_or_name or (not column.table and column.name in names)

    if not all(is_own(c) for value in shown.values() for c in value.find_all(exp.Column)):
        return False
    conditions = [c.copy() for c in conjuncts(inner.args.get("where"))]
    inside = [c for c in conditions if all(map(is_own, c.find_all(exp.Column)))]
    across = [c for c in conditions if not any(c is one for one in inside)]
    keys: dict[exp.Expr, str] = {}
    for column in [c for condition in across for c in condition.find_all(exp.Column) if is_own(c)]:
        name = keys.setdefault(column.copy(), f"#{len(keys)}")
        moved = exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(alias, quoted=True))
        moved.meta.update(column.meta)
        column.replace(moved)
    items = [exp.alias_(value, name, quoted=True) for name, value in shown.items()]
    items += [exp.alias_(column, name, quoted=True) for column, name in keys.items()]
    made = exp.Select(expressions=items, from_=inner.args["from_"])
    made.set("where", exp.Where(this=exp.and_(*inside, copy=False)) if inside else None)
    called = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    subquery = exp.Subquery(this=made, alias=called)
    subquery.meta.update(join.this.meta)
    join.set("this", subquery)
    on = exp.and_(*across, copy=False) if across else None
    join.set("on", on if on is not None or not join.side else exp.true())
    join.set("kind", None if across or join.side else "CROSS")
    return True
