"""The entries of FROM: names looked up, subqueries planned."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.planner.access import Use, find_table
from dpproxy.planner.open.protected_views import find_materialized, relation_of
from dpproxy.planner.open.relations import Open
from dpproxy.planner.planning import Planning
from dpproxy.planner.refusals import HINTS
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.planner.rows.scans import is_public
from dpproxy.planner.views import as_view, find_view, placed_at, query_of
from dpproxy.policy.model import TablePolicy
from dpproxy.values.errors import DuplicateAlias, SyntaxRefused, Unsupported

REFERENCE = 2_000
"""Work of planning a subquery: a name of WITH whose rows are people's is planned anew wherever it stands."""

Relation = Scan | Open
"""What a subquery is: rows of people still, or open."""


class Env(Struct, frozen=True):
    """The names of WITH, each with what its query can see, and how a subquery is planned."""

    plan: "Callable[[exp.Expr, str, Planning, Env], Relation]"
    ctes: "Mapping[str, tuple[exp.CTE, Env]]" = field(default_factory=dict)
    outer: JoinedRows | None = None
    """The rows around a correlated subquery."""
    around: Callable[[exp.Column], Typed] | None = None
    """The open columns around one."""
    view: exp.Table | None = None
    """Inside a view, where the statement names it: names mean what they mean to the owner of the data."""
    planned: "Mapping[str, Relation]" = field(default_factory=dict)
    """Names of what is planned already, in a query that nobody wrote."""


class Lateral(Struct, frozen=True):
    """A subquery that sees the entries of FROM before it: planned where these are joined."""

    env: Env


