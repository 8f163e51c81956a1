"""Subqueries inside expressions over rows: IN, EXISTS and single values.

A subquery over public tables is a fact. One over protected rows may decide about a row of the same privacy unit only:
their units are equated. A single value over protected rows is one person's, where the units are equated, and otherwise
is released first and then a constant.
"""

from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from itertools import islice, product

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import compare
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.instants import instant
from dpproxy.analysis.literals import from_value
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, as_double, boolean, null
from dpproxy.planner.keys.grouping import has_aggregates
from dpproxy.planner.open.limits import carried
from dpproxy.planner.open.place import placed
from dpproxy.planner.open.relations import Open
from dpproxy.planner.open.scan import open_scan
from dpproxy.planner.open.stages import staged_scan
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.deadline import nested
from dpproxy.planner.rewrites.correlation import Grouped, grouped_by_row, groups_by_row, one_of_rows
from dpproxy.planner.rewrites.public_keys import only_of_rows
from dpproxy.planner.rows.conditions import (
    Edge,
    conjuncts,
    edge_between,
    edges_of,
    equated,
    key_column,
    linking,
    tell_added,
)
from dpproxy.planner.rows.derive import expanded
from dpproxy.planner.rows.equalities import hashed
from dpproxy.planner.rows.from_rows import rows_of
from dpproxy.planner.rows.owners import all_of
from dpproxy.planner.rows.people import one_person
from dpproxy.planner.rows.relation import Inner, JoinedRows, Scan
from dpproxy.planner.rows.sources import Env, apart, entries, with_ctes
from dpproxy.sql.quoting import table_text
from dpproxy.values.errors import (
    InvalidParameter,
    Refusal,
    SyntaxRefused,
    TooComplex,
    TypeMismatch,
    UndefinedColumn,
    UndefinedTable,
    UnitLost,
    Unsupported,
)
from dpproxy.values.pgtypes import DATE, FLOAT8, TEXTS, TIMESTAMP, TIMESTAMPTZ

_FOLLOW = "Compare the privacy keys: inside the subquery, or as what stands before IN and what it selects."


def inner_of(planning: Planning, env: Env) -> Inner:
    """Compiles the subqueries of expressions over rows."""
    return _Predicates(planning, env)


