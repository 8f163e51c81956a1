"""Set operations: UNION ALL keeps the privacy unit, and one unit then has the rows of both sides.

UNION, INTERSECT and EXCEPT hold for one unit at a time where both sides show its key in the same column: no row equals
one of another unit. They are DISTINCT over both sides' rows, over the left side's where the right has an equal one, and
over the left side's where it has none.
"""

from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import unify
from dpproxy.analysis.keys import Values
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.planner.open.relations import Open
from dpproxy.planner.open.union import open_union
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.derive import refuse_cut, renamed
from dpproxy.planner.rows.fields import Computed, Declared, Field, Identifier, no_keys, repeated
from dpproxy.planner.rows.relation import Scan
from dpproxy.planner.rows.sources import Env, Relation
from dpproxy.values.errors import SyntaxRefused, UnitLost, Unsupported
from dpproxy.values.pgtypes import Column


def set_operation(
    query: exp.SetOperation, alias: str, planning: Planning, env: Env, *, top: bool = False
) -> Relation:
    """Rows still where the sides are, open where they are. Raises PD002 where rows would lose their unit."""
    left = env.plan(query.this, alias, planning, env)
    right = env.plan(query.expression, alias, planning, env)
    if isinstance(left, Open) and isinstance(right, Open):
        return open_union(query, left, right, planning, top=top)
    if isinstance(left, Open) or isinstance(right, Open):
        raise UnitLost(
            "protected rows and open ones are not combined",
            hint="Release both sides: aggregate each of them.",
            position=position(query.expression) or position(query),
        )
    if left.owner != right.owner:
        raise UnitLost(
            "the two sides are about two kinds of privacy unit",
            hint="Ask about the tables of one privacy unit at a time.",
            position=position(query.expression) or position(query),
        )
    refuse_cut(query)
    if len(left.fields) != len(right.fields):
        raise SyntaxRefused(
            f"each {_name(query)} query must have the same number of columns",
            position=position(query.expression),
        )
    if query.args.get("distinct"):
        return env.plan(*_by_unit(query, left, right, alias, planning, env))
    if type(query) is not exp.Union:
        raise Unsupported(
            f"{_name(query)} ALL of protected rows is not answered",
            hint=f"Leave ALL out: {_name(query)} answers each row once.",
            position=position(query.expression) or position(query),
        )
    return _union(query, left, right, alias, planning)


def _name(query: exp.SetOperation) -> str:
    return type(query).__name__.upper()


def _by_unit(
    query: exp.SetOperation, left: Scan, right: Scan, alias: str, planning: Planning, env: Env
) -> tuple[exp.Select, str, Planning, Env]:
    """The SELECT DISTINCT that a set operation is, and where its names are known."""
    units = [_is_unit(a) and _is_unit(b) for a, b in zip(left.fields, right.fields, strict=True)]
    if not any(units):
        raise UnitLost(
            f"{_name(query)} of protected rows needs the privacy key in the same column of both sides",
            hint="Show the key on both sides, or write UNION ALL, which keeps equal rows.",
            position=position(query.expression) or position(query),
        )
    names = [f"c{n}" for n in range(len(units))]
    if type(query) is exp.Union:
        sides = {"#left": renamed(_union(query, left, right, "#left", planning), names)}
    else:
        sides = {"#left": renamed(left, names), "#right": renamed(right, names)}
    shown = [
        exp.alias_(_column(n, "#left"), f.name, quoted=True) for n, f in zip(names, left.fields, strict=True)
    ]
    select = exp.select(*shown).from_(_table("#left")).distinct()
    if type(query) is not exp.Union:
        alike = [
            (exp.EQ if is_unit else exp.NullSafeEQ)(this=_column(n, "#right"), expression=_column(n, "#left"))
            for n, is_unit in zip(names, units, strict=True)
        ]
        has_equal = exp.Exists(this=exp.select("1").from_(_table("#right")).where(*alike))
        select = select.where(has_equal if type(query) is exp.Intersect else exp.Not(this=has_equal))
    return select, alias, planning, replace(env, planned=sides)


def _is_unit(field: Field) -> bool:
    return isinstance(field, Identifier) and field.is_unit


def _column(name: str, table: str) -> exp.Column:
    return exp.column(name, table, quoted=True)


def _table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def _union(query: exp.SetOperation, left: Scan, right: Scan, alias: str, planning: Planning) -> Scan:
    merged = [_merged(query, a, b, planning) for a, b in zip(left.fields, right.fields, strict=True)]
    fields = [field for field, _, _ in merged]
    first = [duck.named(a, f.column.name) for f, a, _ in merged]
    second = [duck.named(b, f.column.name) for f, _, b in merged]
    unit = None
    if left.unit is not None and right.unit is not None:
        unit = duck.column(planning.reserve("unit"))
        first.append(duck.named(left.unit, unit.name))
        second.append(duck.named(right.unit, unit.name))
    union = nodes.Combined("UNION ALL", _arm(first, left), _arm(second, right))
    return Scan(
        alias,
        nodes.Subquery(union, planning.reserve("t")),
        tuple(fields),
        left.table,
        unit,
        left.owner,
        left.most + right.most,
        left.groups + right.groups,
        held=left.held and right.held,
        content=tuple(duck.column(f.column.name) for f in fields),
        is_empty=left.is_empty and right.is_empty,
        inner=tuple(dict.fromkeys((*(left.inner or (left.table,)), *(right.inner or (right.table,))))),
    )


def _arm(expressions: Sequence[nodes.Expr], scan: Scan) -> nodes.Select:
    return nodes.Select(tuple(expressions), scan.item)


def _key_of(field: Declared | Identifier) -> tuple[object, ...]:
    """What its values identify."""
    return field.link, field.parts


def _merged(query: exp.Expr, a: Field, b: Field, planning: Planning) -> tuple[Field, nodes.Expr, nodes.Expr]:
    """The common column of two, and what each side puts into it."""
    name = planning.reserve(a.column.name)
    not_null = a.column.not_null and b.column.not_null
    raw = duck.column(a.column.name), duck.column(b.column.name)
    is_alike = (
        isinstance(a, Declared)
        and isinstance(b, Declared)
        and a.domain == b.domain
        and _key_of(a) == _key_of(b)
    )
    is_key = isinstance(a, Identifier) and isinstance(b, Identifier) and _key_of(a) == _key_of(b)
    if (is_alike or is_key) and a.column.type == b.column.type:
        either = a.missing() if b.may_miss else a
        return repeated(either.moved(a.name, Column(name, a.column.type, not_null))), *raw
    scope = Scope(ExpressionLevel.ROW, lambda _: None, planning.parameters)
    one, two = a.read(exp.column(a.name)), b.read(exp.column(b.name))
    (first, second), shape = unify(query, [one, two], scope)

    def values(at: int | None) -> Values:
        left, right = a.key(at), b.key(at)
        if {left.typed.scale, right.typed.scale} != {shape.scale} or left.type.oid != right.type.oid:
            return no_keys(a.name)(at)
        return tuple(dict.fromkeys((*left.values, *right.values)))

    return Computed(a.name, Column(name, shape.type, not shape.nullable), shape, values), first, second
