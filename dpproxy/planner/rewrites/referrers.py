"""Public rows that somebody's rows refer to, counted: ``count(*) FROM items WHERE EXISTS (SELECT 1 FROM sales ...)``.

Each is counted once by a column that has another value in each of them, ``count(DISTINCT items.id)``, over the join
with the rows that refer to it: what a person pays for is how many rows they have. Without groups, those that nobody's
rows refer to are all the others.
"""

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.planner.access import find_table
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.public_keys import Tables
from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.planner.rows.sources import Env

_OTHERS = ("with_", "group", "having", "distinct", "order", "limit", "offset", "windows", "qualify")
_GROUPED = exp.Group | exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple | exp.Paren


def with_referrers(select: exp.Select, planning: Planning, env: Env) -> exp.Select | None:
    """The SELECT over one public table as one over the join; None for all that has another form."""
    conditions = [] if env.view is not None else conjuncts(select.args.get("where"))
    tests = [c for c in conditions if _tested(c) is not None]
    if len(tests) != 1 or any(c.find(exp.Query) for c in conditions if c is not tests[0]):
        return None
    tables = Tables.of(select, planning, env)
    if tables is None or not tables.is_open or len(tables.columns) != 1 or not _counts_rows(select):
        return None
    inner = _inner(tests[0], tables)
    found = None if inner is None else Tables.of(inner, planning, env)
    if inner is None or found is None or found.is_open or not found.columns.keys().isdisjoint(tables.columns):
        return None
    if any(select.args.get(c) for c in ("group", "having")) and isinstance(tests[0], exp.Not):
        return None
    joined = _qualified(inner, found, tables)
    key = None if joined is None else _key(joined, found, tables, planning)
    if joined is None or key is None:
        return None
    rest = [c.copy() for c in conditions if c is not tests[0]]
    shown = _shown(select, tables)
    if shown is None or not _are_of([n for c in rest for n in c.find_all(exp.Column)], tables):
        return None
    return _counted(shown, rest, joined, key, is_not=isinstance(tests[0], exp.Not))


def _are_of(columns: Iterable[exp.Column], tables: Tables) -> bool:
    """In place: each column with the one table; whether all are its."""
    [alias] = tables.columns
    for column in columns:
        if not tables.has(column):
            return False
        column.set("table", exp.to_identifier(alias, quoted=True))
    return True


def _shown(select: exp.Select, tables: Tables) -> exp.Select | None:
    """A copy without conditions; names that GROUP BY takes from the SELECT list are what they stand for there."""
    copy: exp.Select = select.copy()
    copy.set("where", None)
    named = {e.alias: e.this for e in copy.expressions if isinstance(e, exp.Alias)}
    columns = []
    for column in [n for n in own_nodes(copy) if type(n) is exp.Column]:
        is_named = not column.table and column.name in named
        if is_named and isinstance(column.parent, _GROUPED) and not tables.has(column):
            column.replace(named[column.name].copy())
        elif not (is_named and isinstance(column.parent, exp.Ordered)):
            columns.append(column)
    for entry in [e for e in copy.expressions if _is_count(e)]:  # its name in the answer
        entry.replace(exp.alias_(entry.copy(), "count", quoted=True))
    return copy if _are_of(columns, tables) else None


def _tested(condition: exp.Expr) -> exp.Exists | exp.In | None:
    """EXISTS, NOT EXISTS or IN of a SELECT."""
    test = condition.this.unnest() if isinstance(condition, exp.Not) else condition
    if isinstance(test, exp.Exists):
        return test
    is_in = isinstance(test, exp.In) and test is condition and test.args.get("query") is not None
    return test if is_in and isinstance(test, exp.In) else None


def _inner(condition: exp.Expr, tables: Tables) -> exp.Select | None:
    """A copy of the SELECT, with what IN compares among its conditions."""
    test = _tested(condition)
    query = None if test is None else test.args["query"] if isinstance(test, exp.In) else test.this
    inner = query.unnest() if isinstance(query, exp.Expr) else None
    if type(inner) is not exp.Select or any(inner.args.get(name) for name in _OTHERS):
        return None
    if any(isinstance(n, exp.AggFunc | exp.Window) for n in own_nodes(inner)):
        return None
    copy = inner.copy()
    if isinstance(test, exp.In):
        if len(copy.expressions) != 1 or isinstance(test.this, exp.Tuple):
            return None
        compared = test.this.copy()
        if not _are_of([*compared.find_all(exp.Column)], tables):
            return None
        copy = copy.where(exp.EQ(this=copy.expressions[0].unalias(), expression=compared), copy=False)
    return copy