class _Predicates:
    def __init__(self, planning: Planning, env: Env) -> None:
        self._planning = planning
        self._env = env

    def __call__(self, node: exp.Expr, rows: JoinedRows) -> Typed | None:
        match node:
            case exp.Exists():
                return self._exists(node, rows)
            case exp.In() if node.args.get("query") is not None:
                return self._in(node, rows)
            case exp.Subquery():
                return self._single(node, rows)
            case exp.Window():
                raise Unsupported(
                    "window functions over rows are not answered", hint="Compute it from the released answer."
                )
            case _:
                return None

    def _inside(self, select: exp.Select, rows: JoinedRows) -> tuple[JoinedRows, exp.Select]:
        """The rows of a subquery, which sees the columns around it."""
        env = with_ctes(select, replace(self._env, outer=rows))
        found = entries(select, self._planning, env)
        return rows_of(select, found, self._planning, env, inner_of(self._planning, env))

    def _exists(self, node: exp.Exists, rows: JoinedRows) -> Typed:
        select = node.this
        if not _is_plain(select):
            raise Unsupported(
                "EXISTS takes a plain SELECT here",
                hint="Leave out GROUP BY and LIMIT.",
                position=position(node),
            )
        with nested(self._planning) as meet:
            inside, select = self._inside(select, rows)
            if inside.owner and not self._follows(inside, select, rows):
                raise self._lost("EXISTS", node)
            meet(inside, [], rows)
        return _exists(inside, [])

    def _follows(
        self, inside: JoinedRows, select: exp.Expr, rows: JoinedRows, compared: Sequence[Edge] = ()
    ) -> bool:
        """Whether conditions, and what IN compares, equate a key of the subquery with one of the rows around it."""
        where = conjuncts(select.args.get("where")) if isinstance(select, exp.Select) else []
        edges = [*edges_of(where, inside), *compared]
        tell_added(compared, self._planning)
        own, around = {s.name for s in inside.scans}, {s.name for s in rows.scans}
        return inside.owner == rows.owner and any(e.names & own and e.names & around for e in linking(edges))

    def _lost(self, what: str, node: exp.Expr) -> UnitLost:
        return UnitLost(
            f"{what} over protected rows must follow the privacy unit", hint=_FOLLOW, position=position(node)
        )

    def _in(self, node: exp.In, rows: JoinedRows) -> Typed:
        """As EXISTS with an equality; where NULL is not as good as false, NULL as in SQL.

        Rows of nobody are not there: a NULL among the keys of others never decides.
        """
        with nested(self._planning) as meet:
            inside, compared = self._matched(node, rows)
            meet(inside, [c for pair in compared for c in pair.equal], rows)
        return _is_in(inside, compared, node)

    def _matched(self, node: exp.In, rows: JoinedRows) -> tuple[JoinedRows, list["_Pair"]]:
        """The rows of the subquery, and what is compared with them."""
        query = node.args["query"].this
        wanted = [
            w.unnest() for w in (node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this])
        ]
        if isinstance(query, exp.Select) and _is_plain(query):
            inside, select = self._inside(query, rows)
            shown = [item.node.unnest() for item in expanded(select, inside)]
        else:
            inside, shown, query, followed = self._related_to(query, rows, node)
            wanted += followed
        if len(shown) != len(wanted):
            raise SyntaxRefused("subquery has too many or too few columns", position=position(node))
        pairs = list(zip(wanted, shown, strict=True))
        edges = [_edge(a, rows, b, inside) for a, b in pairs]
        found = [edge for edge in edges if edge is not None]
        if inside.owner and not self._follows(inside, query, rows, found):
            raise self._lost("IN", node)
        scope, around = inside.scope(self._planning.parameters), rows.scope(self._planning.parameters)
        return inside, [
            _linked(edge) if edge is not None else _compared(node, a, b, around, scope)
            for (a, b), edge in zip(pairs, edges, strict=True)
        ]

    def _related_to(
        self, query: exp.Expr, rows: JoinedRows, node: exp.In
    ) -> tuple[JoinedRows, list[exp.Expr], exp.Expr, list[exp.Expr]]:
        """``_related``, the subquery, and what of the row around it is compared with its last columns."""
        try:
            return *self._related(query, node), query, []
        except (UndefinedColumn, UndefinedTable) as error:
            if not isinstance(query, exp.Select) or not _reads_around(query, rows, error):
                raise
        with nested(self._planning):
            inside, normal = self._inside(query, rows)
        found = groups_by_row(normal, inside.has)
        if found is None or not _as_false(node):
            raise Unsupported(
                "a grouped subquery of IN follows the row around it by equalities, and where NULL counts as false",
                hint="Compare its keys with IN: (a, b) IN (SELECT x, y FROM t GROUP BY x, y).",
                position=position(node),
            )
        query, around = found
        return *self._related(query, node), query, around

    def _related(self, query: exp.Expr, node: exp.Expr) -> tuple[JoinedRows, list[exp.Expr]]:
        """A grouped or combined subquery as one item."""
        relation = apart(query, "in", self._planning, replace(self._env, outer=None))
        if isinstance(relation, Open):
            if relation.released:
                relation = staged_scan(relation, "in", self._planning, position(node))
            else:
                relation = open_scan(relation, "in", self._planning)
        return _alone(relation), [exp.column(f.name, "in") for f in relation.fields]

    def _single(self, node: exp.Subquery, rows: JoinedRows) -> Typed:
        select = node.this
        env = with_ctes(select, replace(self._env, outer=rows))
        if isinstance(select, exp.Select):
            found = entries(select, self._planning, env)
            if any(e.is_protected for e in found):
                with nested(self._planning) as meet:
                    inside, normal = rows_of(
                        select, found, self._planning, env, inner_of(self._planning, env)
                    )
                    if self._follows(inside, normal, rows):
                        meet(inside, [], rows)
                        return one_person(inside, normal, self._planning)
                    beside = grouped_by_row(normal, inside.has)
                if beside is not None:
                    return self._of_group(beside, rows, node)
        try:
            relation = self._apart(select, rows, node)
        except UnitLost:
            beside = self._public_groups(select, rows)
            if beside is None:
                raise
            return self._of_group(beside, rows, node)
        if len(relation.columns) != 1:
            raise SyntaxRefused("subquery must return only one column", position=position(node))
        return self._released(relation, node) if relation.released else self._fact(relation, node, rows)

    def _public_groups(self, select: exp.Expr, rows: JoinedRows) -> Grouped | None:
        """A subquery over public tables that follows the row around it, by what it follows; None for others."""
        if not isinstance(select, exp.Select):
            return None
        with nested(self._planning):
            inside, normal = self._inside(select, rows)
        if inside.owner:
            return None
        one = one_of_rows(normal)
        found = grouped_by_row(one or normal, inside.has)
        if found is not None and one is not None:
            self._check_one(found, select)
        return found

    def _check_one(self, found: Grouped, node: exp.Expr) -> None:
        """Of public rows, at most one is in each group: a subquery for one value has no other to choose."""
        several = apart(found.of_several(), "", self._planning, replace(self._env, outer=None))
        if not isinstance(several, Open) or self._planning.context.facts(duck.all_of(several.query, 1)):
            raise _several(node)

    def _of_group(self, beside: Grouped, rows: JoinedRows, node: exp.Subquery) -> Typed:
        """The value of the group that the row around it is in: groups are released first, where they are no facts."""
        beside = only_of_rows(beside, node, self._planning, self._env)
        relation = apart(beside.select, "", self._planning, replace(self._env, outer=None))
        if not isinstance(relation, Open):
            raise self._lost("a subquery for one value", node)
        try:
            scan = (
                staged_scan(relation, "one", self._planning, position(node))
                if relation.released
                else open_scan(relation, "one", self._planning)
            )
        except TooComplex as error:
            table = table_text(self._planning.first(rows.scans[0].table))
            hint = f"Follow a column with fewer values; or ask SELECT count(*) FROM {table};"  # noqa: S608 - a hint
            raise TooComplex(error.message, hint=hint, position=error.position) from None
        *keys, value = [f.read(exp.column(f.name)) for f in scan.fields]
        equal = beside.equal(keys, rows.scope(self._planning.parameters), node)
        with nested(self._planning) as meet:
            meet(_alone(scan), equal, rows)
        one = nodes.Select((duck.call("max", value.sql),), scan.item, where=all_of(equal))
        return beside.found(value, one)

    def _apart(self, select: exp.Expr, rows: JoinedRows, node: exp.Expr) -> Open:
        """The subquery without what is around it. Raises PD002 where it needs that, but not to follow a person."""
        try:
            relation = apart(select, "", self._planning, replace(self._env, outer=None))
        except (UndefinedColumn, UndefinedTable) as error:
            if not _reads_around(select, rows, error):
                raise
            raise UnitLost(
                "a subquery for one value that follows the row around it must follow the privacy unit",
                hint="Leave the other condition out of the subquery, or compare the privacy keys.",
            ) from None
        if not isinstance(relation, Open):
            raise self._lost("a subquery for one value", node)
        return relation

    def _fact(self, relation: Open, node: exp.Expr, around: JoinedRows) -> Typed:
        """A value of public tables: a constant."""
        typed = relation.columns[0].typed
        is_instant = typed.type.oid == TIMESTAMPTZ.oid
        query = carried(relation) if is_instant else relation.query
        rows = self._planning.context.facts(duck.all_of(query, 2))
        if len(rows) > 1:
            raise _several(node)
        value: object = rows[0][0] if rows else None
        if value is None:
            return null(typed.type)
        if typed.is_number and typed.scale:
            value = _fraction(value, typed.scale)
        if is_instant and isinstance(value, datetime):
            return instant(value, around.scope(self._planning.parameters))
        return from_value(value, typed.type)

    def _released(self, relation: Open, node: exp.Expr) -> Typed:
        """A value that is released first: a parameter of what is computed next."""
        if relation.rows > 1:
            raise Unsupported(
                "a subquery for one value needs an aggregate without GROUP BY",
                hint="Leave GROUP BY out, or end the subquery with ORDER BY 1 LIMIT 1.",
                position=position(node),
            )
        typed = relation.columns[0].typed
        is_text = typed.type.oid in TEXTS and typed.longest is not None  # what one row costs is bounded
        if not (typed.is_number or is_text or typed.type.oid in (DATE.oid, TIMESTAMP.oid)):
            raise TypeMismatch(
                f"a released value of type {typed.type.shown} is not compared with rows",
                hint="Write IN before the subquery, for its one row.",
                position=position(node),
            )
        held = as_double(typed) if typed.is_number else typed.sql
        query = nodes.Select((held,), nodes.Subquery(relation.shown, nodes.Bare("s")))
        place = nodes.Parameter(self._planning.take(placed(query, self._planning)))
        nullable = typed.nullable or not _has_a_row(node.this)
        if not typed.is_number:
            name = "VARCHAR" if is_text else typed.type.name.upper()
            return Typed(duck.cast(place, name), typed.type, nullable=nullable, longest=typed.longest)
        kind = FLOAT8 if typed.scale is None else typed.type
        return Typed(duck.cast(place, "DOUBLE"), kind, None, nullable=nullable)


