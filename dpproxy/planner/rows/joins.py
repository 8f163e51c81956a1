"""FROM over protected rows: which joins keep the privacy unit, and how many rows one unit then has."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_boolean
from dpproxy.analysis.position import position
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.deadline import widen
from dpproxy.planner.rows.conditions import (
    Edge,
    conjuncts,
    conjuncts_of,
    edge_of,
    edges_of,
    equated,
    linking,
    references,
    referred,
    tell_added,
)
from dpproxy.planner.rows.equalities import hashed
from dpproxy.planner.rows.fanout import FanOut, fan_out
from dpproxy.planner.rows.misses import missing
from dpproxy.planner.rows.multiplicity import beside, preserved, together
from dpproxy.planner.rows.owners import all_of
from dpproxy.planner.rows.relation import Inner, JoinedRows, Scan, normal
from dpproxy.planner.rows.truncation import truncated
from dpproxy.values.errors import AmbiguousColumn, TooComplex, UndefinedColumn, UnitLost, Unsupported

MOST_ROWS = 1_000_000
"""Rows of one unit after joins: what one person's rows can cost is bounded."""


class FromItem(Struct, frozen=True):
    """One entry of FROM, and how it is joined to those before it: INNER, LEFT, RIGHT or FULL."""

    scan: Scan
    side: str
    on: exp.Expr | None
    using: tuple[str, ...]
    node: exp.Expr
    is_natural: bool = False
    """USING is every column that both sides show."""

    @property
    def is_protected(self) -> bool:
        """Its rows are somebody's."""
        return self.scan.owner is not None


def item_of(scan: Scan, node: exp.Expr, join: exp.Join | None) -> FromItem:
    """An entry of FROM, with the JOIN it came with. Raises ``Unsupported``."""
    if join is None:
        return FromItem(scan, "INNER", None, (), node)
    method = join.args.get("method")
    if method not in (None, "NATURAL"):
        raise Unsupported(
            f"{method} JOIN is not answered",
            hint="Write JOIN with its condition behind ON.",
            position=position(node),
        )
    using = tuple(i.name for i in join.args.get("using") or ())
    return FromItem(
        scan, join.side or "INNER", join.args.get("on"), using, node, is_natural=method is not None
    )


def join_rows(
    items: Sequence[FromItem], select: exp.Select, planning: Planning, inner: Inner, outer: JoinedRows | None
) -> tuple[JoinedRows, exp.Select]:
    """The rows of FROM and WHERE, and the SELECT with its columns written one way.

    Errors: PD002 where the unit would be lost, 0A000 for joins that are not followed, 54001 for too many rows a unit.
    """
    items, padded = _ordered(_by_names(items))
    hidden = frozenset((i.scan.alias, name) for i in items for name in (*i.using, *_own(i.scan)))
    present = _never_null(items)
    items = _nullable(items)
    named = _together(items, padded, hidden, inner, outer)
    select = normal(select, named)
    where = conjuncts(select.args.get("where"))
    on = [_on(index, items, named) for index in range(len(items))]
    items = _missing(items, where, on, named)
    if sum(1 for i in items if i.is_protected) > 1:
        parents = referred(edges_of((*where, *(c for each in on for c in each)), named))
        items = [replace(i, scan=_held(i.scan, parents.get(i.scan.name, ()), planning)) for i in items]
    rows = _together(items, padded, hidden, inner, outer)
    joiner = _Joiner(rows, planning, items, where, _without_partner(where, rows, present))
    for index, item in enumerate(items):
        joiner.place(index, item, on[index])
    return joiner.finish(), select


def _by_names(items: Sequence[FromItem]) -> list[FromItem]:
    """NATURAL joins written with USING, or ON TRUE where the sides have no name in common."""
    if not any(item.is_natural for item in items):
        return list(items)
    found: list[FromItem] = []
    before: set[str] = set()
    for item in items:
        names = [field.name for field in item.scan.fields]
        using = tuple(name for name in names if name in before)
        shown = replace(item, using=using, on=None if using else exp.true())
        found.append(shown if item.is_natural else item)
        before.update(names)
    return found