def _counts_rows(select: exp.Select) -> bool:
    """Whether it shows counts of rows, and no other aggregate of them."""
    made = [n for n in own_nodes(select) if isinstance(n, exp.AggFunc | exp.Window | exp.Filter)]
    return (
        bool(made)
        and all(map(_is_count, made))
        and not any(map(select.args.get, ("with_", "distinct", "qualify")))
    )


def _is_count(node: exp.Expr) -> bool:
    return type(node) is exp.Count and isinstance(node.this, exp.Star) and not node.expressions


def _qualified(inner: exp.Select, own: Tables, around: Tables) -> exp.Select | None:
    """In place: each column with its table; None where one is of none of these, or a subquery is among them."""
    [alias] = around.columns
    joins = inner.args.get("joins") or ()
    if any(node is not inner for node in inner.find_all(exp.Query)) or not all(
        _is_of_rows_inside(j, around) for j in joins
    ):
        return None
    inner.set("expressions", [exp.Literal.number(1)])
    for column in inner.find_all(exp.Column):
        of = own.alias_of(column) or (alias if around.has(column) and not own.has(column) else None)
        if of is None:
            return None
        column.set("table", exp.to_identifier(of, quoted=True))
    return inner


def _is_of_rows_inside(join: exp.Join, around: Tables) -> bool:
    """Whether it means the same beside the public table, whose columns NATURAL and USING would take too."""
    named = [around.has(exp.column(name)) for name in join.args.get("using") or ()]
    return join.args.get("side") in (None, "", "LEFT") and not join.args.get("method") and not any(named)


def _key(inner: exp.Select, own: Tables, around: Tables, planning: Planning) -> exp.Column | None:
    """A column of the public table that is equated with one of the others, and has no value in two of its rows."""
    [table] = around.public.values()
    source = nodes.Table(find_table(table, planning.context).name)
    for column in _equated(conjuncts(inner.args.get("where")), own, around):
        counted = duck.column(column.name)
        figures = (duck.call("count", counted), nodes.Call("count", (counted,), distinct=True))
        [[values, different]] = planning.context.facts(nodes.Select(figures, source))
        if values == different:
            return column
    return None


def _equated(conditions: Sequence[exp.Expr], own: Tables, around: Tables) -> Iterator[exp.Column]:
    for condition in conditions:
        if type(condition) is exp.EQ:
            for one, other in (
                (condition.this, condition.expression),
                (condition.expression, condition.this),
            ):
                if (
                    type(one) is exp.Column
                    and type(other) is exp.Column
                    and around.has(one)
                    and own.has(other)
                ):
                    yield one


def _counted(
    shown: exp.Select, rest: list[exp.Expr], inner: exp.Select, key: exp.Column, *, is_not: bool
) -> exp.Select:
    """In place: the SELECT over the join, with what it counts."""
    others = exp.Select(expressions=[exp.Count(this=exp.Star())], from_=shown.args["from_"].copy())
    others.set("where", exp.Where(this=exp.and_(*[c.copy() for c in rest], copy=False)) if rest else None)
    for count in [n for n in own_nodes(shown) if _is_count(n)]:
        referred: exp.Expr = exp.Count(this=exp.Distinct(expressions=[key.copy()]))
        if is_not:
            referred = exp.Paren(this=exp.Sub(this=exp.Subquery(this=others.copy()), expression=referred))
        count.replace(referred)
    shown.append("joins", exp.Join(this=inner.args["from_"].this))
    for join in inner.args.get("joins") or ():
        shown.append("joins", join)
    held = [*rest, *([] if inner.args.get("where") is None else [inner.args["where"].this])]
    shown.set("where", exp.Where(this=exp.and_(*held, copy=False)))
    return shown