def _reads_around(select: exp.Expr, rows: JoinedRows, error: Refusal) -> bool:
    """Whether what a subquery alone does not know is a name of the rows around it."""
    columns, aliases = list(select.find_all(exp.Column)), {s.alias for s in rows.scans}
    outside = {c.name for c in columns if rows.knows(c.name)}
    outside |= {c.table for c in columns if c.table in aliases}
    return any(f'"{name}"' in error.message for name in outside)


def _has_a_row(select: exp.Expr) -> bool:
    """Whether it is aggregates of all rows, whatever these are."""
    others = ("group", "having", "limit", "offset")
    return isinstance(select, exp.Select) and has_aggregates(select) and not any(map(select.args.get, others))


def _several(node: exp.Expr) -> InvalidParameter:
    return InvalidParameter(
        "more than one row returned by a subquery used as an expression",
        hint="Take one value of them, such as the max.",
        position=position(node),
    )


def _fraction(value: object, scale: int) -> object:
    return Fraction(int(str(value)), 10**scale)


def _is_plain(select: exp.Expr) -> bool:
    return isinstance(select, exp.Select) and not (
        any(select.args.get(a) for a in ("group", "having", "limit", "offset", "distinct"))
        or has_aggregates(select)
    )


def _edge(a: exp.Expr, around: JoinedRows, b: exp.Expr, inside: JoinedRows) -> Edge | None:
    return edge_between(key_column(a, around), key_column(b, replace(inside, outer=None)))