def _together(
    items: Sequence[FromItem],
    padded: frozenset[str],
    hidden: frozenset[tuple[str, str]],
    inner: Inner,
    outer: JoinedRows | None,
) -> JoinedRows:
    """The items side by side, for names to be found in."""
    first = next((i.scan for i in items if i.is_protected), items[0].scan)
    return JoinedRows(
        tuple(i.scan for i in items), first.unit, first.owner or "", first.most, first.groups, first.held,
        tuple(c for i in items for c in i.scan.content), present=items[0].scan.present, padded=padded,
        hidden=hidden, inner=inner, outer=outer,
    )  # fmt: skip


def _on(index: int, items: Sequence[FromItem], rows: JoinedRows) -> list[exp.Expr]:
    """The conditions of one JOIN, USING written out."""
    item = items[index]
    found = conjuncts_of(normal_on(item.on, rows))
    for name in item.using:
        before = [
            i.scan for i in items[:index] if i.scan.find(name) and (i.scan.alias, name) not in rows.hidden
        ]
        if not before or item.scan.find(name) is None:
            raise UndefinedColumn(
                f'column "{name}" of USING does not exist on both sides', position=position(item.node)
            )
        left, *others = before
        if others:
            raise AmbiguousColumn(
                f'common column name "{name}" appears more than once in left table',
                hint="Write ON, with the table before each column.",
                position=position(item.node),
            )
        found.append(exp.EQ(this=_written(name, left), expression=_written(name, item.scan)))
    return found


def _written(name: str, scan: Scan) -> exp.Column:
    return exp.column(name, scan.alias, quoted=True)


def _ordered(items: Sequence[FromItem]) -> tuple[list[FromItem], frozenset[str]]:
    """RIGHT and FULL joins turned into what is computed; the aliases of protected sides that are padded with NULL.

    A public table that is preserved only adds rows that count for nobody: its keys are all answered anyway.
    """
    found, padded = list(items), set()
    for index, item in enumerate(items):
        if item.side in ("RIGHT", "FULL"):
            _check_place(index, item, len(items))
            found[:2] = _turned(found[0], item)
            if item.side == "FULL" and found[1].side == "LEFT":
                padded.add(found[0].scan.alias)
    for index, item in enumerate(found):
        if item.side == "LEFT" and item.is_protected and not any(i.is_protected for i in found[:index]):
            padded.add(item.scan.alias)
            found[index] = replace(item, side="INNER")
    return found, frozenset(padded)


def _check_place(index: int, item: FromItem, count: int) -> None:
    if index != 1 or (item.side == "FULL" and count > 2):
        raise Unsupported(
            f"{item.side} JOIN is answered between the first two tables{' alone' if index == 1 else ' only'}",
            hint="Write it as a subquery of its own, with a name, and join that."
            if index == 1
            else "Write it as a LEFT JOIN, with the other table first.",
            position=position(item.node),
        )


def _turned(first: FromItem, second: FromItem) -> list[FromItem]:
    """The first two items as a LEFT JOIN with the protected one first; FULL stays where both or none are."""
    if second.side == "FULL" and first.is_protected == second.is_protected:
        return [first, second]
    if second.side == "FULL" and first.is_protected:
        return [first, replace(second, side="LEFT")]
    before = FromItem(second.scan, "INNER", None, (), second.node)
    return [before, FromItem(first.scan, "LEFT", second.on, second.using, first.node)]


def _held(scan: Scan, referred_to: Sequence[tuple[str, ...]], planning: Planning) -> Scan:
    """At most ``most`` rows of each unit, before they meet other rows of the same unit.

    Where rows refer to columns of it, there is one row for each of their values together: the join adds none. Prepared
    tables have no others, or mark them.
    """
    left = [columns for columns in referred_to if columns not in scan.once]
    marks = [duck.column(mark) for columns in referred_to if (mark := scan.once.get(columns)) is not None]
    scan = replace(scan, referred=bool(referred_to))
    if scan.unit is None or (scan.held and not left and not marks):
        return scan
    select = nodes.Select(items=(nodes.Star(),), source=scan.item, where=all_of(marks) if marks else None)
    for columns in left:
        select = truncated(select, scan.unit, scan.content, 1, within=list(map(duck.column, columns)))
    if not scan.held:
        select = truncated(select, scan.unit, scan.content, scan.most)
    item = nodes.Subquery(select, planning.reserve("t"))
    return replace(scan, item=item, held=True)


