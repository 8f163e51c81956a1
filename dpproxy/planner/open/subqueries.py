"""Subqueries inside expressions where nothing is private any more: single values, IN and EXISTS."""

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import compare
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, boolean
from dpproxy.planner.open.relations import Open
from dpproxy.planner.planning import Planning
from dpproxy.planner.rewrites.correlation import grouped_by_row
from dpproxy.planner.rewrites.public_keys import Tables, only_of_rows
from dpproxy.planner.rows.owners import all_of
from dpproxy.planner.rows.sources import Env
from dpproxy.values.errors import (
    Refusal,
    SyntaxRefused,
    UndefinedColumn,
    UndefinedTable,
    UnitLost,
    Unsupported,
)

Around = Callable[[exp.Column], Typed]
"""A column of the query around a subquery. Raises a ``Refusal``."""
Known = dict[int, tuple[exp.Expr, Typed | None]]
"""The subqueries of one SELECT that were compiled, by their identity: planned again, they would be released again."""

_GROUPED = "Group it by what it compares, and join that with LEFT JOIN."
_AGGREGATE = "Release it first: with GROUP BY and HAVING inside IN, or as a count that is compared."


class AggregateAround(Unsupported):
    """An aggregate of columns of the query around alone: it would be one of that query."""


class Subqueries(Struct, frozen=True):
    """Compiles subqueries; each sees the columns around it."""

    planning: Planning
    env: Env
    around: Around
    known: Known = field(default_factory=dict)

    def compiled(self, node: exp.Expr, scope: Callable[[], Scope]) -> Typed | None:
        """The value of a subquery, planned once, None for other nodes. Raises a ``Refusal``."""
        if id(node) not in self.known:
            self.known[id(node)] = node, self._compiled(node, scope)
        return self.known[id(node)][1]

    def _compiled(self, node: exp.Expr, scope: Callable[[], Scope]) -> Typed | None:
        match node:
            case exp.Exists():
                return boolean(nodes.Exists(self.planned(node.this, node).query), nullable=False)
            case exp.In() if node.args.get("query") is not None:
                return self._in(node, scope())
            case exp.Subquery():
                return self._of_group(node, scope) or self._single(node)
            case _:
                return None

    def planned(self, query: exp.Expr, node: exp.Expr) -> Open:
        """A query that sees the columns around it. Raises a ``Refusal``."""
        inside = replace(self.env, outer=None, around=self.around)
        try:
            relation = self.env.plan(query, "", self.planning, inside)
        except (UndefinedTable, UndefinedColumn):
            if not any(self._is_around(c) for c in query.find_all(exp.Column)):
                raise
            raise Unsupported(
                "a subquery over protected rows does not see the row around it here",
                hint=_GROUPED,
                position=position(node),
            ) from None
        if not isinstance(relation, Open):
            raise UnitLost(
                "a subquery over protected rows is not answered beside what was released",
                hint=_AGGREGATE,
                position=position(node),
            )
        return relation

    def _is_around(self, column: exp.Column) -> bool:
        try:
            self.around(column)
        except Refusal:
            return False
        return True

    def _single(self, node: exp.Subquery) -> Typed:
        relation = self.planned(node.this, node)
        if len(relation.columns) != 1:
            raise SyntaxRefused("subquery must return only one column")
        sql, held = nodes.Scalar(relation.shown), nodes.Subquery(relation.query, nodes.Bare("single"))
        self.planning.singles[sql] = _distance(relation, lambda far: nodes.Select((far,), held))
        return replace(relation.columns[0].typed, sql=sql, nullable=True, is_constant=False, presence=None)

    def _of_group(self, node: exp.Subquery, scope: Callable[[], Scope]) -> Typed | None:
        """A value that follows the row around it: of the group that the row is in; None for others."""
        select = node.this
        tables = Tables.of(select, self.planning, self.env) if type(select) is exp.Select else None
        if tables is None or tables.is_open:
            return None
        beside = grouped_by_row(select, tables.has)
        if beside is None:
            return None
        beside = only_of_rows(beside, node, self.planning, self.env)
        relation = self.planned(beside.select, node)
        name = self.planning.reserve("q")
        *keys, value = [
            replace(c.typed, sql=duck.column(f"c{n}", name)) for n, c in enumerate(relation.columns)
        ]
        where = all_of(beside.equal(keys, scope(), node))
        groups = nodes.Subquery(relation.query, nodes.Bare(name))
        found = beside.found(value, nodes.Select((value.sql,), groups, where=where))
        self.planning.singles[found.sql] = _distance(
            relation, lambda far: nodes.Select((replace(far, table=name),), groups, where=where)
        )
        return found

    def _in(self, node: exp.In, scope: Scope) -> Typed:
        if isinstance(node.this.unnest(), exp.Tuple):
            raise Unsupported(
                "IN compares one value here", hint="Write EXISTS (SELECT 1 FROM t WHERE t.a = x AND t.b = y)."
            )
        relation = self.planned(node.args["query"].this, node)
        if len(relation.columns) != 1:
            raise SyntaxRefused("subquery has too many columns")
        name = self.planning.reserve("q")
        column = replace(relation.columns[0].typed, sql=duck.column("c0", name), presence=None)
        value = compile_expression(node.this, scope)
        test = duck.bare(compare(node, exp.EQ, value, column, scope).sql)
        if not isinstance(test, nodes.Binary):
            raise AssertionError("a comparison has two sides")  # noqa: TRY004 - a fault of ours
        listed = nodes.Select((test.right,), nodes.Subquery(relation.query, nodes.Bare(name)))
        return boolean(nodes.InQuery(test.left, listed), nullable=True)


def _distance(
    relation: Open, looked_up: Callable[[nodes.ColumnRef], nodes.Select]
) -> float | nodes.Expr | None:
    """How far the last column is off in the row that is looked up; None where noise decides whether it is there."""
    column = relation.columns[-1]
    if relation.chosen:
        return None
    if column.accuracy is None:
        return 0.0
    return nodes.Scalar(looked_up(column.reach)) if column.reach is not None else column.accuracy.half