def _alone(scan: Scan) -> JoinedRows:
    return JoinedRows(
        (scan,),
        scan.unit,
        scan.owner or "",
        scan.most,
        scan.groups,
        scan.held,
        scan.content,
        present=scan.present,
    )


class _Pair(Struct, frozen=True):
    """A value of IN beside a column of its subquery; of two keys only rows with the same privacy unit are compared."""

    equal: tuple[nodes.Expr, ...]
    outer: nodes.Expr | None
    """The value, where it may be NULL."""
    inner: nodes.Expr | None
    """The column, where it may be NULL and that decides."""
    is_linked: bool = False
    is_part: bool = False
    """Of a foreign key, and NULL on either side says more than that rows belong to nobody."""


def _linked(edge: Edge) -> _Pair:
    """Whether others have rows is not looked at: a key that is NULL is neither in nor out."""
    (_, field), (_, other) = edge.left, edge.right
    held = duck.column(field.column.name)
    is_part = not edge.is_link and not (field.column.not_null and other.column.not_null)
    return _Pair(
        tuple(equated(edge)), None if field.column.not_null else held, None, is_linked=True, is_part=is_part
    )


def _compared(node: exp.In, a: exp.Expr, b: exp.Expr, around: Scope, scope: Scope) -> _Pair:
    left, right = compile_expression(a, around), compile_expression(b, scope)
    equal = compare(node, exp.EQ, left, right, around).sql
    return _Pair((equal,), left.sql if left.nullable else None, right.sql if right.nullable else None)


