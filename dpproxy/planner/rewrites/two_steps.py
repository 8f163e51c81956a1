"""A SELECT over rows of people in two: the one inside computes columns, the one around it does the rest.

DISTINCT comes after window functions, these come after GROUP BY, and DISTINCT ON keeps the first of the rows that it
numbers: each is an outer query over the columns of an inner one. So are windows over the rows of several grouping sets,
which are released first.
"""

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from dpproxy.aggregates.table import is_call
from dpproxy.analysis.position import position
from dpproxy.planner.keys.grouping import grouping_sets, has_aggregates
from dpproxy.planner.rows.derive import expanded
from dpproxy.planner.rows.people import key_columns
from dpproxy.planner.rows.relation import JoinedRows, own_nodes
from dpproxy.planner.rows.row_windows import has_windows
from dpproxy.planner.select_list import SelectItem, grouped
from dpproxy.values.errors import SyntaxRefused, UnitLost

ROWS = "#rows"
"""What the outer query calls the inner one."""
Halves = tuple[exp.Select, exp.Select]
"""The inner query, and the outer one."""


def in_two(select: exp.Select, rows: JoinedRows) -> Halves | None:
    """The inner query and the outer one; None for a SELECT that is one step."""
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        return _first_rows(select, distinct.args["on"].expressions, rows)
    if not has_windows(select):
        return None
    if select.args.get("group") is not None or has_aggregates(select):
        return _over_groups(select, rows)
    return _distinct(select, rows) if distinct is not None else None


def _distinct(select: exp.Select, rows: JoinedRows) -> Halves:
    """DISTINCT of what windows compute."""
    listed = expanded(select, rows)
    return inner_query(select, [i.node for i in listed]), _outer(
        [held_in(n) for n in range(len(listed))], listed
    ).distinct()


def _first_rows(select: exp.Select, on: list[exp.Expr], rows: JoinedRows) -> Halves:
    """DISTINCT ON: the first row of each of its values, in the order of ORDER BY."""
    listed = expanded(select, rows)
    keys = [_plain(grouped(node, listed, rows.knows)) for node in on]
    if not key_columns(keys, rows):
        raise UnitLost(
            "DISTINCT ON rows of several people would let one row decide about others",
            hint="Write the privacy key into DISTINCT ON: the first row of each person is answered.",
            position=position(on[0]),
        )
    order = select.args.get("order")
    entries = [
        (_plain(grouped(e.this, listed, rows.knows)), e)
        for e in (order.expressions if order is not None else ())
    ]
    first = [node for node, _ in entries[: len(set(keys))]]
    if any(node not in keys for node in first):
        raise SyntaxRefused(
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
            hint="Begin ORDER BY with the columns of DISTINCT ON.",
            position=position(on[0]),
        )
    rest = [exp.Ordered(**{**entry.args, "this": node.copy()}) for node, entry in entries if node not in keys]
    number = exp.Window(this=exp.RowNumber(), partition_by=[k.copy() for k in keys], over="OVER")
    if rest:
        number.set("order", exp.Order(expressions=rest))
    inner = inner_query(select, [*(i.node for i in listed), number])
    is_first = exp.EQ(this=held_in(len(listed)), expression=exp.Literal.number(1))
    return inner, _outer([held_in(n) for n in range(len(listed))], listed).where(is_first)


def _over_groups(select: exp.Select, rows: JoinedRows) -> Halves | None:
    """Windows over groups of one unit's rows: aggregates and keys are columns of the inner query.

    None for other groups, which are released first.
    """
    listed = expanded(select, rows)
    group = select.args.get("group")
    keys = [grouped(node, listed, rows.knows) for node in (group.expressions if group is not None else ())]
    if not key_columns(keys, rows):
        return None
    columns: dict[exp.Expr, exp.Column] = {}

    def held(node: exp.Expr) -> exp.Expr:
        is_aggregate = is_call(node) and not (isinstance(node.parent, exp.Window) and node.arg_key == "this")
        if not (is_aggregate or node in keys):
            return node
        return columns.setdefault(node, held_in(len(columns))).copy()

    shown = [_in_own(i.node, held) for i in listed]
    inner = inner_query(select, list(columns))
    inner.set("group", exp.Group(expressions=[k.copy() for k in keys]))
    inner.set("having", _copied(select, "having"))
    outer = _outer(shown, listed)
    return inner, outer.distinct() if select.args.get("distinct") is not None else outer


