"""A SELECT over open relations: nothing in it is private any more, so it is compiled as it is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean, compile_expression
from dpproxy.analysis.keys import Values
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Level, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.errors import AmbiguousColumn, GroupingError, UndefinedColumn, UndefinedTable, Unsupported
from dpproxy.pgtypes import FLOATS, INTEGERS, NUMERIC, TEXT, UNKNOWN, Column
from dpproxy.planner.answer import Item, is_star, items, limits, ordering, ordinal
from dpproxy.planner.empty import has_no_rows, has_one_row
from dpproxy.planner.fields import Public, no_keys
from dpproxy.planner.open import Open, OpenColumn
from dpproxy.planner.open_aggregates import AGGREGATES, aggregate
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Scan, own_nodes
from dpproxy.planner.scans import public_value
from dpproxy.planner.sources import Entry, Env
from dpproxy.policy.model import TablePolicy


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of FROM: its item, the name its columns are qualified by, and these."""

    alias: str
    item: exp.Expr
    columns: tuple[OpenColumn, ...]
    """``typed.sql`` is qualified."""


@dataclass(frozen=True, slots=True)
class OpenRows:
    """The entries of FROM, and how names are found in them."""

    sources: tuple[Source, ...]
    hidden: frozenset[tuple[str, str]] = frozenset()

    def column(self, node: exp.Column) -> OpenColumn:
        """What a name means. Raises 42703, 42702, 42P01."""
        found = [
            c
            for s in self.sources
            if node.table in ("", s.alias)
            for c in s.columns
            if c.name == node.name and (node.table or (s.alias, c.name) not in self.hidden)
        ]
        if len(found) > 1:
            raise AmbiguousColumn(f'column reference "{node.name}" is ambiguous', position=position(node))
        if found:
            return found[0]
        if node.table and all(s.alias != node.table for s in self.sources):
            raise UndefinedTable(
                f'missing FROM-clause entry for table "{node.table}"', position=position(node)
            )
        known = ", ".join(c.name for s in self.sources for c in s.columns if node.table in ("", s.alias))
        raise UndefinedColumn(
            f'column "{node.name}" does not exist', hint=f"Columns here: {known}.", position=position(node)
        )

    def knows(self, name: str) -> bool:
        """Whether an unqualified name is a column here."""
        return any(c.name == name for s in self.sources for c in s.columns)

    def leaf(self, node: exp.Expr) -> Typed | None:
        """A column's value."""
        if isinstance(node, exp.AggFunc):
            raise GroupingError("aggregate function calls may not stand here", position=position(node))
        return self.column(node).typed if type(node) is exp.Column else None


def open_select(select: exp.Select, found: Sequence[Entry], planning: Planning, env: Env) -> Open:
    """Plan one SELECT over open relations. Raises a ``Refusal``."""
    del env
    released = any(isinstance(e.relation, Open) and e.relation.released for e in found)
    sources = tuple(_source(e, planning, released=released) for e in found)
    rows = OpenRows(sources, _hidden(found))
    scope = Scope(Level.RELEASED, rows.leaf, planning.parameters)
    listed = _expanded(select, rows)
    keys = _group_keys(select, listed, rows)
    grouped = bool(keys) or any(isinstance(n, exp.AggFunc) for p in _places(select) for n in own_nodes(p))
    inside = Scope(Level.RELEASED, _grouped_leaf(rows, scope, keys), planning.parameters) if grouped else scope
    values = [_finished(compile_expression(i.node, inside), inside, i.node) for i in listed]
    query = exp.Select(
        expressions=[duck.named(v.sql, f"c{i}") for i, v in enumerate(values)],
        from_=exp.From(this=sources[0].item),
        joins=[_join(s, e, rows, scope) for s, e in zip(sources[1:], found[1:], strict=True)],
    )
    where, having = select.args.get("where"), select.args.get("having")
    if where is not None:
        query.set("where", exp.Where(this=compile_boolean(where.this, scope).sql))
    if keys:
        query.set("group", exp.Group(expressions=[compile_expression(k, scope).sql for k in keys]))
    if having is not None:
        query.set("having", exp.Having(this=compile_boolean(having.this, inside).sql))
    if select.args.get("distinct"):
        query.set("distinct", exp.Distinct())
    if select.args.get("order") is not None:
        query.set("order", exp.Order(expressions=ordering(select, listed, values, inside)))
    limits(select, query, inside)
    columns = tuple(_column(n, i, v, rows) for n, (i, v) in enumerate(zip(listed, values, strict=True)))
    is_single = (grouped and not keys) or has_one_row(select)
    return Open(query, columns, released, has_no_rows(select), is_single)


