"""VALUES: a relation that is written out."""

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import unify
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.answer import UNPROVED
from dpproxy.planner.open.growth import copies
from dpproxy.planner.open.place import reads_release
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.planner.open.subqueries import Subqueries
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.sources import Env
from dpproxy.values.errors import SyntaxRefused, UndefinedColumn
from dpproxy.values.pgtypes import TEXT, UNKNOWN


def open_values(node: exp.Values, planning: Planning, env: Env) -> Open:
    """The rows as one relation; its columns are ``column1...`` unless named. Raises a ``Refusal``."""
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise SyntaxRefused("VALUES lists must all be the same length", position=position(node))
    around = env.around or _no_column
    subqueries = Subqueries(planning, env, around)

    def leaf(part: exp.Expr) -> Typed | None:
        if type(part) is exp.Column:
            return around(part)
        return subqueries.compiled(part, lambda: scope)

    scope = Scope(ExpressionLevel.RELEASED, leaf, planning.parameters)
    listed = [
        _column(node, [compile_expression(row[i], scope) for row in rows], scope) for i in range(len(rows[0]))
    ]
    names = [f"c{i}" for i in range(len(listed))]
    columns = []
    for i, (forms, shape) in enumerate(listed):
        held = replace(shape, sql=duck.column(names[i]))
        parts = [row[i] for row in rows]
        is_noisy = any(part.find(exp.Column) for part in parts) or any(f.has(nodes.Release) for f in forms)
        most = max(copies(part, held, _no_own) for part in parts)
        columns.append(
            OpenColumn(f"column{i + 1}", held, accuracy=UNPROVED if is_noisy else None, copies=most)
        )
    rows_of = tuple(zip(*(forms for forms, _ in listed), strict=True))
    name = nodes.Bare(planning.reserve("q"))
    source = nodes.Values(rows_of, name, tuple(names))
    query = nodes.Select(tuple(duck.column(n, str(name)) for n in names), source)
    return Open(query, tuple(columns), reads_release(query), len(rows))


def _column(node: exp.Expr, values: list[Typed], scope: Scope) -> tuple[list[nodes.Expr], Typed]:
    if all(v.type is UNKNOWN for v in values):
        values = [settle(v, TEXT, scope, node) for v in values]
    forms, shape = unify(node, values, scope)
    return forms, replace(shape, is_constant=False, constant=None, presence=None)


def _no_own(node: exp.Column) -> None:
    """A column of the query around the list."""


def _no_column(node: exp.Column) -> Typed:
    raise UndefinedColumn(f'column "{node.name}" does not exist')