MOST_UNKNOWN = 2
"""Values of one IN that may be NULL, each with the ways in which it can be."""


def _is_in(inside: JoinedRows, pairs: Sequence[_Pair], node: exp.In) -> Typed:
    """True where one row is equal; else NULL where one is neither equal nor different."""
    found = _exists(inside, [c for p in pairs for c in p.equal])
    unknown = [] if _as_false(node) else _unknown(inside, pairs, node)
    if not unknown:
        return found
    any_of = unknown[0] if len(unknown) == 1 else nodes.Or(tuple(unknown))
    sql = duck.case([(found.sql, nodes.TRUE), (any_of, nodes.Null())], nodes.FALSE)
    return boolean(sql, nullable=True)


def _unknown(inside: JoinedRows, pairs: Sequence[_Pair], node: exp.In) -> list[nodes.Expr]:
    """Where NULL decides, a test for each way: each looks up equal values, and compares no row with every other."""
    if len(pairs) > MOST_UNKNOWN or any(p.is_part for p in pairs):
        raise Unsupported(
            f"NOT IN compares at most {MOST_UNKNOWN} values with a subquery, and no columns of a foreign key that may "
            "be NULL",
            hint="Write NOT EXISTS with one comparison for each value.",
            position=position(node),
        )
    found = [_is_null(p.outer) for p in pairs if p.is_linked and p.outer is not None]
    ways = [_ways(p) for p in pairs]
    for chosen in islice(product(*ways), 1, None):  # the first is equality throughout
        around = [c for way in chosen for c in way.around]
        exists = _exists(inside, [c for way in chosen for c in way.inside]).sql
        found.append(nodes.Paren(all_of([*around, exists])))
    return found


class _Way(Struct, frozen=True):
    """How two values can be not different: conditions on a row of the subquery, and on the row around it."""

    inside: tuple[nodes.Expr, ...] = ()
    around: tuple[nodes.Expr, ...] = ()


def _ways(pair: _Pair) -> list[_Way]:
    ways = [_Way(inside=pair.equal)]
    if pair.inner is not None:
        ways.append(_Way(inside=(_is_null(pair.inner),)))
    if pair.outer is not None and not pair.is_linked:
        ways.append(_Way(around=(_is_null(pair.outer),)))
    return ways


def _is_null(value: nodes.Expr) -> nodes.Expr:
    return nodes.Paren(nodes.IsNull(value))


def _as_false(node: exp.Expr) -> bool:
    """Whether NULL leaves a row out where this stands, as false does: in WHERE, ON and WHEN, under AND and OR."""
    above = node.parent
    while isinstance(above, exp.And | exp.Or | exp.Paren):
        node, above = above, above.parent
    if isinstance(above, exp.If):
        return node.arg_key == "this" and isinstance(above.parent, exp.Case) and above.parent.this is None
    return isinstance(above, exp.Where | exp.Having) or (isinstance(above, exp.Join) and node.arg_key == "on")


def _exists(inside: JoinedRows, further: Sequence[nodes.Expr]) -> Typed:
    conditions = [*inside.present, *inside.conditions, *hashed(further)]
    where = all_of(conditions) if conditions else None
    select = nodes.Select((duck.integer(1),), inside.scans[0].item, inside.joins, where)
    return boolean(nodes.Exists(select), nullable=False)
