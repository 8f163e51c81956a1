"""Columns behind a schema and a table, ``public.people.age``: which entry of FROM each is of, as PostgreSQL finds it.

Such a name means the entry that names this table without an alias, nearest from the inside; what reads the tree
afterwards knows names of entries alone.
"""

from collections.abc import Iterator

from msgspec import Struct
from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.relations import is_of_with
from dpproxy.planner.access import OWN
from dpproxy.values.errors import UndefinedTable, Unsupported


def without_schemas(tree: exp.Expr) -> exp.Expr:
    """The tree, its columns without schemas.

    Errors: ``UndefinedTable`` where no entry of FROM is meant, ``Unsupported`` where a nearer entry has the name, too.
    """
    if any(node.args.get("db") is not None for node in tree.find_all(exp.Column)):
        tree = tree.copy()  # what is refused is asked of a view as it was written
        for column in [n for n in tree.find_all(exp.Column) if n.args.get("db") is not None]:
            _check(column)
            column.set("db", None)
    return tree


class _Level(Struct, frozen=True):
    """The entries of one FROM around a column; its names cannot be used inside its own subqueries and WITH."""

    entries: tuple[exp.Expr, ...]
    usable: bool


def _check(column: exp.Column) -> None:
    """Refuse where the name without its schema would be another entry's, or nobody's."""
    levels = list(_around(column))
    hidden = False
    for level in levels:
        named = [e for e in level.entries if level.usable and _name(e) == column.table]
        if any(_is_table(e, column) and not e.alias for e in named):
            if hidden:
                raise Unsupported(
                    f'table "{column.table}" has the name of an entry inside the subquery',
                    hint=f"Give one of them an alias: FROM {column.table} AS t.",
                    position=position(column),
                )
            return
        hidden = hidden or bool(named)
    raise _missing(column, [e for level in levels for e in level.entries])


def _missing(column: exp.Column, entries: list[exp.Expr]) -> UndefinedTable:
    alias = next((e.alias for e in entries if _is_table(e, column) and e.alias), None)
    names = [alias] if alias is not None else [n for e in entries if (n := _name(e)) == column.table]
    told = "invalid reference to" if names else "missing"
    return UndefinedTable(
        f'{told} FROM-clause entry for table "{column.table}"',
        hint=f'In FROM it is called "{names[0]}": write "{names[0]}"."{column.name}".' if names else None,
        position=position(column),
    )


def _around(column: exp.Column) -> Iterator[_Level]:
    """The FROM clauses around a column, from the inside."""
    usable, is_inside = True, False
    node: exp.Expr = column
    while (above := node.parent) is not None:
        if node.arg_key == "on":
            is_inside = False  # a condition of the FROM around it
        elif (isinstance(above, exp.From | exp.Join) and is_inside) or isinstance(above, exp.With):
            usable = False
        if isinstance(above, exp.Select):
            yield _Level(tuple(_entries(above)), usable)
        if isinstance(above, exp.Query) and not isinstance(above, exp.Subquery):
            usable, is_inside = True, True
        node = above


def _entries(select: exp.Select) -> Iterator[exp.Expr]:
    clause = select.args.get("from_")
    if clause is not None:
        yield from _opened(clause.this)
    for join in select.args.get("joins") or ():
        yield from _opened(join.this)


def _opened(node: exp.Expr) -> Iterator[exp.Expr]:
    """An entry of FROM, or those of a join in parentheses."""
    is_group = (
        isinstance(node, exp.Subquery) and not node.alias and isinstance(node.this, exp.Table | exp.Subquery)
    )
    if is_group:
        yield from _opened(node.this)
    else:
        yield node
    for join in node.args.get("joins") or ():
        yield from _opened(join.this)


def _name(entry: exp.Expr) -> str:
    return str(entry.alias_or_name)


def _is_table(entry: exp.Expr, column: exp.Column) -> bool:
    """Whether an entry is the table that a column names, under whatever alias."""
    if type(entry) is not exp.Table or entry.name != column.table or (not entry.db and is_of_with(entry)):
        return False
    return _schema(entry.db) == _schema(column.db)


def _schema(name: str) -> str:
    return "" if name in OWN else name
