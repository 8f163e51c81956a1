"""A subquery over protected rows as an item of FROM: its rows are still people's, and nothing was released."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_shown
from dpproxy.analysis.keys import Values, check_size
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.planner.keys.derivation import values_of
from dpproxy.planner.keys.staged import among, declared_key
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.exact import source_of
from dpproxy.planner.rewrites.empty import has_no_rows, never_holds
from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.rows.fields import Computed, Field, no_keys, repeated
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.planner.select_list import SelectItem, is_star, items
from dpproxy.values.errors import UnitLost, Unsupported
from dpproxy.values.pgtypes import BOOL, Column


def rows_select(rows: JoinedRows, expressions: Iterable[nodes.Expr]) -> nodes.Select:
    """SELECT expressions over the rows, before any is cut."""
    return replace(source_of(rows), items=tuple(expressions))


def derive(rows: JoinedRows, select: exp.Select, alias: str, planning: Planning) -> Scan:
    """The rows under the columns of a SELECT list without aggregates."""
    refuse_cut(select)
    expressions: list[nodes.Expr] = []
    fields: list[Field] = []
    for item in expanded(select, rows):
        held, field = derived_field(item, rows, planning, conjuncts(select.args.get("where")))
        expressions.append(duck.named(held, field.column.name))
        fields.append(field)
    scan = derived_scan(rows, rows_select(rows, expressions), fields, alias, planning)
    scan = replace(scan, known=_known(select, rows, fields))
    return replace(scan, is_empty=has_no_rows(select) or never_holds(select))


def _known(select: exp.Select, rows: JoinedRows, fields: Sequence[Field]) -> tuple[exp.Expr, ...]:
    """The conditions of WHERE that are about shown columns alone, in their names."""
    shown = {i.node.unnest(): f.name for i, f in zip(expanded(select, rows), fields, strict=True)}
    found = []
    for condition in conjuncts(select.args.get("where")):
        about = condition.transform(
            lambda n: exp.Column(this=exp.to_identifier(f"#{shown[n]}", quoted=True)) if n in shown else n
        )
        columns = list(about.find_all(exp.Column))
        if columns and all(c.name.startswith("#") for c in columns) and about.find(exp.Query) is None:
            for column in columns:
                column.set("this", exp.to_identifier(column.name[1:], quoted=True))
            found.append(about)
    return tuple(found)


def derived_scan(
    rows: JoinedRows, select: nodes.Select, fields: Sequence[Field], alias: str, planning: Planning
) -> Scan:
    """An item of FROM for a SELECT to which the unit is still to be added."""
    if not fields:
        raise Unsupported("a subquery in FROM needs a column", hint=f"SELECT 1 AS x FROM {rows.tables}")  # noqa: S608
    unit = None
    if rows.unit is not None:
        unit = duck.column(planning.reserve("unit"))
        select = replace(select, items=(*select.items, duck.named(rows.unit, unit.name)))
    return Scan(
        alias,
        nodes.Subquery(select, planning.reserve("t")),
        tuple(fields),
        rows.tables,
        unit,
        rows.owner,
        rows.most,
        rows.groups,
        held=rows.held,
        content=tuple(duck.column(f.column.name) for f in fields),
        inner=rows.sources,
    )


def derived_field(
    item: SelectItem, rows: JoinedRows, planning: Planning, conditions: Sequence[exp.Expr] = ()
) -> tuple[nodes.Expr, Field]:
    """One entry of the SELECT list of rows that passed ``conditions``: what holds it, and the column it becomes."""
    node = item.node.unnest()
    if type(node) is exp.Column:
        field = rows.field(node)
        kept = Column(planning.reserve(item.name), field.column.type, field.column.not_null)
        if (key := declared_key(node, rows)) is not None:
            typed, listed = field.read(node), key.values
            released = among(node, [typed.sql], rows, planning)
            return typed.sql, Computed(item.name, kept, typed, lambda _: listed, among=released)
        moved = field.moved(item.name, kept)
        return duck.column(field.column.name), moved if len(rows.scans) == 1 else repeated(moved)
    scope = rows.scope(planning.parameters)
    typed = compile_shown(item.node, scope)
    name = planning.reserve(item.name if item.name != "?column?" else "column")
    column = Column(name, typed.type, not typed.nullable)

    def values(at: int | None) -> Values:
        return values_of(node, rows, planning, at, conditions)

    released = among(node, [typed.sql], rows, planning)
    return typed.sql, Computed(item.name, column, typed, values, among=released)


def enumerated(name: str, typed: Typed) -> Callable[[int | None], Values]:
    """Every whole number within the bounds, or both truth values; a refusal for other types."""

    def values(at: int | None) -> Values:
        null = (None,) if typed.nullable else ()
        if typed.type.oid == BOOL.oid:
            return (False, True, *null)
        if typed.is_integer and typed.scale == 0 and typed.low is not None and typed.high is not None:
            check_size(int(typed.high - typed.low) + 1, at)
            return (*range(int(typed.low), int(typed.high) + 1), *null)
        return no_keys(name)(at)

    return values


def expanded(select: exp.Select, rows: JoinedRows) -> list[SelectItem]:
    """The SELECT list with its stars written out."""
    found: list[SelectItem] = []
    for item in items(select):
        if not is_star(item.node):
            found.append(item)
            continue
        table = item.node.table if isinstance(item.node, exp.Column) else ""
        for scan in rows.scans:
            if table and scan.alias != table:
                continue
            qualifier = scan.alias if len(rows.scans) > 1 else None
            found += [
                SelectItem(exp.column(f.name, qualifier, quoted=True), f.name)
                for f in scan.fields
                if table or (scan.alias, f.name) not in rows.hidden
            ]
    return found


def refuse_cut(select: exp.Expr) -> None:
    """LIMIT and OFFSET over rows would let one row decide about others."""
    for name in ("limit", "offset"):
        clause = select.args.get(name)
        if clause is not None:
            raise UnitLost(
                f"{name.upper()} of protected rows would let one row decide about others",
                hint=f"Leave out {name.upper()} in the subquery.",
                position=position(clause.expression) or position(select),
            )
    if select.args.get("having") is not None and select.args.get("group") is None:
        raise Unsupported("HAVING needs GROUP BY here", position=position(select.args["having"].this))


def renamed(scan: Scan, names: Sequence[str]) -> Scan:
    """The columns under the names of ``AS t (a, b)``."""
    fields = [f.moved(names[i], f.column) if i < len(names) else f for i, f in enumerate(scan.fields)]
    return replace(
        scan, fields=tuple(fields), known=() if names else scan.known, whole=scan.whole and not names
    )