def _own(scan: Scan) -> Iterator[str]:
    """What a rewrite joined and reads by its full name: no star shows it."""
    fields = scan.fields if scan.alias.startswith(("#in", "#look")) else ()
    return (f.name for f in fields if f.name.startswith("#"))


def _never_null(items: Sequence[FromItem]) -> frozenset[str]:
    """The physical columns of items in which no row of theirs has NULL."""
    return frozenset(f.column.name for i in items for f in i.scan.fields if f.column.not_null)


def _without_partner(where: Sequence[exp.Expr], rows: JoinedRows, present: frozenset[str]) -> frozenset[str]:
    """The names of items of which WHERE asks for NULL where no row of theirs has it: ``WHERE v.person IS NULL``."""
    tests = [c for c in where if type(c) is exp.Is and not c.args.get("negate")]
    asked = [c.this.unnest() for c in tests if isinstance(c.expression, exp.Null)]
    found = [list(rows.candidates(node)) for node in asked if type(node) is exp.Column]
    return frozenset(s.name for each in found if len(each) == 1 for s, f in each if f.column.name in present)


def _optional(items: Sequence[FromItem]) -> list[bool]:
    """Which items an outer join may leave without a row."""
    full = any(i.side == "FULL" for i in items)
    return [full or i.side == "LEFT" for i in items]


def _nullable(items: Sequence[FromItem]) -> list[FromItem]:
    """The columns that an outer join may fill with NULL."""
    return [
        replace(i, scan=_may_be_null(i.scan)) if optional else i
        for i, optional in zip(items, _optional(items), strict=True)
    ]


def _may_be_null(scan: Scan) -> Scan:
    return replace(
        scan, fields=tuple(f.moved(f.name, replace(f.column, not_null=False)) for f in scan.fields)
    )


def _missing(
    items: Sequence[FromItem], where: Sequence[exp.Expr], on: Sequence[list[exp.Expr]], rows: JoinedRows
) -> list[FromItem]:
    """The items with NULL as a key, where an outer join may leave them without a row that what follows keeps."""
    found: list[FromItem] = []
    for place, (item, optional) in enumerate(zip(items, _optional(items), strict=True)):
        if not optional:
            found.append(item)
            continue
        later = zip(items[place + 1 :], on[place + 1 :], strict=True)
        inner = [c for i, each in later if i.side == "INNER" for c in each]
        known = replace(rows, scans=tuple(i.scan for i in (*found, *items[place:])))
        found.append(replace(item, scan=missing(item.scan, on[place], [*where, *inner], known)))
    return found


