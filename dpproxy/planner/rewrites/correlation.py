"""A subquery for one value that compares its columns with the row around it, as a grouped one that is released first.

``x < (SELECT avg(x) FROM t WHERE t.k = row.k)`` is the mean of each k, and of these the one of the row.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.planner.access import Context, table_name
from dpproxy.planner.keys.grouping import has_aggregates
from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.planner.rows.scans import is_public
from dpproxy.planner.select_list import items

_OTHERS = ("with_", "group", "having", "distinct", "order", "limit", "offset")


class Grouped(Struct, frozen=True):
    """The subquery with its keys before its value, and what these equal in the row around it."""

    select: exp.Select
    around: tuple[exp.Expr, ...]
    is_count: bool
    """Its value is a count, and 0 where no group is."""


IsOwn = Callable[[exp.Column], bool]
"""Whether a column is of the subquery's own relations; else, it is one around it."""


def grouped_by_row(select: exp.Select, is_own: IsOwn) -> Grouped | None:
    """The columns of ``select`` are written one way. None where it is of no such form."""
    if (
        any(select.args.get(name) for name in _OTHERS)
        or len(items(select)) != 1
        or not has_aggregates(select)
    ):
        return None
    keys: dict[exp.Expr, exp.Expr] = {}
    rest = []
    for condition in conjuncts(select.args.get("where")):
        if not _sees(condition, is_own, own=False):
            rest.append(condition.copy())
            continue
        sides = (condition.this, condition.expression) if type(condition) is exp.EQ else ()
        pair = next((p for p in (sides, sides[::-1]) if p and _is_pair(*p, is_own)), None)
        if pair is None or pair[0] in keys:
            return None
        keys[pair[0]] = pair[1]
    [value] = items(select)
    is_count = type(value.node.unnest()) is exp.Count
    if not keys or _sees(value.node, is_own, own=False) or (value.node.find(exp.Count) and not is_count):
        return None
    copy = select.copy()
    shown = [exp.alias_(node.copy(), f"#{n}", quoted=True) for n, node in enumerate((*keys, value.node))]
    copy.set("expressions", shown)
    copy.set("group", exp.Group(expressions=[k.copy() for k in keys]))
    copy.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    return Grouped(copy, tuple(keys.values()), is_count)


def _is_pair(own: exp.Expr, around: exp.Expr, is_own: IsOwn) -> bool:
    """A side of the subquery's own columns, and one of the row's."""
    has_query = own.find(exp.Query) is not None or around.find(exp.Query) is not None
    is_inside = _sees(own, is_own, own=True) and not _sees(own, is_own, own=False)
    return not has_query and is_inside and not _sees(around, is_own, own=True)


def _sees(node: exp.Expr, is_own: IsOwn, *, own: bool) -> bool:
    """Whether it reads a column of the subquery's own relations; else, one around it."""
    return any(is_own(c) == own for c in node.find_all(exp.Column))


class Tables(Struct, frozen=True):
    """The tables of a FROM, and which of them a column is of."""

    columns: Mapping[str, frozenset[str]]
    """By alias."""
    public: Mapping[str, exp.Table]
    """Those that are nobody's, by alias."""

    @classmethod
    def of(cls, select: exp.Select, context: Context, hidden: Mapping[str, object]) -> "Tables | None":
        """None where FROM has anything but tables; ``hidden`` are other meanings of names."""
        clause = select.args.get("from_")
        found = [] if clause is None else [clause.this, *(j.this for j in select.args.get("joins") or ())]
        columns, public = {}, {}
        for node in found:
            name = (
                table_name(node) if type(node) is exp.Table and (node.db or node.name not in hidden) else ""
            )
            table, policy = context.schema.tables.get(name), context.policy.tables.get(name)
            if table is None or policy is None or node.alias_column_names:
                return None
            columns[node.alias_or_name] = frozenset(c.name for c in table)
            if is_public(policy):
                public[node.alias_or_name] = node
        return cls(columns, public)

    def alias_of(self, column: exp.Column) -> str | None:
        """The table that a column is of, None where it is of none of these, or not of one alone."""
        aliases = [column.table] if column.table else [*self.columns]
        found = [a for a in aliases if column.name in self.columns.get(a, ())]
        return found[0] if len(found) == 1 else None


