"""Conditions on public tables written as joins with what they leave: from these follow the keys that are answered."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.helper import find_new_name

from dpproxy.planner.access import find_table
from dpproxy.planner.keys.grouping import has_aggregates
from dpproxy.planner.open.relations import Open
from dpproxy.planner.open.scan import can_stand
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.correlation import Grouped
from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.planner.rows.scans import column_names, is_public
from dpproxy.planner.rows.sources import Env, apart
from dpproxy.values.errors import Refusal


class Tables(Struct, frozen=True):
    """The tables of a FROM, and which of them a column is of."""

    columns: Mapping[str, frozenset[str]]
    """By alias."""
    public: Mapping[str, exp.Table]
    """Those that are nobody's, by alias."""

    @property
    def is_open(self) -> bool:
        """Whether all are nobody's."""
        return self.columns.keys() == self.public.keys()

    @classmethod
    def of(cls, select: exp.Select, planning: Planning, env: Env) -> "Tables | None":
        """None where FROM has anything but tables that the caller may use."""
        clause = select.args.get("from_")
        found = [] if clause is None else [clause.this, *(j.this for j in select.args.get("joins") or ())]
        columns, public = {}, {}
        for node in found:
            if (
                type(node) is not exp.Table
                or node.alias_column_names
                or (not node.db and node.name in env.ctes)
            ):
                return None
            try:
                table = find_table(node, planning.context, inside=env.view is not None)
            except Refusal:
                return None
            columns[node.alias_or_name] = column_names(table, planning)
            if is_public(table):
                public[node.alias_or_name] = node
        return cls(columns, public)

    def has(self, column: exp.Column) -> bool:
        """Whether the name can mean a column of these."""
        aliases = [column.table] if column.table else [*self.columns]
        return any(column.name in self.columns.get(a, ()) for a in aliases)

    def alias_of(self, column: exp.Column) -> str | None:
        """The table that a column is of, None where it is of none of these, or not of one alone."""
        aliases = [column.table] if column.table else [*self.columns]
        found = [a for a in aliases if column.name in self.columns.get(a, ())]
        return found[0] if len(found) == 1 else None


def only_of_rows(beside: Grouped, node: exp.Subquery, planning: Planning, env: Env) -> Grouped:
    """The same with those groups alone that a row around it may be in, by its conditions on one public table.

    ``... FROM t, p WHERE p.x = 1 AND t.k = p.k AND y < (SELECT avg(y) FROM t WHERE t.k = p.k)`` needs the k of the p
    with x = 1. These are joined to ``t`` in the subquery, each once.
    """
    select = node.parent_select
    if not isinstance(select, exp.Select) or _is_in_join(node, select):
        return beside
    tables = Tables.of(select, planning, env)
    if tables is None:
        return beside
    for alias, table in tables.public.items():
        wanted = [
            c for c in conjuncts(select.args.get("where")) if _is_about(c, alias, tables, planning, env)
        ]
        keys = [
            n
            for n, (own, c) in enumerate(
                zip(beside.select.args["group"].expressions, beside.around, strict=True)
            )
            if type(own) is exp.Column and type(c) is exp.Column and tables.alias_of(c) == alias
        ]
        if wanted and keys:
            listed = exp.Select(
                expressions=[beside.around[n].copy() for n in keys],
                from_=exp.From(this=table.copy()),
                where=_all(c.copy() for c in wanted),
            )
            if _can_stand(listed, planning, env):
                return replace(beside, select=_joined(beside.select, keys, listed))
    return beside


def _can_stand(listed: exp.Select, planning: Planning, env: Env) -> bool:
    """Whether it is accepted as a relation beside protected rows."""
    relation = apart(listed, "", planning, replace(env, outer=None, around=None))
    return isinstance(relation, Open) and can_stand(relation, planning)


def _is_in_join(node: exp.Expr, select: exp.Select) -> bool:
    """Whether the rows around it may be others than those that pass the conditions."""
    join = node.find_ancestor(exp.Join, exp.Select)
    return isinstance(join, exp.Join) or any(j.args.get("side") for j in select.args.get("joins") or ())


def _is_about(condition: exp.Expr, alias: str, tables: Tables, planning: Planning, env: Env) -> bool:
    """Whether a condition reads columns of one table, and in subqueries those of public tables."""
    own = _own_columns(condition)
    return (
        bool(own)
        and all(tables.alias_of(c) == alias for c in own)
        and all(_is_public(q, planning, env) for q in condition.find_all(exp.Query))
    )