class FromEntry(Struct, frozen=True):
    """One entry of FROM, under its alias; a table's policy, or what a subquery became."""

    node: exp.Expr
    alias: str
    relation: TablePolicy | Relation | Lateral
    join: exp.Join | None

    @property
    def is_protected(self) -> bool:
        """Its rows are somebody's."""
        return isinstance(self.relation, Scan) or (
            isinstance(self.relation, TablePolicy) and not is_public(self.relation)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of ``AS t (a, b)``."""
        alias = self.node.args.get("alias")
        return tuple(c.name for c in alias.columns) if isinstance(alias, exp.TableAlias) else ()

    def names_for(self, columns: int) -> tuple[str, ...]:
        """The names for that many columns. Raises ``SyntaxRefused`` where there are more names."""
        if len(self.names) > columns:
            raise SyntaxRefused(
                f'"{self.alias}" has {columns} columns available but {len(self.names)} columns specified',
                hint="Leave names out: those left keep their own.",
                position=position(self.node),
            )
        return self.names


def with_ctes(query: exp.Expr, env: Env) -> Env:
    """What the body of a query sees: each name of WITH sees those before it.

    Errors: ``Unsupported`` (0A000) for recursion, ``DuplicateAlias`` (42712) for a name used twice.
    """
    clause = query.args.get("with_")
    if clause is None:
        return env
    if clause.args.get("recursive"):
        raise Unsupported(
            "WITH RECURSIVE is not answered",
            hint="Write the query without recursion.",
            position=position(clause),
        )
    names: set[str] = set()
    for cte in clause.expressions:
        if cte.alias in names:
            raise DuplicateAlias(
                f'WITH query name "{cte.alias}" specified more than once',
                hint="Give each query of WITH a name of its own.",
                position=position(cte),
            )
        names.add(cte.alias)
        env = replace(env, ctes={**env.ctes, cte.alias: (cte, env)})
    return env


def apart(query: exp.Expr, alias: str, planning: Planning, env: Env) -> Relation:
    """A query that sees nothing of what is around it: its names start anew, so that it is written alike everywhere.

    Two places that ask the same then ask one thing. What it shows outside has names of its own there.
    """
    before = planning.names
    planning.names = set()
    relation = env.plan(query, alias, planning, env)
    planning.names = before
    if isinstance(relation, Open):
        return relation
    held = [c.name for c in (*relation.content, relation.unit) if c is not None]
    item = relation.item
    name = item.alias or (item.name if isinstance(item, nodes.Table) else "")
    shown = {name.lower() for name in (*held, name)}
    if shown & before:
        return env.plan(query, alias, planning, env)
    planning.names = before | shown
    return relation


def entries(select: exp.Select, planning: Planning, env: Env) -> list[FromEntry]:
    """The entries of FROM in order. Raises 0A000 without FROM and for functions, 42712 for a name used twice."""
    clause = select.args.get("from_")
    if clause is None:
        return []
    nodes = [(clause.this, None), *((j.this, j) for j in select.args.get("joins") or ())]
    found = [_entry(node, join, planning, env) for node, join in nodes]
    seen: set[str] = set()
    for entry in found:
        if entry.alias in seen:
            raise DuplicateAlias(
                f'table name "{entry.alias}" specified more than once', position=position(entry.node)
            )
        seen.add(entry.alias)
    return found


def _entry(node: exp.Expr, join: exp.Join | None, planning: Planning, env: Env) -> FromEntry:
    alias = node.args.get("alias")
    if type(node) is exp.Table:
        name = alias.name if alias is not None and alias.name else node.name
        if node.name in env.planned:
            return FromEntry(node, name, env.planned[node.name], join)
        cte = env.ctes.get(node.name) if not node.db else None
        if cte is not None:
            return FromEntry(node, name, _named(node, name, cte, planning), join)
        shown = _view(node, name, planning, env)
        if shown is not None:
            return FromEntry(node, name, shown, join)
        policy = find_table(node, planning.context, inside=env.view is not None)
        if not is_public(policy):
            planning.tables.append(Use(env.view or node, policy.name))
        return FromEntry(node, name, policy, join)
    if type(node) in (exp.Subquery, exp.Values, exp.Lateral):
        return _subquery(node, join, planning, env)
    raise Unsupported(
        "SELECT needs FROM a table or a subquery here", hint=HINTS.get(type(node)), position=position(node)
    )


def _named(node: exp.Table, alias: str, cte: "tuple[exp.CTE, Env]", planning: Planning) -> Relation:
    """What a name of WITH stands for: what is open is planned once, rows of people anew under each alias.

    All work counts again wherever it stands, for the query has as many parts.
    """
    (definition, inside), before = cte, planning.parameters.budget
    _, known, work = planning.named.get(id(cte), (cte, None, REFERENCE))
    planning.parameters.spend(work, node)
    if isinstance(known, Open):
        return known
    relation = apart(definition, alias, planning, replace(inside, outer=None, around=None))
    if isinstance(relation, Open):
        planning.named[id(cte)] = cte, relation, before - planning.parameters.budget
    return relation


def _subquery(node: exp.Expr, join: exp.Join | None, planning: Planning, env: Env) -> FromEntry:
    planning.parameters.spend(REFERENCE, node)
    alias = node.args.get("alias")
    if alias is None or not alias.name:
        raise SyntaxRefused(
            "subquery in FROM must have an alias",
            hint="Write a name behind the closing parenthesis, as in AS t.",
            position=position(node),
        )
    if type(node) is exp.Lateral and join is not None:
        return FromEntry(node, alias.name, Lateral(env), join)
    query = node.this if type(node) is exp.Lateral else node
    inside = replace(env, outer=None, around=None)
    return FromEntry(node, alias.name, apart(query, alias.name, planning, inside), join)


def _view(node: exp.Table, alias: str, planning: Planning, env: Env) -> Relation | None:
    """What a view's name stands for, None for other names."""
    view = find_view(node, planning.context, inside=env.view is not None)
    if view is None:
        built = find_materialized(node, planning.context, inside=env.view is not None)
        return None if built is None else relation_of(node, built, planning)
    planning.parameters.spend(REFERENCE, node)
    with placed_at(node), planning.parameters.kept():
        found = apart(query_of(view, planning.context), alias, planning, Env(env.plan, view=env.view or node))
        return as_view(view, found, planning.context)