def _column(index: int, item: Item, value: Typed, rows: OpenRows) -> OpenColumn:
    """A released count stays a count where it is passed on as it is."""
    held = replace(value, sql=duck.column(f"c{index}"), is_constant=False, presence=None)
    node = item.node.unnest()
    if type(node) is exp.Column:
        origin = rows.column(node)
        return OpenColumn(item.name, held, origin.floor, origin.error)
    return OpenColumn(item.name, held)


def _source(entry: Entry, planning: Planning, *, released: bool) -> Source:
    name = planning.reserve("q")
    alias = exp.TableAlias(this=exp.to_identifier(name))
    relation = entry.relation
    if isinstance(relation, TablePolicy):
        listed = planning.context.schema.tables[relation.name]
        columns = [OpenColumn(c.name, public_value(c, c.name)) for c in listed]
        item: exp.Expr = exp.Table(this=exp.to_identifier(relation.name, quoted=True), alias=alias)
        if released:
            select = exp.Select(
                expressions=[duck.column(c.name) for c in listed],
                from_=exp.From(this=exp.Table(this=exp.to_identifier(relation.name, quoted=True))),
            )
            item = exp.Table(this=exp.to_identifier(_fetched(select, planning)), alias=alias)
        qualified = [
            replace(c, typed=_qualified(public_value(p, p.name), name)) for c, p in zip(columns, listed, strict=True)
        ]
        return Source(entry.alias, item, _named(qualified, entry.names))
    if not isinstance(relation, Open):
        raise AssertionError("rows of somebody are not open")
    if released and not relation.released:
        item = exp.Table(this=exp.to_identifier(_fetched(relation.query, planning)), alias=alias)
    else:
        item = exp.Subquery(this=relation.query, alias=alias)
    held = [
        replace(c, typed=replace(c.typed, sql=duck.column(f"c{i}", name), presence=None))
        for i, c in enumerate(relation.columns)
    ]
    return Source(entry.alias, item, _named(held, entry.names))


def _qualified(typed: Typed, name: str) -> Typed:
    sql = typed.sql.copy()
    for column in [sql] if isinstance(sql, exp.Column) else list(sql.find_all(exp.Column)):
        column.set("table", exp.to_identifier(name, quoted=True))
    return replace(typed, sql=sql)


def _named(columns: Sequence[OpenColumn], names: Sequence[str]) -> tuple[OpenColumn, ...]:
    return tuple(replace(c, name=names[i]) if i < len(names) else c for i, c in enumerate(columns))


def _fetched(query: exp.Expr, planning: Planning) -> str:
    """A public query whose rows are brought to where the releases are."""
    sql = duck.text(query)
    if sql not in planning.publics:
        planning.publics.append(sql)
    return f"p{planning.publics.index(sql)}"


def _hidden(found: Sequence[Entry]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (e.alias, i.name) for e in found if e.join is not None for i in e.join.args.get("using") or ()
    )


def _join(source: Source, entry: Entry, rows: OpenRows, scope: Scope) -> exp.Join:
    join = entry.join
    if join is None or join.args.get("method"):
        raise Unsupported(
            "NATURAL JOIN is not answered",
            hint="Write the condition: JOIN ... ON a.x = b.x.",
            position=position(entry.node),
        )
    conditions: list[exp.Expr] = []
    if join.args.get("on") is not None:
        conditions.append(compile_boolean(join.args["on"], scope).sql)
    for name in (i.name for i in join.args.get("using") or ()):
        left = rows.column(exp.column(name))
        right = rows.column(exp.column(name, source.alias))
        conditions.append(exp.EQ(this=left.typed.sql, expression=right.typed.sql))
    if not conditions:
        return exp.Join(this=source.item, kind="CROSS")
    on = conditions[0]
    for condition in conditions[1:]:
        on = exp.And(this=on, expression=condition)
    return exp.Join(this=source.item, side=join.side or None, on=on)


def _places(select: exp.Select) -> list[exp.Expr]:
    return [*select.expressions, *(select.args[a] for a in ("having", "order") if select.args.get(a) is not None)]


def _finished(value: Typed, scope: Scope, node: exp.Expr) -> Typed:
    return settle(value, TEXT, scope, node) if value.type is UNKNOWN else value


