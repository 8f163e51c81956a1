"""Keys of what an earlier stage of the statement released: those of the declared column that rows share with it.

Its values are known once it is released, after the keys are listed. Keys that none of them gives are left out of the
answer, which is made of released values alone.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.derived import in_form
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.keys import GroupKey
from dpproxy.analysis.typed import Typed
from dpproxy.planner.open.stages import STAGE, chosen, equalities
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.conditions import conjuncts_of, has_value
from dpproxy.planner.rows.fields import Computed, Field
from dpproxy.planner.rows.relation import JoinedRows, ReleasedStage
from dpproxy.policy.model import Scalar
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import DATE, INTEGERS, TEXTS

_MET = nodes.Bare("met")


def declared_key(node: exp.Column, rows: JoinedRows) -> GroupKey | None:
    """Of a column that was released: the key of a declared one that is equal to it, or NULL, in every row.

    None for others.
    """
    found = _partner(node, rows) if rows.released else None
    if found is None:
        return None
    released, key, _ = found
    return _or_null(key, node, released) if released.may_miss else replace(key, name=node.name)


def _partner(node: exp.Column, rows: JoinedRows) -> tuple[Field, GroupKey, Field] | None:
    """The field that was released, and the declared one that it is joined to, with its key before."""
    for scan, released in rows.candidates(node):
        sides = [
            duck.text(one)
            for equality in (equalities(rows.met(scan)) if scan.stage is not None else ())
            for one, other in ((equality.left, equality.right), (equality.right, equality.left))
            if type(other) is nodes.ColumnRef and other.name == released.column.name
        ]
        for field in (f for s in rows.scans if sides and s.stage is None for f in s.fields):
            try:
                key = field.key(None)
            except Refusal:
                continue
            if duck.text(key.raw) in sides or duck.text(key.typed.sql) in sides:
                return released, key, field
    return None


def _or_null(key: GroupKey, node: exp.Column, released: Field) -> GroupKey | None:
    """The key of the released column, which is NULL where a row has no partner; None where it is of another kind."""
    typed = released.read(node)
    if key.is_discovered or (typed.type, typed.scale) != (key.typed.type, key.typed.scale):
        return None
    values = key.values if None in key.values else (*key.values, None)
    return replace(key, name=node.name, typed=typed, raw=typed.sql, rest="any", span=None, values=values)


def in_stages(
    node: exp.Expr, key: GroupKey, held: nodes.ColumnRef, rows: JoinedRows, planning: Planning
) -> nodes.Expr | None:
    """Which values of a key, in the column that holds it, follow from what was released; None where all may."""
    query = among(node, [key.raw, key.typed.sql], rows, planning) or _of_declared(key.raw, rows, planning)
    if query is None:
        return None
    is_one, [value] = nodes.InQuery(held, query), query.items
    if None not in key.values and not key.is_discovered:
        return is_one
    is_none = nodes.InQuery(nodes.TRUE, replace(query, items=(nodes.IsNull(value),)))
    return nodes.Paren(nodes.Or((is_one, nodes.And((nodes.IsNull(held), is_none)))))


def among(
    node: exp.Expr, forms: Sequence[nodes.Expr], rows: JoinedRows, planning: Planning
) -> nodes.Select | None:
    """The released values of which an expression, read in one of the ``forms``, has one in every row, NULL apart.

    None where no join says so.
    """
    if (
        type(node) is exp.Column
        and isinstance(field := rows.field(node), Computed)
        and field.among is not None
    ):
        return field.among
    found = chosen(forms, rows.conditions, planning) if planning.stages else None
    return _met_values(node, rows, planning) if found is None and rows.released else found


def _met_values(node: exp.Expr, rows: JoinedRows, planning: Planning) -> nodes.Select | None:
    """What an expression over one released relation is for its rows, and where there is none.

    None where it reads anything else.
    """
    node, found = _of_released(node, rows), dict[exp.Expr, Typed]()
    stages: dict[str, ReleasedStage] = {}
    for column in node.find_all(exp.Column):
        scan, field = next(rows.candidates(column), (None, None))
        if scan is None or field is None or scan.stage is None or declared_key(column, rows) is None:
            return None
        stages[scan.name] = scan.stage
        place = scan.stage.names.index(field.column.name)
        found[column] = replace(field.read(column), sql=duck.column(f"c{place}", _MET), nullable=True)
    if len(stages) != 1:
        return None
    [stage] = stages.values()
    scope = rows.scope(planning.parameters)
    typed = compile_expression(node, replace(scope, leaf=lambda n: found.get(n) or scope.leaf(n)))
    if typed.is_number and typed.scale is None:
        return None
    form = in_form("", typed, ())
    names = [f"c{place}" for place in range(len(stage.names))]
    of_rows = nodes.Select(tuple(duck.column(n, STAGE) for n in names), nodes.Subquery(stage.query, STAGE))
    of_none = nodes.Select(tuple(duck.named(nodes.Null(), n) for n in names))
    both = nodes.Subquery(nodes.Combined("UNION ALL", of_rows, of_none), _MET)
    return None if form is None else nodes.Select((form.raw,), both)


def _of_released(node: exp.Expr, rows: JoinedRows) -> exp.Expr:
    """A copy that reads released columns where these have values: ``s.k`` in CASE WHEN s.k IS NOT NULL THEN t.k."""
    copy = exp.Paren(this=node.copy())
    partners = {c: found[2] for c in copy.find_all(exp.Column) if (found := _partner(c, rows)) is not None}
    for case in copy.find_all(exp.Case):
        branches = case.args["ifs"]
        arms = [(branch.args["true"], branch.this) for branch in branches]
        if case.args.get("default") is not None and len(branches) == 1:
            arms.append((case.args["default"], exp.Not(this=branches[0].this.copy())))
        for arm, test in arms:
            _equate(
                arm, [c for c in partners if any(has_value(t, c) for t in conjuncts_of(test))], partners, rows
            )
    inner: exp.Expr = copy.this
    return inner


def _equate(
    arm: exp.Expr, known: Sequence[exp.Column], partners: Mapping[exp.Column, Field], rows: JoinedRows
) -> None:
    """In place: released columns that have a value, for what is equal to them."""
    for column in [*arm.find_all(exp.Column)]:
        instead = next((c for c in known if partners[c] == rows.field(column)), None)
        if instead is not None:
            column.replace(instead.copy())


MOST_DECLARED = 1_000
"""Values of a column that an expression is computed of where it is answered."""
LEAST_WHOLE = -(2**15)
"""The least number that all types of whole numbers hold."""


def _of_declared(raw: nodes.Expr, rows: JoinedRows, planning: Planning) -> nodes.Select | None:
    """What an expression over one declared column and released lists is for each value of that column.

    A value that is not declared stands for all that are not, and NULL is one, too. None where it reads anything else.
    """
    listed: list[str] = []

    def released(node: nodes.Node) -> nodes.Node | None:
        found = _released(node, planning)
        if found is None or not isinstance(node, nodes.Subquery):
            return None
        listed.extend(found.names)
        items = tuple(duck.named(duck.column(f"c{place}", STAGE), n) for place, n in enumerate(found.names))
        return replace(node, query=nodes.Select(items, nodes.Subquery(found.query, STAGE)))

    read = raw.transform(released)
    own = {c.name for c in read.find_all(nodes.ColumnRef) if c.table is None} - {*listed}
    values = _values_of(own, rows) if listed and len(own) == 1 else ()
    if not values or read.has(nodes.Parameter) or not isinstance(read, nodes.Expr):
        return None
    source = nodes.Values(tuple((value,) for value in values), _MET, tuple(own))
    return nodes.Select((read,), source)


def _released(node: nodes.Node, planning: Planning) -> ReleasedStage | None:
    """The stage whose rows, each a key of its own, an item of FROM hands on."""
    if not isinstance(node, nodes.Subquery) or not isinstance(node.query, nodes.Select):
        return None
    names = tuple(item.name for item in node.query.items if isinstance(item, nodes.Named))
    return next((s for s in planning.stages if s.names == names and s.unique == {*names}), None)


def _values_of(own: set[str], rows: JoinedRows) -> Sequence[nodes.Expr]:
    """The values of a declared column, one that is none of them, and NULL; none of too many, or of other types."""
    fields = [f for s in rows.scans if s.stage is None for f in s.fields if f.column.name in own]
    try:
        [key] = [field.key(None) for field in fields]
    except (Refusal, ValueError):
        return ()
    values, oid = [value for value in key.values if value is not None], key.typed.type.oid
    to = next((name for kinds, name in _TYPES if oid in kinds), None)
    if to is None or key.is_discovered or not values or len(values) > MOST_DECLARED:
        return ()
    other = _other(values)
    return () if other is None else [duck.cast(duck.constant(v), to) for v in (*values, other, None)]


_TYPES = ((INTEGERS, "BIGINT"), (TEXTS, "VARCHAR"), ((DATE.oid,), "DATE"))


def _other(values: Sequence[Scalar]) -> Scalar | None:
    """One that is none of them: behind the last text or day, before the first number."""
    if texts := [v for v in values if isinstance(v, str)]:
        return f"{max(texts)}x"
    if numbers := [v for v in values if isinstance(v, int)]:
        return min(numbers) - 1 if min(numbers) > LEAST_WHOLE else None
    last = max(v for v in values if isinstance(v, date))
    return last + timedelta(1) if last < date.max else None
