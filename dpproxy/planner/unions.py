"""Set operations: UNION ALL keeps the privacy unit, and one unit then has the rows of both sides."""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import unify
from dpproxy.analysis.keys import Values
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Level, Scope
from dpproxy.planner.derive import refuse_cut
from dpproxy.planner.fields import Computed, Declared, Field, Identifier, no_keys
from dpproxy.planner.open import Open
from dpproxy.planner.open_union import open_union
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Scan
from dpproxy.planner.sources import Env, Relation
from dpproxy.values.errors import SyntaxRefused, UnitLost
from dpproxy.values.pgtypes import Column


def set_operation(query: exp.SetOperation, alias: str, planning: Planning, env: Env) -> Relation:
    """UNION ALL over rows; any set operation over open relations. Raises PD002 where rows would lose their unit."""
    left = env.plan(query.this, alias, planning, env)
    right = env.plan(query.expression, alias, planning, env)
    if isinstance(left, Open) and isinstance(right, Open):
        return open_union(query, left, right, planning)
    if isinstance(left, Open) or isinstance(right, Open):
        raise UnitLost(
            "protected rows and open ones are not combined",
            hint="Release both sides: aggregate each of them.",
            position=position(query.expression) or position(query),
        )
    if type(query) is not exp.Union or query.args.get("distinct"):
        raise UnitLost(
            f"{_name(query)} of protected rows would let one person's rows hide another's",
            hint="Write UNION ALL.",
            position=position(query.expression) or position(query),
        )
    if left.owner != right.owner:
        raise UnitLost(
            "the two sides are about two kinds of privacy unit",
            hint="Ask about the tables of one privacy unit at a time.",
            position=position(query.expression) or position(query),
        )
    return _union(query, left, right, alias, planning)


def _name(query: exp.SetOperation) -> str:
    return type(query).__name__.upper()


def _union(query: exp.SetOperation, left: Scan, right: Scan, alias: str, planning: Planning) -> Scan:
    refuse_cut(query)
    if len(left.fields) != len(right.fields):
        raise SyntaxRefused(
            "each UNION query must have the same number of columns", position=position(query.expression)
        )
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
    )


def _arm(expressions: Sequence[nodes.Expr], scan: Scan) -> nodes.Select:
    return nodes.Select(tuple(expressions), scan.item)


def _merged(query: exp.Expr, a: Field, b: Field, planning: Planning) -> tuple[Field, nodes.Expr, nodes.Expr]:
    """The common column of two, and what each side puts into it."""
    name = planning.reserve(a.column.name)
    not_null = a.column.not_null and b.column.not_null
    raw = duck.column(a.column.name), duck.column(b.column.name)
    is_alike = (
        isinstance(a, Declared) and isinstance(b, Declared) and a.domain == b.domain and a.link == b.link
    )
    is_key = isinstance(a, Identifier) and isinstance(b, Identifier) and a.link == b.link
    if (is_alike or is_key) and a.column.type == b.column.type:
        return a.moved(a.name, Column(name, a.column.type, not_null)), *raw
    scope = Scope(Level.ROW, lambda _: None, planning.parameters)
    one, two = a.read(exp.column(a.name)), b.read(exp.column(b.name))
    (first, second), shape = unify(query, [one, two], scope)

    def values(at: int | None) -> Values:
        left, right = a.key(at), b.key(at)
        if {left.typed.scale, right.typed.scale} != {shape.scale} or left.type.oid != right.type.oid:
            return no_keys(a.name)(at)
        return tuple(dict.fromkeys((*left.values, *right.values)))

    return Computed(a.name, Column(name, shape.type, not shape.nullable), shape, values), first, second