def over_sets(select: exp.Select, rows: JoinedRows) -> Halves | None:
    """Windows over the rows of several grouping sets, whose aggregates and keys are columns of the inner query.

    None for a SELECT without them.
    """
    if select.args.get("group") is None or not has_windows(select):
        return None
    sets = grouping_sets(select, rows)
    return over_released(select, rows, sets, {}) if len(sets) > 1 else None


def over_released(
    select: exp.Select,
    rows: JoinedRows,
    sets: Sequence[Sequence[exp.Expr]],
    instead: Mapping[exp.Expr, Callable[[Sequence[exp.Expr]], exp.Expr]],
) -> Halves:
    """Aggregates and keys are columns of the inner query, but for what stands ``instead`` of some.

    What stands there is made of the columns that hold the keys.
    """
    listed = expanded(select, rows)
    keys = {_plain(node): node for of in sets for node in of}
    columns: dict[exp.Expr, exp.Column] = {}

    def held(node: exp.Expr) -> exp.Expr:
        if node in instead:
            return instead[node]([held(key) for key in keys.values()])
        is_aggregate = is_call(node) and not (isinstance(node.parent, exp.Window) and node.arg_key == "this")
        node = keys.get(_plain(node), node)
        if not (is_aggregate or isinstance(node, exp.Grouping | exp.Column) or node in keys.values()):
            return node
        return columns.setdefault(node, held_in(len(columns))).copy()

    outer = _outer([_in_own(i.node, held) for i in listed], listed)
    outer.set("order", _ordered(select, listed, held))
    for name in ("limit", "offset", "distinct"):
        outer.set(name, _copied(select, name))
    having = _copied(select, "having")
    if having is not None and any(node in instead for node in own_nodes(having)):
        outer = outer.where(_in_own(having.this, held), copy=False)
        having = None
    if having is None and not columns:
        outer.set("from_", None)
    inner = inner_query(select, list(columns) or [exp.Count(this=exp.Star())])
    tuples = [exp.Tuple(expressions=[node.copy() for node in of]) for of in sets]
    group = exp.Group(expressions=[exp.GroupingSets(expressions=tuples)]) if keys else None
    for name, clause in (("group", group), ("having", having), ("limit", None), ("offset", None)):
        inner.set(name, clause)
    return inner, outer


def _ordered(
    select: exp.Select, listed: list[SelectItem], held: Callable[[exp.Expr], exp.Expr]
) -> exp.Order | None:
    """ORDER BY of the outer query: names of the list stay."""
    order = select.args.get("order")
    if order is None:
        return None

    def of(entry: exp.Ordered) -> exp.Ordered:
        is_named = type(entry.this) is exp.Column and any(i.name == entry.this.name for i in listed)
        this = entry.this.copy() if is_named else _in_own(entry.this, held)
        return exp.Ordered(**{**entry.args, "this": this})

    return exp.Order(expressions=[of(entry) for entry in order.expressions])


def _in_own(tree: exp.Expr, held: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A copy with the nodes replaced that belong to it, not to a subquery; of what is replaced nothing else is."""
    root = exp.Paren(this=tree.copy())
    done: set[int] = set()
    for node in [*own_nodes(root)]:
        above = node.parent
        while above is not None and id(above) not in done:
            above = above.parent
        is_own = above is None and node is not root and not isinstance(node, exp.Query)
        if is_own and (new := held(node)) is not node:
            done.add(id(node))
            node.replace(new)
    copy: exp.Expr = root.this
    return copy


def _copied(select: exp.Select, name: str) -> exp.Expr | None:
    clause: exp.Expr | None = select.args.get(name)
    return None if clause is None else clause.copy()


def inner_query(select: exp.Select, shown: list[exp.Expr]) -> exp.Select:
    """The SELECT over the same rows with a list of its own, not grouped yet."""
    inner = select.copy()
    for name in ("distinct", "order", "group", "having"):
        inner.set(name, None)
    inner.set("expressions", [exp.alias_(node.copy(), f"#{n}", quoted=True) for n, node in enumerate(shown)])
    return inner


def _outer(shown: list[exp.Expr], listed: list[SelectItem]) -> exp.Select:
    columns = [
        exp.Alias(this=node, alias=exp.to_identifier(item.name, quoted=True))  # of a subquery, too
        for node, item in zip(shown, listed, strict=True)
    ]
    return exp.select(*columns).from_(exp.Table(this=exp.to_identifier(ROWS, quoted=True)))


def held_in(place: int) -> exp.Column:
    """The column of an inner query."""
    return exp.column(f"#{place}", quoted=True)


def _plain(node: exp.Expr) -> exp.Expr:
    """A column alike however it is quoted: names are folded already."""
    return exp.column(node.name, node.table, quoted=True) if type(node) is exp.Column else node