def only_of_rows(
    beside: Grouped, node: exp.Subquery, context: Context, hidden: Mapping[str, object]
) -> Grouped:
    """The same with those groups alone that a row around it may be in, by its conditions on one public table.

    ``... FROM t, p WHERE p.x = 1 AND t.k = p.k AND y < (SELECT avg(y) FROM t WHERE t.k = p.k)`` needs the k of the p
    with x = 1. These are joined to ``t`` in the subquery, each once.
    """
    select = node.parent_select
    if not isinstance(select, exp.Select) or _is_in_join(node, select):
        return beside
    tables = Tables.of(select, context, hidden)
    if tables is None:
        return beside
    for alias, table in tables.public.items():
        wanted = [
            c for c in conjuncts(select.args.get("where")) if _is_about(c, alias, tables, context, hidden)
        ]
        keys = [
            n
            for n, (own, c) in enumerate(
                zip(beside.select.args["group"].expressions, beside.around, strict=True)
            )
            if type(own) is exp.Column and type(c) is exp.Column and tables.alias_of(c) == alias
        ]
        if wanted and keys:
            return replace(beside, select=_joined(beside, table, keys, wanted))
    return beside


def _is_in_join(node: exp.Expr, select: exp.Select) -> bool:
    """Whether the rows around it may be others than those that pass the conditions."""
    join = node.find_ancestor(exp.Join, exp.Select)
    return isinstance(join, exp.Join) or any(j.args.get("side") for j in select.args.get("joins") or ())


def _is_about(
    condition: exp.Expr, alias: str, tables: Tables, context: Context, hidden: Mapping[str, object]
) -> bool:
    """Whether a condition reads columns of one table, and in subqueries those of public tables."""
    own = _own_columns(condition)
    return (
        bool(own)
        and all(tables.alias_of(c) == alias for c in own)
        and all(_is_public(q, context, hidden) for q in condition.find_all(exp.Query))
    )


def _is_public(query: exp.Expr, context: Context, hidden: Mapping[str, object]) -> bool:
    """Whether it reads public tables alone, and nothing of what is around it."""
    if isinstance(query, exp.Subquery):
        return True  # what it holds is looked at by itself
    if not isinstance(query, exp.Select) or query.args.get("with_"):
        return False
    tables = Tables.of(query, context, hidden)
    return (
        tables is not None
        and tables.columns.keys() == tables.public.keys()
        and all(tables.alias_of(c) for c in _own_columns(query))
    )


def _own_columns(node: exp.Expr) -> list[exp.Column]:
    return [n for n in own_nodes(node) if type(n) is exp.Column]


def _joined(
    beside: Grouped, table: exp.Table, keys: Sequence[int], conditions: Sequence[exp.Expr]
) -> exp.Select:
    """The subquery over the keys that rows of the table have under these conditions."""
    names = [exp.to_identifier(f"#{n}", quoted=True) for n in keys]
    around = exp.to_identifier("#around", quoted=True)
    shown = [exp.alias_(beside.around[n].copy(), name) for n, name in zip(keys, names, strict=True)]
    listed = exp.Select(
        expressions=shown,
        from_=exp.From(this=table.copy()),
        where=exp.Where(this=exp.and_(*(c.copy() for c in conditions), copy=False)),
        distinct=exp.Distinct(),
    )
    copy = beside.select.copy()
    group = copy.args["group"].expressions
    equal = [
        exp.EQ(this=group[n].copy(), expression=exp.column(name.copy(), around.copy()))
        for n, name in zip(keys, names, strict=True)
    ]
    copy.append("joins", exp.Join(this=exp.Subquery(this=listed, alias=exp.TableAlias(this=around))))
    where = copy.args.get("where")
    parts = [*equal, *([] if where is None else [where.this])]
    copy.set("where", exp.Where(this=exp.and_(*parts, copy=False)))
    return copy