class _Joiner:
    """Places the items one after the other; inner joins leave their conditions in one pool with WHERE."""

    def __init__(
        self,
        rows: JoinedRows,
        planning: Planning,
        items: Sequence[FromItem],
        where: list[exp.Expr],
        without_partner: frozenset[str],
    ) -> None:
        self.rows = rows
        self.without_partner = without_partner
        self.absent: list[nodes.Expr] = []
        """What holds of the rows that an outer join found no partner for, where no others are asked for."""
        self.dropped = 1
        """By how much outer joins multiply rows that are then left out."""
        self.planning = planning
        self.items = items
        self.pool = where
        self.joins: list[nodes.Join] = []
        self.placed: list[FromItem] = []
        self.unit: nodes.Expr | None = None
        self.owner = ""
        self.most = self.groups = 1
        self.met = FanOut()
        """By how much outer joins multiply rows and groups."""
        self.padded = 0
        """Rows that only the second side of a FULL JOIN has."""
        self.preserved_times = 1
        self.preserved: int | None = None
        """The most rows of the first two items, where that is known better than by multiplying."""
        self.held = True
        self.public: list[FromItem] = []
        """Items whose fan-out follows from the pool."""
        self._compiled: dict[int, list[nodes.Expr]] = {}
        self._edges: dict[int, Edge | None] = {}
        self.linked: list[Scan] = []
        """Protected items of inner joins."""
        self.followed: list[tuple[str, str]] = []
        """For each protected item of an outer join an item before it whose unit it has, and itself."""

    def place(self, index: int, item: FromItem, on: list[exp.Expr]) -> None:
        """Join one more item."""
        match item.side:
            case "INNER":
                if index:
                    self.joins.append(nodes.Join(item.scan.item, kind="CROSS"))
                self.pool += on
                self._inner(item)
            case "LEFT":
                self._outer(item, on, "LEFT")
            case _:
                self._outer(item, on, "FULL")
        self.placed.append(item)

    def _inner(self, item: FromItem) -> None:
        scan = item.scan
        if not item.is_protected:
            self.public.append(item)
            return
        self._same_owner(item)
        if not self.linked:
            self.unit, self.owner, self.held = scan.unit, scan.owner or "", scan.held
        self.linked.append(scan)

    def _same_owner(self, item: FromItem) -> None:
        owners = {i.scan.owner for i in self.placed if i.is_protected}
        if owners - {item.scan.owner}:
            raise UnitLost(
                f'"{item.scan.table}" is about another kind of privacy unit',
                hint="Ask about the tables of one privacy unit at a time.",
                position=position(item.node),
            )
        if owners and item.scan.unit is None:
            raise UnitLost(
                f'rows of "{item.scan.table}" are privacy units themselves: joined, they lose it',
                hint="Join it with public tables only.",
                position=position(item.node),
            )

    def _outer(self, item: FromItem, on: list[exp.Expr], side: str) -> None:
        """LEFT or FULL JOIN of one more item with all before."""
        scan = item.scan
        self._settle()
        if not item.is_protected:
            self._multiply(
                fan_out([scan], self._compiled_all(on), [i.scan for i in self.placed], self.planning)
            )
            self.joins.append(self._join(scan, on, [], side))
            return
        self._same_owner(item)
        edges = edges_of(on, self.rows)
        links = linking(edges)
        tell_added(edges, self.planning)
        # A key around the subquery would say nothing about the items that are joined here.
        here = {i.scan.name for i in self.placed if i.is_protected}
        edge = next((e for e in links if scan.name in e.names and e.other(scan).name in here), None)
        if edge is None:
            raise self._lost(item)
        other = edge.other(scan)
        self.followed += [(e.other(scan).name, scan.name) for e in links if scan.name in e.names]
        rest = [c for c in on if self._edge(c) is None]
        equations = [*dict.fromkeys(e for found in edges for e in equated(found))]
        self.joins.append(self._join(scan, rest, equations, side))
        followed = references(edges)
        before = [i.scan for i in self.placed if i.is_protected]
        times, groups = beside(scan, before, followed)
        if side == "LEFT" and scan.unit is not None and scan.name in self.without_partner:
            # A partner's unit is that of the row it meets, so never NULL: each row is left once, or not at all.
            self.absent.append(nodes.IsNull(scan.unit))
            self.dropped, times, groups = self.dropped * times, 1, 1
        elif side == "FULL":
            self.unit = duck.call("coalesce", other.unit or nodes.Null(), scan.unit or nodes.Null())
            self.padded = scan.most
        elif len(self.placed) == 1:
            self.preserved = preserved(before[0], scan, followed)
            if self.preserved is not None:  # counted with the first item, as long as no inner join follows
                self.preserved_times, times = times, 1
        self.most, self.groups = self.most * times, self.groups * groups
        self.held = self.held and scan.held

    def _join(self, scan: Scan, on: list[exp.Expr], equations: list[nodes.Expr], side: str) -> nodes.Join:
        conditions = [*equations, *self._compiled_all(on)] or [nodes.TRUE]
        return nodes.Join(scan.item, on=all_of(conditions), kind=side)

    def _edge(self, node: exp.Expr) -> Edge | None:
        if id(node) not in self._edges:
            self._edges[id(node)] = edge_of(node, self.rows)
        return self._edges[id(node)]

    def _lost(self, item: FromItem) -> UnitLost:
        linked = {f.name for f in item.scan.fields if f.link is not None}
        written = [name for name in linked if not name.startswith("#")]  # the others are of a rewrite
        names = ", ".join(sorted(written))
        return UnitLost(
            f'the join of "{item.scan.table}" does not follow the privacy unit',
            hint=f"Join it on its privacy key or a declared reference, {item.scan.alias}.{names}."
            if names
            else "Join it on its privacy key or a declared reference.",
            position=position(item.node),
        )

    def _compiled_all(self, conditions: Sequence[exp.Expr]) -> list[nodes.Expr]:
        scope = self.rows.scope(self.planning.parameters)
        return [compile_boolean(c, scope).sql for c in conditions]

    def finish(self) -> JoinedRows:
        """Equate the units of inner joins, and count what public tables multiply."""
        edges = [edge for condition in self.pool if (edge := self._edge(condition)) is not None]
        self._check_linked(linking(edges))
        tell_added(edges, self.planning)
        rest = self._rest()
        self._settle()
        most, groups = together(self.linked, references(edges))
        if self.preserved is not None:
            most = self.preserved if len(self.linked) == 1 else most * self.preserved_times
        most, groups = most * self.most, groups * self.groups
        if self.padded:  # rows with a partner, or without one on either side
            most, groups = max(most, self.linked[0].most + self.padded), groups + self.padded
        if most > MOST_ROWS:
            raise TooComplex(
                f"one privacy unit may have {most} rows in this join, more than {MOST_ROWS}",
                hint="Join public tables on a column that is unique in them.",
                position=position(self.items[-1].node),
            )
        if self.linked:
            widen(self.planning, most * self.dropped, min(s.most for s in self.linked), self.met)
        return replace(
            self.rows, unit=self.unit, owner=self.owner, most=most, groups=min(most, groups),
            held=self.held, joins=tuple(self.joins),
            conditions=(*dict.fromkeys(e for found in edges for e in equated(found)), *self.absent, *rest),
        )  # fmt: skip

    def _rest(self) -> list[nodes.Expr]:
        """The conditions of the pool so far that are no equal keys, compiled once and hashed."""
        for condition in self.pool:
            if id(condition) not in self._compiled and self._edge(condition) is None:
                compiled = self._compiled_all([condition])
                is_alone = len(self.items) == 1 and self.rows.outer is None
                self._compiled[id(condition)] = compiled if is_alone else hashed(compiled)
        return [c for condition in self.pool for c in self._compiled.get(id(condition), ())]

    def _settle(self) -> None:
        """Count what public items of inner joins multiply.

        Before each outer join, which may add a row for each of theirs that has no partner; and at the end.
        """
        placed = [i.scan for i in self.placed if i not in self.public]
        self._multiply(fan_out([i.scan for i in self.public], self._rest(), placed, self.planning))
        self.public.clear()

    def _multiply(self, grown: FanOut) -> None:
        """Each row meets so many public ones."""
        self.met *= grown
        self.most, self.groups = self.most * grown.most, self.groups * grown.most

    def _check_linked(self, edges: Sequence[Edge]) -> None:
        """Every protected item is reached from the first one by equal keys.

        Along the condition of an outer join only towards the item that may be left out: then nothing is equal.
        """
        reached = {s.name for s in self.linked[:1]}
        while (
            more := {
                *(name for e in edges if e.names & reached for name in e.names),
                *(to for start, to in self.followed if start in reached),
            }
            - reached
        ):
            reached |= more
        lost = next((i for i in self.placed if i.is_protected and i.scan.name not in reached), None)
        if lost is not None:
            raise self._lost(lost)


def normal_on(node: exp.Expr | None, rows: JoinedRows) -> exp.Expr | None:
    """An ON condition with its columns written one way."""
    if node is None:
        return None
    holder = exp.Select(expressions=[node])
    first: exp.Expr = normal(holder, rows).expressions[0]
    return first
