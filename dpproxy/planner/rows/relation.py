"""A relation of protected rows: where it comes from, whose rows they are, and how many of them one person can have."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.refusals import unknown_column
from dpproxy.planner.rows.fields import Field, Identifier
from dpproxy.planner.select_list import items
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import AmbiguousColumn, GroupingError, UndefinedTable
from dpproxy.values.structs import PartlyShown

Inner = Callable[[exp.Expr, "JoinedRows"], Typed | None]
"""Compiles IN, EXISTS and scalar subqueries of an expression over rows; None for other nodes."""


EARLIER = "an earlier stage"
"""The source of what the statement itself released before, where its name is the analyst's."""


class ReleasedStage(Struct, frozen=True):
    """What the next stage knows of a released relation: its query, and of its rows the number and what is unique."""

    query: nodes.Query
    names: tuple[str, ...]
    """The physical columns that hold ``c0...``."""
    rows: int
    unique: frozenset[str]
    """No two rows share the values of these columns; empty where none are known."""

    def met(self, equated: frozenset[str]) -> int:
        """How many of its rows share one value of some columns, at most."""
        return 1 if self.unique and self.unique <= equated else max(1, self.rows)


class Scan(Struct, frozen=True, dict=True):
    """One item of FROM. Its physical columns have names that no other item of the statement has.

    ``unit`` is the column with the resolved privacy unit: None where a row is the unit, and in public relations, which
    have no ``owner`` either. A unit counts with at most ``most`` rows and in at most ``groups`` groups; ``held`` says
    that no unit has more rows, by construction.
    """

    alias: str
    item: nodes.Item
    fields: tuple[Field, ...]
    table: str
    unit: nodes.ColumnRef | None = None
    owner: str | None = None
    most: int = 1
    groups: int = 1
    held: bool = False
    present: tuple[nodes.Expr, ...] = ()
    """What must hold of a row that belongs to somebody, where the item does not ask for it itself."""
    content: tuple[nodes.ColumnRef, ...] = ()
    """The columns that make up the row."""
    referred: bool = False
    """At most one row of a unit for each value of the column that others refer to: joined along the reference, it adds
    no rows."""
    once: "Mapping[tuple[str, ...], str | None]" = field(default_factory=dict)
    """Columns of which each value is in one row of a unit at most, among the rows in which another column holds."""
    known: tuple[exp.Expr, ...] = ()
    """Conditions over its fields that hold of every row, as they are written."""
    is_empty: bool = False
    """Known to have no rows, whatever the data."""
    whole: bool = False
    """A protected table under its own names, cut to units' rows and to nothing else."""
    inner: tuple[str, ...] = ()
    """The tables that a subquery's rows are from."""
    stage: ReleasedStage | None = None
    """Of a relation that an earlier stage of the statement releases."""

    @property
    def name(self) -> str:
        """What tells the item apart from all others of the statement, those around a subquery too."""
        first = self.content[0]
        return first.name

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field_.name: field_ for field_ in reversed(self.fields)}

    def find(self, name: str) -> Field | None:
        """The first field of a name."""
        return self._by_name.get(name)


