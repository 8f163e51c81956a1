"""FROM over open relations: what its names mean, how its entries are joined, and how many rows that can give."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.documents import stored_rows
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import compare, unify
from dpproxy.analysis.expressions import compile_boolean
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.answer import UNPROVED
from dpproxy.planner.open.limits import check_join
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.planner.open.sizes import Pin, SizedSource, size_of_inner, size_of_outer
from dpproxy.planner.open.subqueries import AggregateAround, Around, Subqueries
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.conditions import conjuncts, conjuncts_of
from dpproxy.planner.rows.owners import all_of
from dpproxy.planner.rows.relation import Scan, own_nodes
from dpproxy.planner.rows.scans import public_value
from dpproxy.planner.rows.sources import FromEntry, Lateral
from dpproxy.policy.documents import declared_fields
from dpproxy.policy.model import TablePolicy
from dpproxy.values.errors import AmbiguousColumn, GroupingError, UndefinedColumn, UndefinedTable, Unsupported


class OpenRows(Struct, frozen=True):
    """The entries of FROM joined.

    ``visible`` are the columns that a bare name finds and ``*`` lists: those of USING once, and first.
    """

    sources: tuple[SizedSource, ...]
    visible: tuple[OpenColumn, ...]
    joins: tuple[nodes.Join, ...]
    rows: int
    around: Around | None = None
    run: tuple[SizedSource, ...] = ()
    """Inner joins since the last outer one, all before that as one; not in ``rows`` until they are settled."""
    pins: tuple[Pin, ...] = ()
    """What conditions leave one value in the run."""

    def find(self, node: exp.Column) -> OpenColumn | None:
        """The column of a name, None where there is none here. Raises 42702."""
        if node.table:
            found = [
                c for s in self.sources if s.alias == node.table for c in s.columns if c.name == node.name
            ]
        else:
            found = [c for c in self.visible if c.name == node.name]
        if len(found) > 1:
            raise AmbiguousColumn(f'column reference "{node.name}" is ambiguous', position=position(node))
        return found[0] if found else None

    def column(self, node: exp.Column) -> Typed:
        """What a name means here or around. Raises 42703, 42702, 42P01."""
        found = self.find(node)
        if found is not None:
            return found.typed
        if self.around is not None:
            return self.around(node)
        if node.table and all(s.alias != node.table for s in self.sources):
            raise UndefinedTable(
                f'missing FROM-clause entry for table "{node.table}"', position=position(node)
            )
        listed = [s.columns for s in self.sources if s.alias == node.table] if node.table else [self.visible]
        known = ", ".join(dict.fromkeys(c.name for columns in listed for c in columns))
        hint = f"Columns here: {known}." if known else None
        raise UndefinedColumn(f'column "{node.name}" does not exist', hint=hint, position=position(node))

    def knows(self, name: str) -> bool:
        """Whether an unqualified name is a column here."""
        return any(c.name == name for c in self.visible)

    def listed(self, table: str) -> Iterator[tuple[exp.Column, OpenColumn]]:
        """What ``*`` or ``table.*`` stands for."""
        if not table:
            for column in self.visible:
                yield self._named(column), column
            return
        found = [s for s in self.sources if s.alias == table]
        for source in found:
            for column in source.columns:
                yield _written(column.name, source.alias), column

    def _named(self, column: OpenColumn) -> exp.Column:
        alias = next((s.alias for s in self.sources if any(c is column for c in s.columns)), None)
        return _written(column.name, alias)

    def normal(self, tree: exp.Expr) -> None:
        """Write each column of these in one way, in place on a fresh tree."""
        for node in [
            n for n in own_nodes(tree) if type(n) is exp.Column and not isinstance(n.this, exp.Star)
        ]:
            found = self.find(node)
            if found is not None:
                node.this.set("quoted", value=True)
                node.set("table", self._named(found).args.get("table"))


def _written(name: str, alias: str | None) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(alias, quoted=True), copy=False)


def open_rows(
    select: exp.Select,
    found: Sequence[FromEntry],
    planning: Planning,
    scope_of: Callable[[OpenRows], Scope],
    around: Around | None,
) -> OpenRows:
    """Join the entries one after the other; ``scope_of`` compiles conditions over those that were joined so far."""
    if not found:
        return OpenRows((), (), (), 1, around)
    first = _source(found[0], planning)
    pool = conjuncts(select.args.get("where"))
    rows = OpenRows((first,), first.columns, (), first.rows, around, (first,))
    rows = replace(rows, pins=tuple(p for c in pool for p in _pins(c, rows, first)))
    for entry in found[1:]:
        rows = _joined(rows, _source(entry, planning, rows), entry, planning, scope_of, pool)
    return _settled(rows, planning, found[-1])


def _settled(rows: OpenRows, planning: Planning, entry: FromEntry) -> OpenRows:
    """With the size of the inner joins so far. Raises ``TooComplex``."""
    size = size_of_inner(rows.run, rows.pins, planning)
    check_join(size, [s.rows for s in rows.sources], entry.node)
    return replace(rows, rows=size)


def _source(entry: FromEntry, planning: Planning, before: OpenRows | None = None) -> SizedSource:
    name = planning.reserve("q")
    relation, is_lateral = entry.relation, isinstance(entry.relation, Lateral)
    if isinstance(relation, Lateral):
        relation = _lateral(entry, relation, planning, before)
    columns: list[OpenColumn]
    if isinstance(relation, TablePolicy):
        listed = planning.context.schema.tables[relation.name]
        columns = [OpenColumn(c.name, _qualified(public_value(c, c.name), name)) for c in listed]
        item: nodes.Item = stored_rows(relation.name, declared_fields(relation), nodes.Bare(name))
        counted = nodes.Select((duck.count_star(),), nodes.Table(relation.name))
        [[size]] = planning.context.facts(counted)
        return SizedSource(
            entry.alias,
            item,
            _named(columns, entry.names_for(len(columns))),
            int(str(size)),
            None,
            relation.name,
        )
    if isinstance(relation, Scan):
        raise AssertionError("rows of somebody are not open")  # noqa: TRY004 - a fault of ours
    columns = [
        replace(
            c,
            typed=replace(c.typed, sql=duck.column(f"c{i}", name), presence=None, is_constant=False),
            reach=c.reach and replace(c.reach, table=name),
            mean=c.mean and c.mean.of(name),
        )
        for i, c in enumerate(relation.columns)
    ]
    item = nodes.Subquery(relation.query, nodes.Bare(name), lateral=is_lateral)
    return SizedSource(
        entry.alias,
        item,
        _named(columns, entry.names_for(len(columns))),
        relation.rows,
        None if is_lateral else relation.unique,
        released=relation.released,
        further=None if is_lateral else relation.further,
        chosen=relation.chosen,
    )


def _lateral(entry: FromEntry, lateral: Lateral, planning: Planning, before: OpenRows | None) -> Open:
    """What LATERAL gives for each row before it. Raises a ``Refusal``."""
    if before is None:
        raise AssertionError("the first entry of FROM sees no other")
    around = Subqueries(planning, lateral.env, before.column)
    try:
        return around.planned(entry.node.this, entry.node)
    except AggregateAround:
        raise GroupingError(
            "aggregate functions are not allowed in FROM clause of their own query level",
            hint="Aggregate in a subquery before it, and read that.",
            position=position(entry.node),
        ) from None


def _qualified(typed: Typed, name: str) -> Typed:
    return replace(
        typed,
        sql=typed.sql.replaced(lambda n: replace(n, table=name) if isinstance(n, nodes.ColumnRef) else None),
    )


def _named(columns: Sequence[OpenColumn], names: Sequence[str]) -> tuple[OpenColumn, ...]:
    return tuple(replace(c, name=names[i]) if i < len(names) else c for i, c in enumerate(columns))


def _joined(
    rows: OpenRows, source: SizedSource, entry: FromEntry, planning: Planning, scope_of: Callable[[OpenRows], Scope],
    pool: Sequence[exp.Expr],
) -> OpenRows:  # fmt: skip
    join = entry.join
    if join is None or join.args.get("method") not in (None, "NATURAL"):
        raise Unsupported(
            "this kind of JOIN is not answered",
            hint="Write JOIN with its condition behind ON.",
            position=position(entry.node),
        )
    names = [i.name for i in join.args.get("using") or ()]
    if join.args.get("method") == "NATURAL":
        names = [c.name for c in rows.visible if any(c.name == o.name for o in source.columns)]
    side = str(join.args.get("side") or "")
    both = replace(rows, sources=(*rows.sources, source), visible=(*rows.visible, *source.columns))
    scope = scope_of(both)
    alone = OpenRows((source,), source.columns, (), 1)
    pairs = [(_using(n, rows, entry), _using(n, alone, entry)) for n in names]
    on = join.args.get("on")
    conditions = [compare(entry.node, exp.EQ, a.typed, b.typed, scope).sql for a, b in pairs]
    conditions += [compile_boolean(on, scope).sql] if on is not None else []
    merged = [_merged(a, b, side, entry, scope) for a, b in pairs]
    rest = (
        *(c for c in rows.visible if c.name not in names),
        *(c for c in source.columns if c.name not in names),
    )
    both = replace(both, visible=(*merged, *rest))
    written = [*conjuncts_of(on), *([] if side else pool)]
    pins = [pin for a, b in pairs for pin in (Pin(a, (b,)), Pin(b, (a,)))]
    pins += [pin for c in written for pin in _pins(c, both, source)]
    if conditions:
        added = nodes.Join(source.item, all_of(conditions), side)
    else:
        added = nodes.Join(source.item, nodes.TRUE if side else None, side or "CROSS")
    both = replace(both, joins=(*rows.joins, added))
    is_lateral = isinstance(entry.relation, Lateral)
    if not (side or is_lateral):
        return replace(both, run=(*rows.run, source), pins=(*rows.pins, *pins))
    if is_lateral and side not in ("", "LEFT"):
        raise Unsupported(
            f"a subquery behind {side} JOIN LATERAL does not see what stands before it",
            hint="Write what it sees first, and then LEFT JOIN LATERAL with ON true.",
            position=position(entry.node),
        )
    rows = _settled(rows, planning, entry)
    size = size_of_outer(rows.sources, rows.rows, source, pins, side, planning)
    check_join(size, [s.rows for s in both.sources], entry.node)
    both = _marked(both, source, side, is_noisy=_reads_noise(on, names, added, both))
    columns = tuple(c for s in both.sources for c in s.columns)
    return replace(both, rows=size, run=(SizedSource("", source.item, columns, size, None),), pins=())


def _reads_noise(on: exp.Expr | None, names: Sequence[str], added: nodes.Join, both: OpenRows) -> bool:
    """Whether released values may decide which rows meet: those of a subquery, too."""
    noisy = {c.name for s in both.sources for c in s.columns if c.accuracy is not None}
    written = {n.name for n in on.find_all(exp.Column)} if on is not None else set()
    return bool(noisy & {*written, *names}) or (added.on is not None and added.on.has(nodes.Release))


def _marked(both: OpenRows, source: SizedSource, side: str, *, is_noisy: bool) -> OpenRows:
    """Of sides that noise leaves out the columns say so: these are NULL there, which an expression may ask for."""
    first = both.sources[:-1]
    joined_by_noise = len(first) > 1 and any(c.accuracy is not None for s in first for c in s.columns)
    before = joined_by_noise or any(s.chosen for s in first)
    sides = [
        (first, side in ("RIGHT", "FULL") and (is_noisy or before)),
        ((source,), side in ("LEFT", "FULL") and (is_noisy or source.chosen)),
    ]
    left_out = [c for sources, is_out in sides if is_out for s in sources for c in s.columns]
    marked = {id(c): replace(c, accuracy=UNPROVED) for c in left_out if c.accuracy is None}
    sources = tuple(
        replace(s, columns=tuple(marked.get(id(c), c) for c in s.columns), chosen=s.chosen or is_noisy)
        for s in both.sources
    )
    return replace(both, sources=sources, visible=tuple(marked.get(id(c), c) for c in both.visible))


def _using(name: str, rows: OpenRows, entry: FromEntry) -> OpenColumn:
    found = rows.find(exp.column(name))
    if found is None:
        raise UndefinedColumn(
            f'column "{name}" specified in USING clause does not exist on both sides',
            position=position(entry.node),
        )
    return found


def _merged(a: OpenColumn, b: OpenColumn, side: str, entry: FromEntry, scope: Scope) -> OpenColumn:
    """The one column that USING makes of two."""
    if side != "FULL":
        return b if side == "RIGHT" else a
    forms, shape = unify(entry.node, [a.typed, b.typed], scope)
    is_noisy = a.accuracy is not None or b.accuracy is not None
    return OpenColumn(
        a.name,
        replace(shape, sql=duck.call("coalesce", *forms)),
        accuracy=UNPROVED if is_noisy else None,
        copies=max(a.copies, b.copies),
    )


_EXACT = (
    exp.Column, exp.Identifier, exp.Literal, exp.Cast, exp.DataType, exp.Paren, exp.Add, exp.Sub, exp.Neg,
)  # fmt: skip
"""What has one value for each combination of values of its columns."""


def _pins(node: exp.Expr, both: OpenRows, source: SizedSource) -> Iterator[Pin]:
    """What an equality leaves one value where it is about the new entry: either side, for each value of the other."""
    node = node.unnest()
    if type(node) is not exp.EQ:
        return
    columns = {id(n): both.find(n) for n in own_nodes(node) if type(n) is exp.Column}
    if None in columns.values() or not any(c is own for c in columns.values() for own in source.columns):
        return
    for side, other in ((node.this, node.expression), (node.expression, node.this)):
        column = columns.get(id(_unshifted(side.unnest(), both)))
        if column is not None and all(isinstance(n, _EXACT) for n in other.walk()):
            yield Pin(
                column, tuple(c for n in other.find_all(exp.Column) if (c := columns[id(n)]) is not None)
            )


def _unshifted(node: exp.Expr, both: OpenRows) -> exp.Expr:
    """The column of a sum of it and whole numbers. Of numbers that are not exact, two may have one sum."""
    is_sum = isinstance(node, exp.Add | exp.Sub)
    while isinstance(node, exp.Add | exp.Sub):
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(node, exp.Add) and isinstance(left, exp.Literal):
            left, right = right, left
        if not (isinstance(right, exp.Literal) and right.is_int):
            return exp.Null()
        node = left
    found = both.find(node) if type(node) is exp.Column else None
    is_exact = found is not None and found.typed.is_number and found.typed.scale is not None
    return node if is_exact or not is_sum else exp.Null()
