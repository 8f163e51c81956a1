"""A subquery over public tables beside protected rows."""

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.keys import Values
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.errors import Unsupported
from dpproxy.pgtypes import FLOATS, INTEGERS, NUMERIC, Column
from dpproxy.planner.fields import Public, no_keys
from dpproxy.planner.open import Open, OpenColumn
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Scan


def open_scan(relation: Open, alias: str, planning: Planning) -> Scan:
    """Its values are facts."""
    cut = next((n for n in relation.query.walk() if _is_cut(n)), None)
    if cut is not None:
        raise Unsupported(
            "a public subquery beside protected rows is taken whole",
            hint="Leave out LIMIT, OFFSET, DISTINCT ON, string_agg and window functions: it must be certain.",
            position=position(cut),
        )
    source = f"({duck.text(relation.query)})"
    names = [planning.reserve(c.name) for c in relation.columns]
    inner = exp.Subquery(this=relation.query, alias=exp.TableAlias(this=exp.to_identifier("s")))
    select = exp.Select(
        expressions=[duck.named(duck.column(f"c{i}"), n) for i, n in enumerate(names)],
        from_=exp.From(this=inner),
    )
    fields = tuple(
        Public(
            c.name,
            Column(n, c.typed.type),
            _shape(c.typed),
            _keys(planning, source, f"c{i}", c),
            source,
            f"c{i}",
        )
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


def _is_cut(node: exp.Expr) -> bool:
    """What may come out another way another time."""
    match node:
        case exp.Limit() | exp.Offset() | exp.Window():
            return True
        case exp.Distinct():
            return node.args.get("on") is not None
        case exp.AnonymousAggFunc():
            return str(node.this) == "string_agg"
        case _:
            return False


def _shape(typed: Typed) -> Callable[[str], Typed]:
    return lambda name: replace(typed, sql=duck.column(name), is_constant=False, presence=None)


def _keys(planning: Planning, source: str, name: str, column: OpenColumn) -> Callable[[int | None], Values]:
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
