"""Protected views as relations: what was released is read like a public table, by whoever it is granted to."""

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import PREPARED
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.planner.accept import parse
from dpproxy.planner.access import Context, not_granted, table_name
from dpproxy.planner.open.limits import width
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.planner.planning import Planning
from dpproxy.values.errors import UndefinedTable, UnitLost
from dpproxy.values.pgtypes import FLOATS
from dpproxy.views.columns import ShownColumn
from dpproxy.views.materialized import Materialized

LARGEST_READ = 4_000_000_000
"""Characters of the answer of a statement that reads one view and multiplies nothing: it is read in portions."""


def find_materialized(node: exp.Table, context: Context, *, inside: bool) -> Materialized | None:
    """The built view of a name, None where there is none; ``inside`` another view no grant is needed.

    Errors: ``UndefinedTable`` alike for a missing and not granted one.
    """
    found = context.views.get(table_name(node))
    if found is None or inside or is_granted(found, context):
        return found
    if context.caller.is_admin:
        raise not_granted("protected view", found.view, node, context, is_paid=found.inside)
    raise UndefinedTable(f'relation "{table_name(node)}" does not exist', position=position(node))


def is_granted(view: Materialized, context: Context) -> bool:
    """Whether the caller may read it."""
    return view.view in context.policy.granted_to(context.caller.roles)


def relation_of(node: exp.Table, view: Materialized, planning: Planning) -> Open:
    """Its rows. Raises PD002 where they stay inside."""
    if view.inside:
        raise UnitLost(
            f'rows of protected view "{view.view}" stay inside',
            hint="Ask for min, median or percentile_disc of its columns.",
            position=position(node),
        )
    if not view.private:
        planning.masked.append(node)
    planning.read.append(view)
    shown = tuple(duck.named(duck.column(c.name), f"c{i}") for i, c in enumerate(view.columns))
    query = nodes.Select(shown, table_of(view))
    columns = tuple(OpenColumn(c.name, typed(c, f"c{i}")) for i, c in enumerate(view.columns))
    return Open(query, columns, released=False, rows=view.rows)


def table_of(view: Materialized) -> nodes.Table:
    """Where its rows are."""
    return nodes.Table(view.table, path=(PREPARED, "main"))


def typed(column: ShownColumn, name: str) -> Typed:
    """A column's values as its table holds them."""
    kind = column.type
    return Typed(
        duck.column(name),
        kind,
        None if kind.oid in FLOATS else kind.scale or 0,
        column.low,
        column.high,
        longest=column.longest,
        first=column.first,
        last=column.last,
    )


def shown_columns(view: Materialized) -> set[str]:
    """The columns that a view shows as they are in its table, all rows of it; none where its query does more."""
    tree = parse(view.query)
    plain = {name for name, value in tree.args.items() if value}
    tables = list(tree.find_all(exp.Table))
    if not isinstance(tree, exp.Select) or plain - {"expressions", "from_", "kind"} or len(tables) != 1:
        return set()
    names = {c.name for c in view.columns}
    if any(isinstance(e, exp.Star) for e in tree.expressions):
        return names
    bare = {e.name for e in tree.expressions if type(e) is exp.Column}
    return names & bare


def check_masked(planning: Planning) -> None:
    """What is not private differentially has no place beside protected rows. Raises PD002."""
    if planning.masked and planning.tables:
        node = planning.masked[0]
        raise UnitLost(
            f'protected view "{node.name}" is not differentially private: it is not read beside protected tables',
            detail="Whoever its rows are about would show through what is joined with them.",
            hint="Ask about it in a statement of its own.",
            position=position(node),
        )


def is_plain_read(tree: exp.Expr, found: Open, planning: Planning) -> bool:
    """Whether a statement reads one view and shows no more than it holds: such an answer is read in portions."""
    if len(planning.read) != 1 or planning.tables or len(list(tree.find_all(exp.Table))) != 1:
        return False
    size = found.rows * width(c.typed for c in found.columns)
    return found.rows <= planning.read[0].rows and size <= LARGEST_READ
