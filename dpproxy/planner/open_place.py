"""Where a query over open relations is run: with the releases, if it reads any; public tables are fetched there."""

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.planning import Planning


def reads_release(query: exp.Expr) -> bool:
    """Whether it has to be run where the releases are."""
    return any(not is_public(t) for t in query.find_all(exp.Table))


def is_public(table: exp.Table) -> bool:
    """A table of the backend: parts and fetched tables have bare names of our own."""
    return bool(table.this.args.get("quoted"))


def placed(query: exp.Expr, planning: Planning) -> exp.Expr:
    """The query with ``p0...`` for each subquery over public tables alone, and for each public table beside releases.

    Of a table only the columns that are read are fetched.
    """
    if not any(is_public(t) for t in query.find_all(exp.Table)):
        return query
    copy = query.copy()
    columns: dict[str, dict[str, None]] = {}
    for column in copy.find_all(exp.Column):
        columns.setdefault(column.table, {})[column.name] = None
    left = [copy]
    while left:
        node = left.pop()
        if isinstance(node, exp.Select | exp.SetOperation) and _is_apart(node):
            source = exp.Table(this=exp.to_identifier(_fetched(node, planning)))
            node.replace(exp.Select(expressions=[exp.Star()], from_=exp.From(this=source)))
        elif type(node) is exp.Table and is_public(node):
            read = sorted(columns.get(node.alias, ()))
            shown: list[exp.Expr] = [duck.column(name) for name in read] or [duck.integer(1)]
            select = exp.Select(expressions=shown, from_=exp.From(this=exp.Table(this=node.this.copy())))
            node.set("this", exp.to_identifier(_fetched(select, planning)))
        else:
            left.extend(node.iter_expressions())
    return copy


def _is_apart(query: exp.Expr) -> bool:
    """Reads public tables, nothing released, and no column of a query around it."""
    tables = list(query.find_all(exp.Table))
    own = {s.alias for s in query.find_all(exp.Table, exp.Subquery, exp.Values)}
    around = {c.table for c in query.find_all(exp.Column) if c.table} - own
    return bool(tables) and all(is_public(t) for t in tables) and not around


def _fetched(query: exp.Expr, planning: Planning) -> str:
    sql = duck.text(query)
    if sql not in planning.publics:
        planning.publics.append(sql)
    return f"p{planning.publics.index(sql)}"