def _is_public(query: exp.Expr, planning: Planning, env: Env) -> bool:
    """Whether it reads public tables alone, and nothing of what is around it."""
    if isinstance(query, exp.Subquery):
        return True  # what it holds is looked at by itself
    if not isinstance(query, exp.Select) or query.args.get("with_"):
        return False
    tables = Tables.of(query, planning, env)
    return tables is not None and tables.is_open and all(tables.alias_of(c) for c in _own_columns(query))


def _own_columns(node: exp.Expr) -> list[exp.Column]:
    return [n for n in own_nodes(node) if type(n) is exp.Column]


def _joined(select: exp.Select, keys: Sequence[int], listed: exp.Select) -> exp.Select:
    """The subquery over those of its keys that are listed."""
    copy = select.copy()
    group, where = copy.args["group"].expressions, copy.args.get("where")
    equal = _with_list(copy, "#around", [group[n] for n in keys], listed)
    copy.set("where", _all([*equal, *([] if where is None else [where.this])]))
    return copy


def _all(conditions: Iterable[exp.Expr]) -> exp.Where:
    return exp.Where(this=exp.and_(*conditions, copy=False))


def _with_list(select: exp.Select, alias: str, keys: Sequence[exp.Expr], listed: exp.Select) -> list[exp.EQ]:
    """Join what is listed, each once, in place; the equalities of the keys with it."""
    names = [exp.to_identifier(f"#{n}", quoted=True) for n in range(len(keys))]
    taken = {j.this.alias_or_name for j in (select.args["from_"], *(select.args.get("joins") or ()))}
    around = exp.to_identifier(find_new_name(taken, alias), quoted=True)
    shown = [exp.alias_(e.unalias(), n) for e, n in zip(listed.expressions, names, strict=True)]
    listed.set("expressions", shown)
    listed.set("distinct", exp.Distinct())
    select.append("joins", exp.Join(this=exp.Subquery(this=listed, alias=exp.TableAlias(this=around))))
    return [
        exp.EQ(this=key.copy(), expression=exp.column(name.copy(), around.copy()))
        for key, name in zip(keys, names, strict=True)
    ]


_OTHERS = ("with_", "distinct", "group", "having", "order", "limit", "offset")


def among_listed(select: exp.Select, planning: Planning, env: Env) -> exp.Select:
    """A copy in which public lists that a key is IN are joined, each value once: other keys are not answered.

    ``SELECT k, count(*) FROM t WHERE k IN (SELECT k FROM p WHERE p.x = 1) GROUP BY k`` has the groups of these k.
    """
    conditions = conjuncts(select.args.get("where"))
    if not any(type(c) is exp.In and c.args.get("query") is not None for c in conditions):
        return select
    tables = Tables.of(select, planning, env)
    if tables is None or tables.is_open or any(j.args.get("side") for j in select.args.get("joins") or ()):
        return select
    keys = {c.name for key in keys_of(select) for c in _own_columns(key)}
    found = [
        c
        for c in conditions
        if _is_list(c, keys, planning, env) and _can_stand(c.args["query"].this, planning, env)
    ]
    if not found:
        return select
    copy = select.copy()
    joined = [
        equal
        for n, condition in enumerate(found)
        for equal in _with_list(copy, f"#in{n}", [condition.this], condition.args["query"].this.copy())
    ]
    copy.set("where", _all([*joined, *(c.copy() for c in conditions if c not in found)]))
    return copy


def _entries(nodes: Iterable[exp.Expr]) -> Iterator[exp.Expr]:
    """Those in sets of keys, too."""
    for node in nodes:
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            yield from _entries(node.expressions)
        else:
            yield node


def keys_of(select: exp.Select) -> Iterator[exp.Expr]:
    """What GROUP BY names, by places and aliases too."""
    named = {e.alias: e.unalias() for e in select.expressions if e.alias}
    group = select.args.get("group")
    for node in () if group is None else _entries(group.expressions):
        place = int(node.name) if isinstance(node, exp.Literal) and node.name.isdigit() else 0
        if 0 < place <= len(select.expressions):
            yield select.expressions[place - 1].unalias()
        else:
            yield named.get(node.name, node) if type(node) is exp.Column else node


def _is_list(condition: exp.Expr, keys: Set[str], planning: Planning, env: Env) -> bool:
    """Whether it says that a column of GROUP BY is in a plain list of public values."""
    query = condition.args.get("query") if type(condition) is exp.In else None
    listed = query.this if query is not None and type(condition.this) is exp.Column else None
    return (
        isinstance(listed, exp.Select)
        and condition.this.name in keys
        and len(listed.expressions) == 1
        and not any(listed.args.get(name) for name in _OTHERS)
        and not isinstance(listed.expressions[0].unalias(), exp.Star)
        and not has_aggregates(listed)
        and all(_is_public(q, planning, env) for q in (listed, *listed.find_all(exp.Query)))
    )