class JoinedRows(PartlyShown, Struct, frozen=True):
    """Scans joined: ``FROM tree joins WHERE conditions``."""

    HIDDEN = frozenset({"inner"})

    scans: tuple[Scan, ...]
    unit: nodes.Expr | None
    owner: str
    most: int
    groups: int
    held: bool
    content: tuple[nodes.ColumnRef, ...]
    joins: tuple[nodes.Join, ...] = ()
    present: tuple[nodes.Expr, ...] = ()
    conditions: tuple[nodes.Expr, ...] = ()
    padded: frozenset[str] = frozenset()
    """Aliases of protected items whose side an outer join fills with NULL for public rows: these must count for 0."""
    hidden: frozenset[tuple[str, str]] = frozenset()
    """(alias, column) of the second column of USING: only its qualified name finds it."""
    inner: Inner = lambda _node, _rows: None
    outer: "JoinedRows | None" = None
    """The relation around a subquery."""

    @property
    def tables(self) -> str:
        """The relation for people."""
        return ", ".join(self.sources)

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the tables that the rows are from."""
        own = ((s.inner or ((s.table,) if s.stage is None else (EARLIER,))) for s in self.scans)
        return tuple(dict.fromkeys(name for names in own for name in names))

    @property
    def released(self) -> bool:
        """Whether an earlier stage releases one of its items."""
        return any(s.stage is not None for s in self.scans)

    def met(self, scan: Scan) -> Sequence[nodes.Expr]:
        """What holds of every row that has a partner in an item; all others have NULL there."""
        joins = [j for j in self.joins if j.item is scan.item and j.kind != "CROSS"]
        return [j.on for j in joins if j.kind == "LEFT" and j.on is not None] if joins else self.conditions

    def scope(self, parameters: Parameters) -> Scope:
        """The leaves for the expression compiler."""
        return Scope(ExpressionLevel.ROW, self.leaf, parameters)

    def leaf(self, node: exp.Expr) -> Typed | None:
        """A column, or a subquery's answer."""
        if isinstance(node, exp.AggFunc):
            raise GroupingError("aggregate function calls may not stand here", position=position(node))
        if type(node) is exp.Column:
            return self.field(node).read(node)
        return self.inner(node, self)

    def knows(self, name: str) -> bool:
        """Whether an unqualified name is a column here."""
        return any(s.find(name) is not None for s in self.scans)

    def field(self, node: exp.Column) -> Field:
        """What a name means. Raises 42703 alike for missing and undeclared columns, 42702, 42P01."""
        found = [f for _, f in self.candidates(node)]
        if len(found) > 1:
            raise AmbiguousColumn(f'column reference "{node.name}" is ambiguous', position=position(node))
        if found:
            return found[0]
        if self.outer is not None:
            return self.outer.field(node)
        if node.table and all(s.alias != node.table for s in self.scans):
            raise UndefinedTable(
                f'missing FROM-clause entry for table "{node.table}"', position=position(node)
            )
        scans = [s for s in self.scans if not node.table or s.alias == node.table]
        names = (
            f.name
            for s in scans
            for f in s.fields
            if not isinstance(f, Identifier) and (s.alias, f.name) not in self.hidden
        )
        raise unknown_column(node, scans[0].table, names)

    def candidates(self, node: exp.Column) -> Iterator[tuple[Scan, Field]]:
        """Every column of this relation that the name can mean."""
        table, name = node.table, node.name
        for scan in self.scans:
            if not table or scan.alias == table:
                found = scan.find(name)
                if found is not None and (table or (scan.alias, name) not in self.hidden):
                    yield scan, found

    def has(self, node: exp.Column) -> bool:
        """Whether the name can mean a column of this relation."""
        return next(self.candidates(node), None) is not None

    def where(self, conditions: list[nodes.Expr]) -> "JoinedRows":
        """The same rows under further conditions."""
        return replace(self, conditions=(*self.conditions, *conditions))


def own_nodes(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of a SELECT that belong to it, not to a subquery."""
    return tree.walk(prune=lambda node: node is not tree and isinstance(node, exp.Query))


def normal(select: exp.Select, rows: JoinedRows) -> exp.Select:
    """A copy in which one column is written one way: bare where there is one item in FROM, qualified elsewhere.

    A bare name in ORDER BY is a column of the SELECT list first.
    """
    copy = select.copy()
    lone = len(rows.scans) == 1
    order = copy.args.get("order")
    entries = [e.this for e in (order.expressions if order is not None else ())]
    bare = [node for node in entries if type(node) is exp.Column and not node.table]
    shown = {item.name for item in items(select)} if bare else set()
    kept = {id(node) for node in bare if node.name in shown}
    columns = [n for n in own_nodes(copy) if type(n) is exp.Column and not isinstance(n.this, exp.Star)]
    for node in [n for n in columns if id(n) not in kept]:
        found = list(rows.candidates(node))
        if found:  # in quotes and without, it is one
            node.this.set("quoted", identifier(node.name) != node.name)
        if node.table and not found and all(s.alias != node.table for s in rows.scans) and rows.outer is None:
            raise UndefinedTable(
                f'missing FROM-clause entry for table "{node.table}"', position=position(node)
            )
        if lone and node.table == rows.scans[0].alias:
            node.set("table", None)
        elif not lone and len(found) == 1:
            node.set("table", exp.to_identifier(found[0][0].alias, quoted=True))
    return copy