def _expanded(select: exp.Select, rows: OpenRows) -> tuple[Item, ...]:
    found: list[Item] = []
    for item in items(select):
        if not is_star(item.node):
            found.append(item)
            continue
        table = item.node.table if isinstance(item.node, exp.Column) else ""
        for source in rows.sources:
            if table in ("", source.alias):
                found += [
                    Item(duck.column(c.name, source.alias), c.name)
                    for c in source.columns
                    if table or (source.alias, c.name) not in rows.hidden
                ]
    return tuple(found)


def _group_keys(select: exp.Select, listed: tuple[Item, ...], rows: OpenRows) -> list[exp.Expr]:
    group = select.args.get("group")
    keys = []
    for node in group.expressions if group is not None else ():
        target = node.unnest()
        if isinstance(target, exp.Literal) and not target.is_string:
            target = listed[ordinal(target, len(listed), "GROUP BY")].node.unnest()
        elif type(target) is exp.Column and not target.table and not rows.knows(target.name):
            target = next((i.node.unnest() for i in listed if i.name == target.name), target)
        keys.append(target)
    return keys


def _grouped_leaf(rows: OpenRows, scope: Scope, keys: list[exp.Expr]) -> Callable[[exp.Expr], Typed | None]:
    columns = [rows.column(k) for k in keys if type(k) is exp.Column]

    def leaf(node: exp.Expr) -> Typed | None:
        if node in keys:
            return compile_expression(node, scope)
        if type(node) in AGGREGATES:
            return aggregate(node, scope)
        if isinstance(node, exp.AggFunc):
            raise Unsupported(f"{type(node).__name__.lower()}() is not answered here", position=position(node))
        if type(node) is exp.Column:
            found = rows.column(node)
            if any(found is c for c in columns):
                return found.typed
            raise GroupingError(
                f'column "{node.name}" must appear in the GROUP BY clause or be used in an aggregate function',
                position=position(node),
            )
        return None

    return leaf


def open_scan(relation: Open, alias: str, planning: Planning) -> Scan:
    """A public subquery beside protected rows."""
    cut = relation.query.find(exp.Limit, exp.Offset, exp.Window)
    if cut is not None:
        raise Unsupported(
            "a public subquery beside protected rows is taken whole",
            hint="Leave out LIMIT, OFFSET and window functions: how often a row meets a person's is counted before.",
            position=position(cut),
        )
    source = f"({duck.text(relation.query)})"
    names = [planning.reserve(c.name) for c in relation.columns]
    inner = exp.Subquery(this=relation.query, alias=exp.TableAlias(this=exp.to_identifier("s")))
    select = exp.Select(
        expressions=[duck.named(duck.column(f"c{i}"), n) for i, n in enumerate(names)], from_=exp.From(this=inner)
    )
    fields = tuple(
        Public(c.name, Column(n, c.typed.type), _shape(c.typed), _keys(planning, source, f"c{i}", c), source, f"c{i}")
        for i, (c, n) in enumerate(zip(relation.columns, names, strict=True))
    )
    item = exp.Subquery(
        this=select, alias=exp.TableAlias(this=exp.to_identifier(planning.reserve("t"), quoted=True))
    )
    summed = relation.query.find(exp.AggFunc) is not None
    unstable = frozenset(
        n for n, c in zip(names, relation.columns, strict=True) if summed and c.typed.scale is None
    )
    content = tuple(duck.column(n) for n in names)
    return Scan(alias, item, fields, alias, content=content, held=True, unstable=unstable)


def _shape(typed: Typed) -> Callable[[str], Typed]:
    return lambda name: replace(typed, sql=duck.column(name), is_constant=False, presence=None)


def _keys(
    planning: Planning, source: str, name: str, column: OpenColumn
) -> Callable[[int | None], Values]:
    """The values the column has; those of exact numbers are whole steps already."""
    kind = column.typed.type
    if kind.oid in FLOATS or (kind.oid == NUMERIC.oid and column.typed.scale is None):
        return no_keys(column.name)

    def keys(at: int | None) -> Values:
        del at
        sql = f'SELECT DISTINCT "{name}" FROM {source} ORDER BY 1 NULLS LAST LIMIT 100001'  # noqa: S608 - our text
        values = tuple(row[0] for row in planning.context.facts(sql))
        return tuple(int(v) if kind.oid in INTEGERS and v is not None else v for v in values)  # type: ignore[arg-type]

    return keys
