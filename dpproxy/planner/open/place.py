"""Where a query over open relations is run: with the releases, if it reads any; public tables are fetched there."""

from collections.abc import Mapping

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.planner.planning import Planning


def reads_release(query: nodes.Query) -> bool:
    """Whether it has to be run where the releases are."""
    return query.has(nodes.Release)


def is_public(table: nodes.Table) -> bool:
    """A table of the backend: what was fetched of one has a bare name of our own."""
    return type(table.name) is not nodes.Bare


def placed(query: nodes.Query, planning: Planning) -> nodes.Query:
    """The query with ``p0...`` for each subquery over public tables alone, and for each public table beside releases.

    Of a table only the columns that are read are fetched.
    """
    if not any(is_public(t) for t in query.find_all(nodes.Table)):
        return query
    columns: dict[int, set[str]] = {}
    _read(query, {}, columns)
    others: dict[int, nodes.Node] = {}
    left: list[nodes.Node] = [query]
    while left:
        node = left.pop()
        if isinstance(node, nodes.Query) and _is_apart(node):
            others[id(node)] = nodes.Select((nodes.Star(),), nodes.Table(_fetched(node, planning)))
        elif isinstance(node, nodes.Table) and is_public(node):
            shown = tuple(map(duck.column, sorted(columns[id(node)]))) or (duck.integer(1),)
            fetched = _fetched(nodes.Select(shown, replace(node, alias=None)), planning)
            others[id(node)] = replace(node, name=fetched)
        else:
            left.extend(node.parts())
    found = query.transform(lambda node: others.get(id(node)))
    if not isinstance(found, nodes.Query):
        raise AssertionError("a query stays one")  # noqa: TRY004 - a fault of ours
    return found


def _read(node: nodes.Node, seen: Mapping[str | None, set[str]], found: dict[int, set[str]]) -> None:
    """Add the columns that are read of each item of FROM: a name means the nearest item that has it."""
    if isinstance(node, nodes.ColumnRef):
        seen.get(node.table, set()).add(node.name)
    if not isinstance(node, nodes.Select):
        for part in node.parts():
            _read(part, seen, found)
        return
    items = [item for item in (node.source, *(j.item for j in node.joins)) if item is not None]
    inside = {**seen, **{item.alias: found.setdefault(id(item), set()) for item in items}}
    for item in items:
        is_lateral = isinstance(item, nodes.Subquery) and item.lateral
        for part in item.parts():
            _read(part, inside if is_lateral else seen, found)
    further = [part for join in node.joins for part in join.parts()]
    for part in (*node.parts(), *further):
        if not isinstance(part, nodes.Join) and all(part is not item for item in items):
            _read(part, inside, found)


def _is_apart(query: nodes.Query) -> bool:
    """Reads public tables, nothing released, and no column of a query around it."""
    tables = list(query.find_all(nodes.Table))
    own = {n.alias for n in query.walk() if isinstance(n, nodes.Item)}
    around = {c.table for c in query.find_all(nodes.ColumnRef) if c.table} - own
    return bool(tables) and all(map(is_public, tables)) and not (reads_release(query) or around)


def _fetched(query: nodes.Query, planning: Planning) -> nodes.Bare:
    return nodes.Bare(f"p{planning.publics.setdefault(query, len(planning.publics))}")
